/**
 * How a rehearsal reads a goal: the pieces that its wording names, and the role that fits a piece. It knows punctuation and a
 * few English words, not their meaning. If it finds nothing to divide, the goal is one piece.
 */

/** If a goal names more pieces, the last piece has the rest. */
const mostPieces = 12;

const roles: Readonly<Record<string, string>> = {
  Writer: "write|draft|describe|explain|tell|summari[sz]e|report|answer|publish|edit",
  Designer: "design|draw|sketch|paint|illustrate|decorate",
  Planner:
    "plan|organi[sz]e|schedule|arrange|prepare|book|order|invite|estimate|open|launch|start|host|celebrate",
  Researcher: "find|search|research|compare|collect|list|survey|choose|pick|count|analy[sz]e|study",
  Engineer: "build|implement|code|program|fix|install|deploy|automate|make|create|develop",
  Translator: "translate",
  Checker: "check|test|verify|review|proofread|audit",
};
const verbs = Object.values(roles).join("|");
const order = new RegExp(`^(?:${verbs})\\b`, "i");

export const roleFor = (piece: string): string =>
  Object.keys(roles).find((role) => new RegExp(`^(?:${roles[role]})\\b`, "i").test(piece)) ?? "Writer";

/** The subject of a piece, for use within a sentence: a poem, if the piece is "Write a poem". */
export const subjectOf = (piece: string): string =>
  order.test(piece) && piece.includes(" ") ? piece.replace(/^\S+\s+/, "") : `"${piece}"`;

/** The first line is the goal. Lists below it, and other lines that name several things to do, are its pieces. */
export function piecesOf(goal: string): string[] {
  const lines = goal
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const bullet = /^(?:[-*•]|\d+[.)])\s+/;
  const bullets = lines.filter((line) => bullet.test(line)).map((line) => line.replace(bullet, ""));
  const [first = "", ...more] = lines.filter((line) => !bullet.test(line));
  if (bullets.length > 1) return few(under(first.replace(/[:：]$/, ""), bullets));
  const below = few(more.flatMap((line) => ordersIn(line, first)));
  if (below.length > 1) return below;
  const named = few(ordersIn(first));
  if (named.length > 0) return named;
  // Without a known verb only plain text is divided, because commas of code mean something else.
  return few(/[{}<>"`$]/.test(first) ? [first] : itemsIn(sentencesIn(first)[0] ?? ""));
}

/** The orders in a line: the items after a colon, or the sentences that begin with a verb. */
function ordersIn(line: string, whole?: string): string[] {
  const [, head = "", list = ""] = /^([^:：;{}<>"`]{3,120})(?::\s+|：\s*)(.+)$/.exec(line) ?? [];
  const listed = itemsIn(list);
  if (listed.length > 1) return under(whole ?? head, listed);
  return sentencesIn(line)
    .filter((one) => order.test(one))
    .flatMap(withVerb);
}

const sentencesIn = (line: string): string[] =>
  line.split(/(?<=[.!?])\s+|(?<=[。！？])/).map((one) => one.replace(leadingAnd, ""));

/** The items of a list. Each gets the verb of the list's heading, unless the item starts with a verb itself. */
const under = (head: string, items: readonly string[]): string[] =>
  capped(items).map((item) => (head === "" || order.test(item) ? item : `${head}: ${item}`));

/** "Write a poem and a song" asks for two things to write. */
function withVerb(sentence: string): string[] {
  const verb = order.exec(sentence)?.[0];
  return itemsIn(sentence).map((item, place) =>
    place === 0 || verb === undefined || order.test(item) ? item : `${verb} ${item}`,
  );
}

const and = "(?:and then|and|then|und|et|y)\\s+";
const leadingAnd = new RegExp(`^(?:${and}|并且?|以及)`, "i");
/** A clause that begins with one of these belongs to the clause before it. */
const continued =
  /^(?:in|on|at|for|with|without|by|from|of|to|as|so|but|or|because|if|when|while|until|which|who|that|where|including|such|not|especially|please)\b/i;
/** Outside a list, "and" divides only before another thing or another order: not in "salt and pepper". */
const otherThing = `(?=(?:an?|the|our|your|its|some|one|two|three)\\s|(?:${verbs})\\b)`;

function itemsIn(text: string): string[] {
  const items: string[] = [];
  for (const clause of text.replace(/[.!?。！？\s]+$/, "").split(/\s*[,;、，；]\s*/)) {
    const item = clause.replace(leadingAnd, "").trim();
    if (items.length > 0 && continued.test(item)) items.push(`${items.pop() ?? ""}, ${item}`);
    else if (item !== "") items.push(item);
  }
  const last = items.pop() ?? "";
  return [...items, ...last.split(new RegExp(`\\s+${and}${items.length > 0 ? "" : otherThing}`, "i"))];
}

const few = (items: readonly string[]): string[] =>
  capped([...new Set(items.filter((item) => item !== ""))]).map(pieceTitle);

const capped = (items: readonly string[]): readonly string[] =>
  items.length <= mostPieces
    ? items
    : [...items.slice(0, mostPieces - 1), items.slice(mostPieces - 1).join(", ")];

/** One line with a capital at its start and no full stop. */
function pieceTitle(piece: string): string {
  const line = piece.replace(/\s+/g, " ").replace(/[.!。！]+$/, "");
  return `${line.slice(0, 1).toUpperCase()}${line.slice(1)}`.slice(0, 200).toWellFormed();
}
