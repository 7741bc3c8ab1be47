/**
 * Two names are the same when a person could not tell them apart by case or by how they were typed, characters that
 * show nothing included.
 */
export function nameKey(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}
