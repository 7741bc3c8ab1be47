import { finds } from "./planted-bugs/test.ts";
import { reorganizationBugs } from "./planted-bugs/reorganization.ts";

finds("reorganization", reorganizationBugs, 60);
