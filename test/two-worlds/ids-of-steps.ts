/** A UUID of version 7, like those of the daemon. It follows from the step that needs it. */
export function idAt(seed: number, step: number, count: number): string {
  const hex = (value: number, digits: number): string =>
    (value % 16 ** digits).toString(16).padStart(digits, "0");
  return `${hex(seed, 8)}-${hex(step, 4)}-7000-8${hex(count, 3)}-${"0".repeat(12)}`;
}
