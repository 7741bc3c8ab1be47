/**
 * A sentence of the record without ids: `[Prices](kb://…)`, ` (kb://…)`, `kb://…`, ` (approval 01a1…)`. Never used for the
 * subject of a decision, which is shown unchanged.
 */
export function withoutIds(text: string): string {
  return text
    .replace(/\[([^\]\n]{1,200})\]\(kb:\/\/[0-9a-f-]{36}\)/g, "$1")
    .replace(/ \((?:kb:\/\/|(?:approval|outcome|agent|session|message|file) )[0-9a-f-]{36}\)/g, "")
    .replace(/kb:\/\/[0-9a-f-]{36}/g, "(link)");
}
