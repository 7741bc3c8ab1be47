/** The things of a company that were opened from the palette, newest first, kept in this browser. */
interface Opened {
  readonly text: string;
  readonly to: string;
}

const placeOf = (companyId: string): string => `agency.recent.${companyId}`;

export function recent(companyId: string): readonly Opened[] {
  // The page itself wrote this text.
  const kept: readonly Opened[] = JSON.parse(localStorage.getItem(placeOf(companyId)) ?? "[]");
  return kept;
}

export function keepRecent(companyId: string, opened: Opened): void {
  const others = recent(companyId).filter(({ to }) => to !== opened.to);
  localStorage.setItem(placeOf(companyId), JSON.stringify([opened, ...others].slice(0, 6)));
}
