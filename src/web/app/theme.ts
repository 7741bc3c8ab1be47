/** Light, dark or as the system says, and the size of text. Kept for this browser. */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function theme(): Theme {
  const kept = localStorage.getItem("agency.theme");
  return themes.find((each) => each === kept) ?? "system";
}

export function setTheme(next: Theme): void {
  localStorage.setItem("agency.theme", next);
  applyTheme();
}

export const textSizes = ["13", "14", "16"] as const;

export function textSize(): string {
  return localStorage.getItem("agency.textSize") ?? "14";
}

export function setTextSize(next: string): void {
  localStorage.setItem("agency.textSize", next);
  applyTheme();
}

export function applyTheme(): void {
  const { dataset, style } = document.documentElement;
  const chosen = theme();
  if (chosen === "system") delete dataset["theme"];
  else dataset["theme"] = chosen;
  const scale = String(Number(textSize()) / 14);
  style.zoom = scale;
  // For lengths that are shares of the window, which the browser enlarges with everything else.
  style.setProperty("--scale", scale);
}
