import { useSyncExternalStore } from "react";

/** Pictures on a canvas don't follow the style sheet. So they are drawn again when the colours of the page change. */
const system = matchMedia("(prefers-color-scheme: dark)");
const forced = matchMedia("(forced-colors: active)");

function watch(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  for (const query of [system, forced]) query.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    for (const query of [system, forced]) query.removeEventListener("change", changed);
  };
}

export const useScheme = (): string =>
  useSyncExternalStore(watch, () => {
    const theme = document.documentElement.dataset["theme"] ?? (system.matches ? "dark" : "light");
    return forced.matches ? `forced ${theme}` : theme;
  });
