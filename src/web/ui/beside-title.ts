/** A sentence about a thing whose title is beside it, without the title at its beginning. */
export function besideTitle(title: string, says: string): string {
  const rest = [`${title}: `, `"${title}" is `].flatMap((start) =>
    says.startsWith(start) ? [says.slice(start.length)] : [],
  )[0];
  return rest === undefined ? says : `${rest.charAt(0).toUpperCase()}${rest.slice(1)}`;
}
