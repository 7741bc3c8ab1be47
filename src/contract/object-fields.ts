/** The fields of a value whose type is not known, copied. A value that is not an object has none. */
export const objectFields = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
