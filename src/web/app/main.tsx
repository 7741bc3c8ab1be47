import { createRoot } from "react-dom/client";
import { askAhead } from "./ahead.ts";
import { App } from "./app.tsx";
import { applyTheme } from "./theme.ts";
import "./styles.css";

askAhead();
applyTheme();
const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<App />);
