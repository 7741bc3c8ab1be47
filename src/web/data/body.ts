/**
 * The body of a request. JSON writes NaN as null, and null removes a limit. No field sends NaN (ui/typed-number.ts). If one does,
 * nothing is sent.
 */
export function jsonBody(input: object, notANumber: (name: string) => Error): string {
  return JSON.stringify(input, (name: string, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) throw notANumber(name);
    return value;
  });
}
