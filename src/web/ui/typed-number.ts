/**
 * The value of a field for a number. An empty field is null. A text that is not a number, such as `12,50` or `$50`, is sent
 * unchanged, and the server refuses it with an explanation. As a number it would be NaN, which JSON writes as null, and null
 * removes a limit.
 */
export function typedNumber(typed: string): number | null {
  const text = typed.trim();
  if (text === "") return null;
  const value = Number(text);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server judges the text
  return Number.isFinite(value) ? value : (text as unknown as number);
}
