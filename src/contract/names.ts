/**
 * Names that differ only in case, spacing, Unicode form or invisible characters have the same key: a reader could not tell
 * them apart.
 */
export function nameKey(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
    .replace(/\s+/gu, " ")
    .trim();
}
