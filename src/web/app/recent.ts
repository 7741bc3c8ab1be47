/** The things that were opened from the palette, newest first, kept in this browser. */
interface Opened {
  readonly text: string;
  readonly to: string;
}

const place = "agency.recent";

export function recent(): readonly Opened[] {
  // The page itself wrote this text.
  const kept: readonly Opened[] = JSON.parse(localStorage.getItem(place) ?? "[]");
  return kept;
}

export function keepRecent(opened: Opened): void {
  const others = recent().filter(({ to }) => to !== opened.to);
  localStorage.setItem(place, JSON.stringify([opened, ...others].slice(0, 6)));
}
