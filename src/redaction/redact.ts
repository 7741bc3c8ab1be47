import { below, isMarked, isReference, type Marks, nodesOf, type SchemaNode } from "./marks.ts";
import { testFor } from "./names.ts";
import type { Span } from "./named.ts";
import { spansIn } from "./scanning.ts";
import { anyText, isLogin, type Test } from "./values.ts";

/**
 * Hides the secrets in a JSON value. A value is secret because its schema marks it (marks.ts), because of its name
 * (names.ts) or its place (an environment, an argument list), or because of its shape (scanning.ts). If a text only
 * contains a secret, the rest of the text stays readable.
 */
export const marker = "[redacted]";

const noMarks: Marks = new Map();

export interface Redacted {
  readonly value: unknown;
  /** The places that were hidden, such as `adapterConfig.env.API_KEY` or `list[2].token`. */
  readonly redactedPaths: string[];
}

/** `marks` maps a key to schemas. Wherever that key occurs, its value is also checked against the marks in these schemas. */
export function redact(value: unknown, marks: Marks = noMarks): Redacted {
  const paths = new Set<string>();
  const shown = show({ marks, note: (path) => paths.add(path) }, value, "", top);
  return { value: shown, redactedPaths: [...paths] };
}

export function redactText(text: string): string {
  return cut(text, spansIn(text), 0);
}

/** Redacts the text from a position on. The text before it is only context. A line of JSON is redacted as a value. */
export function redactLines(text: string, from: number): string {
  const lines = cut(text, spansIn(text), from).split("\n");
  return lines.map((line) => (/^\s*[[{]/.test(line) ? String(redact(line).value) : line)).join("\n");
}

/**
 * Puts secrets back when a caller returns a value as it was shown. Where `sent` equals what redact() shows of `former` at the
 * same place, the result has the former value. A text that was changed around its marker is not restored: otherwise a caller
 * that may not see a password could send it to another host.
 */
export function restore(sent: unknown, former: unknown, marks?: Marks): unknown {
  return restoreFrom(sent, redact(former, marks).value, former, 0);
}

function restoreFrom(sent: unknown, shown: unknown, former: unknown, depth: number): unknown {
  if (sent === shown) return former;
  if (depth > deepest) return sent;
  if (Array.isArray(sent) && Array.isArray(shown) && Array.isArray(former))
    return sent.map((item: unknown, index) =>
      index < shown.length ? restoreFrom(item, shown[index], former[index], depth + 1) : item,
    );
  if (!isObject(sent) || !isObject(shown) || !isObject(former)) return sent;
  // Both objects have the same keys in the same order, except where a key itself was a secret.
  const keys = Object.keys(former);
  const places = new Map(Object.keys(shown).map((key, index) => [key, keys[index] ?? key]));
  const entries = Object.entries(sent).map(([key, value]): [string, unknown] => {
    const place = places.get(key);
    return place === undefined
      ? [key, value]
      : [place, restoreFrom(value, shown[key], former[place], depth + 1)];
  });
  return Object.fromEntries(entries);
}

interface Walk {
  readonly marks: Marks;
  readonly note: (path: string, hidden: unknown, isMark?: boolean) => unknown;
}

/** Facts from the levels above a value. */
interface Above {
  readonly depth: number;
  /** The depth at which the surrounding environment begins. 0 outside an environment. */
  readonly environment: number;
  readonly headers: boolean;
  /** The tests of the names above. */
  readonly tests: readonly Test[];
  readonly nodes: readonly SchemaNode[];
  /** The program that gets these arguments. */
  readonly program: string;
}

const top: Above = { depth: 0, environment: 0, headers: false, tests: [], nodes: [], program: "" };
/** Values that are nested deeper are hidden as a whole. */
const deepest = 1000;

function show(walk: Walk, value: unknown, path: string, above: Above): unknown {
  if (above.depth > deepest) return hide(walk, path, value);
  // The name of a secret is shown only in lists of secrets.
  if (isMarked(above.nodes) && isReference(value)) return hide(walk, path, value);
  if (Array.isArray(value)) return showList(walk, value, path, above);
  if (isObject(value)) return showObject(walk, value, path, above);
  if (value === null || value === "" || value === undefined) return value;
  if (isMarked(above.nodes)) return hide(walk, path, value, "", true);
  if (above.environment > 0) {
    // `env: ["A=b"]` and `fileEnv: "A=b"` show the name. `env: { A: "b=c" }` shows nothing of the value.
    const inside = above.depth - above.environment;
    const isPair = inside === 0 || (inside === 1 && /\[\d+\]$/.test(path));
    const [name] = (isPair && typeof value === "string" && /^[A-Za-z_]\w*=/.exec(value)) || [];
    return hide(walk, path, value, name);
  }
  if (typeof value !== "string") {
    const isSecret =
      typeof value === "number" && value > 999 && above.tests.some((test) => test(String(value)));
    return isSecret ? hide(walk, path, value) : value;
  }
  if (above.tests.some((test) => test(value)) && !isVariable.test(value)) return hide(walk, path, value);
  const shown = showJson(walk, value, above.depth) ?? cut(value, spansIn(value), 0);
  // A text with a marker lost a secret before it was stored.
  if (shown !== value || value.includes(marker)) walk.note(path, value);
  return shown;
}

/** A reference to a variable is not secret. */
const isVariable = /^(?:\$\{[\w.]+\}|\$[A-Z_]+|\{\{[^{}]*\}\}|\[redacted\])$/;

/** Redacts JSON inside a text. Returns undefined if the text is not JSON, and the same text if it has no secret. */
function showJson(walk: Walk, text: string, depth: number): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  let isTouched = false;
  const shown = show({ ...walk, note: () => (isTouched = true) }, parsed, "", { ...top, depth: depth + 1 });
  return isTouched ? JSON.stringify(shown) : text;
}

/** The text from a position on, with a marker for each span. */
function cut(text: string, spans: readonly Span[], from: number): string {
  let shown = "";
  let at = from;
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (end <= at) continue;
    // A span that begins earlier already has a marker.
    if (start >= at) shown += text.slice(at, start) + marker;
    at = end;
  }
  return shown + text.slice(at);
}

function showList(walk: Walk, list: readonly unknown[], path: string, above: Above): unknown[] {
  const words = list.map((item) => (isObject(item) ? "" : String(item)));
  const isCommand = words.some((word) => word.startsWith("-") || word === "login");
  // A list of arguments is read as one command line.
  const line = ["", above.program, ...words].join("\0");
  const spans = isCommand ? spansIn(line) : [];
  let start = line.length - words.join("\0").length;
  return list.map((item, index) => {
    const here = `${path}[${index}]`;
    const [from, to] = [start, (start += (words[index]?.length ?? 0) + 1) - 1];
    const found = spans.filter(([begin, end]) => begin < to && end > from);
    // `env: ["HOME"]` names a variable to pass on. Deeper texts are values.
    if (above.environment === above.depth && /^[A-Z_]+$/.test(String(item))) return item;
    if (found.length > 0) {
      walk.note(here, item);
      return cut(line.slice(0, to), found, from);
    }
    const tests = [...above.tests, ...tupleTests(list, index, path, above)];
    const nodes = below(above.nodes, index);
    return show(walk, item, here, { ...above, depth: above.depth + 1, tests, nodes, program: "" });
  });
}

/** Lists that hold a name and its value: `[["X-Api-Key", "x"]]`, `headers: ["X-Auth", "x"]`, `auth: ["user", "x"]`. */
function tupleTests(list: readonly unknown[], index: number, path: string, above: Above): readonly Test[] {
  const [name, value] = [list[index - 1], list[index]];
  const isPlain = (word: unknown): boolean => /^[a-z]+(?:_[a-z]+)*$/.test(String(word));
  if (typeof name !== "string" || list.length % 2 === 1 || index % 2 === 0) return [];
  if (above.tests.includes(isLogin)) return [anyText];
  const isTuple = list.length === 2 && path.endsWith("]") && !(isPlain(name) && isPlain(value));
  return above.headers || isTuple ? testsFor(name, "header") : [];
}

function testsFor(name: string, place: "header" | "tight" | "loose"): readonly Test[] {
  const test = testFor(name, place);
  return test === undefined ? [] : [test];
}

function showObject(
  walk: Walk,
  object: Readonly<Record<string, unknown>>,
  path: string,
  above: Above,
): unknown {
  const taken = new Set<string>();
  const place = above.headers ? "header" : "loose";
  const program = [object["command"], object["cmd"]].find((name) => typeof name === "string") ?? "";
  const fields = new Map(Object.entries(object).map(([key, value]) => [key.toLowerCase(), value]));
  const named = ["name", "key", "header", "variable", "field", "id", "label", "type"].map((key) =>
    fields.get(key),
  );
  const entries = Object.entries(object).map(([key, value]): [string, unknown] => {
    let shownKey = key.length >= 12 ? cut(key, spansIn(key), 0) : key;
    for (let number = 2; taken.has(shownKey); number += 1)
      shownKey = `${shownKey.replace(/ \d+$/, "")} ${number}`;
    taken.add(shownKey);
    const here = pathTo(path, shownKey);
    if (shownKey !== key) walk.note(here, key);
    if (above.environment > 0 && key === "name" && "value" in object) return [shownKey, value];
    const paired = /^(?:value|val|default|content)$/i.test(key) ? named : [];
    const meant = [
      ...above.tests,
      ...(!(above.headers && "value" in object) ? testsFor(key, place) : []),
      ...paired.flatMap((name) =>
        typeof name === "string" ? testsFor(name, above.headers ? "header" : "tight") : [],
      ),
    ];
    const next = {
      depth: above.depth + 1,
      environment: above.environment || (holdsSecrets(object, key, value) ? above.depth + 1 : 0),
      headers: /headers?$/i.test(key) || (above.headers && !isObject(value)),
      // Everything in `credentials: {…}` is secret. `session: {…}` may hold harmless values.
      tests: !isObject(value) ? meant : isSchema(value) ? [] : meant.filter((test) => test("swordfish")),
      nodes: [...below(above.nodes, key), ...(walk.marks.get(key) ?? []).flatMap(nodesOf)],
      program,
    };
    return [shownKey, show(walk, value, here, next)];
  });
  // fromEntries keeps a key named __proto__ as a key.
  return Object.fromEntries(entries);
}

/** Is this the environment of a program? True for variables in any form, but not for `environment: "production"`. */
function isEnvironment(name: string, value: unknown): boolean {
  const form = /^(|.*[_. -]|.*[a-z](?=E))(?:dot)?env(?:s|iron|ironments?)?[_-]?(?:vars?|variables?)?$/i;
  const [whole, before = ""] = form.exec(name) ?? [];
  if (whole === undefined || (/[a-z]$/.test(before) && !/[a-z]E/.test(name))) return false;
  if (typeof value !== "string") return typeof value === "object";
  return /^[A-Za-z_]\w*=/m.test(value) || (before === "" && !/^[a-z]{2,12}$/i.test(value));
}

/** An environment, or the data of a Secret of Kubernetes. */
const holdsSecrets = (object: Readonly<Record<string, unknown>>, key: string, value: unknown): boolean =>
  isEnvironment(key, value) || (object["kind"] === "Secret" && /^(?:data|stringData)$/.test(key));

/** `password: { type: "string", minLength: 8 }` describes a value and has none. */
const isSchema = (object: Readonly<Record<string, unknown>>): boolean =>
  /^(?:string|number|integer|boolean|array|object)$/.test(String(object["type"])) &&
  Object.keys(object).every((key) =>
    /^(?:type|title|description|format|nullable|required|items|properties|(?:min|max)\w+)$/.test(key),
  );

function hide(walk: Walk, path: string, value: unknown, kept = "", isMark = false): string {
  walk.note(path, value, isMark);
  return kept + marker;
}

function pathTo(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
