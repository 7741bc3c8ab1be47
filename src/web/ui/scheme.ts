import { useSyncExternalStore } from "react";

/** Pictures on a canvas don't follow the style sheet. They are drawn again when the colours of the page change. */
const system = matchMedia("(prefers-color-scheme: dark)");

function watch(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  system.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", changed);
  };
}

export const useScheme = (): "light" | "dark" =>
  useSyncExternalStore(watch, () =>
    (document.documentElement.dataset["theme"] ?? (system.matches ? "dark" : "light")) === "dark"
      ? "dark"
      : "light",
  );
