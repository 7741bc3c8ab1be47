import { environmentName, type NameRule, nameRules, rulesForName } from "./secrets/names.ts";
import { providerRules } from "./secrets/providers.ts";
import { type Span, type TextRule, textRules } from "./secrets/texts.ts";

/**
 * What may be shown of a JSON value that can hold secrets. A value is a secret by its name (secrets/names.ts), by its
 * place (the environment of a program, the value of an option), or by how it looks (secrets/texts.ts, providers.ts). Of a
 * text that merely contains a secret, the rest stays readable.
 */
export const marker = "[redacted]";

/** Where a value stands can make it a secret, too. */
export interface PlaceRule {
  readonly on: "place";
  readonly name: (typeof places)[number];
}

/**
 * environment: everything below `env` · pair: `{name: "API_KEY", value}` · tuple: `["X-Api-Key", value]` in a list of such ·
 * option: `["--token", value]` · command: `["curl", "-u", "user:password"]` · json: JSON inside a text · key: a secret that
 * is itself the key of an object
 */
const places = ["environment", "pair", "tuple", "option", "command", "json", "key"] as const;

export type Rule = NameRule | TextRule | PlaceRule;

/** Every rule there is. Tests take one away and must notice. */
export const redactionRules: readonly Rule[] = [
  ...nameRules,
  ...textRules,
  ...providerRules,
  ...places.map((name): PlaceRule => ({ on: "place", name })),
];

export interface Redacted {
  readonly value: unknown;
  /** Where something was taken out: `adapterConfig.env.API_KEY`, `list[2].token`. */
  readonly redactedPaths: string[];
}

export function redact(value: unknown): Redacted {
  return redactBy(standard, value);
}

export function redactWith(rules: readonly Rule[], value: unknown): Redacted {
  return redactBy(byKind(rules), value);
}

function redactBy(kinds: Kinds, value: unknown): Redacted {
  const redactedPaths: string[] = [];
  const walk = { ...kinds, note: (path: string) => redactedPaths.push(path) };
  return { value: show(walk, value, "", open, 0), redactedPaths: [...new Set(redactedPaths)] };
}

/**
 * Whoever sends back what was shown to them must not destroy a secret: where `sent` is what redact() shows of `former`, at
 * the same place, it stands for former's value. A text that was changed around its marker does not: otherwise whoever may
 * not see a password could write another host behind it.
 */
export function restore(sent: unknown, former: unknown): unknown {
  return restoreFrom(sent, redact(former).value, former, 0);
}

function restoreFrom(sent: unknown, shown: unknown, former: unknown, depth: number): unknown {
  if (sent === shown) return former;
  if (depth > deepest) return sent;
  if (Array.isArray(sent) && Array.isArray(shown) && Array.isArray(former))
    return sent.map((item: unknown, index) =>
      index < shown.length ? restoreFrom(item, shown[index], former[index], depth + 1) : item,
    );
  if (!isObject(sent) || !isObject(shown) || !isObject(former)) return sent;
  // Both have the same keys in the same order, but where a key was itself a secret.
  const formerKeys = Object.keys(former);
  const places = new Map(Object.keys(shown).map((key, index) => [key, formerKeys[index] ?? key]));
  return Object.fromEntries(
    Object.entries(sent).map(([key, value]): [string, unknown] => {
      const formerKey = places.get(key);
      return formerKey === undefined
        ? [key, value]
        : [formerKey, restoreFrom(value, shown[key], former[formerKey], depth + 1)];
    }),
  );
}

interface Kinds {
  readonly names: readonly NameRule[];
  readonly texts: readonly TextRule[];
  readonly places: ReadonlySet<string>;
  /** What is known of a key by itself. The same few keys come again and again, and finding out takes most of the time. */
  readonly keys: Map<string, KeyFacts>;
}

interface KeyFacts {
  readonly shown: string;
  readonly rules: readonly NameRule[];
  readonly environment: "itself" | "ending" | undefined;
}

interface Walk extends Kinds {
  readonly note: (path: string) => void;
}

function byKind(rules: readonly Rule[]): Kinds {
  return {
    names: rules.filter((rule) => rule.on === "name"),
    texts: rules.filter((rule) => rule.on === "text"),
    places: new Set(rules.filter((rule) => rule.on === "place").map(({ name }) => name)),
    keys: new Map(),
  };
}

const standard = byKind(redactionRules);
const mostKeys = 5000;

/** What stands above makes of a value: part of an environment, or a secret if one of these rules means it. */
interface Above {
  readonly environment: boolean;
  readonly rules: readonly NameRule[];
}

const open: Above = { environment: false, rules: [] };

/** Nothing sensible is as deep; what lies deeper is taken out whole. */
const deepest = 1000;

function show(walk: Walk, value: unknown, path: string, above: Above, depth: number): unknown {
  if (depth > deepest) return hide(walk, path);
  if (typeof value === "string") return showText(walk, value, path, above, depth);
  if (Array.isArray(value)) return showList(walk, value, path, above, depth);
  if (isObject(value)) return showObject(walk, value, path, above, depth);
  const isSecret =
    (above.environment && value !== null) || (typeof value === "number" && isMeant(above.rules, value));
  return isSecret ? hide(walk, path) : value;
}

function showText(walk: Walk, text: string, path: string, above: Above, depth: number): string {
  if (text === "") return text;
  if (above.environment || isMeant(above.rules, text)) return hide(walk, path);
  if (walk.places.has("json") && /^\s*[[{]/.test(text)) {
    const inside = showJson(walk, text, depth);
    if (inside !== undefined) {
      if (inside !== text) walk.note(path);
      return inside;
    }
  }
  const shown = withoutSecrets(walk, text);
  if (shown !== text) walk.note(path);
  return shown;
}

/** JSON in a text is read like any other; undefined when it is none. Written anew only if it had a secret. */
function showJson(walk: Walk, text: string, depth: number): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  let isTouched = false;
  const shown = show({ ...walk, note: () => (isTouched = true) }, parsed, "", open, depth + 1);
  return isTouched ? JSON.stringify(shown) : text;
}

/**
 * Most texts are an id or a few ordinary words, in which no rule finds anything; they are let through before the rules
 * look. A word that could announce a secret, or is as long as one, makes it no such text.
 */
function isOrdinary(text: string): boolean {
  return (
    text.length <= 1000 &&
    (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ||
      (/^[\p{L}\p{M}\s.,;!?'()&]*$/u.test(text) &&
        !/\p{L}{16}|pass|pwd|secret|token|key|bearer|basic|auth|cred|cookie|begin|private|login|user|sig/iu.test(
          text,
        )))
  );
}

function withoutSecrets(walk: Walk, text: string): string {
  if (isOrdinary(text)) return text;
  const spans: Span[] = walk.texts.flatMap((rule) => [...rule.find(text, walk)]);
  if (spans.length === 0) return text;
  let shown = "";
  let at = 0;
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (start >= at) shown += text.slice(at, start) + marker;
    at = Math.max(at, end);
  }
  return shown + text.slice(at);
}

function showList(
  walk: Walk,
  list: readonly unknown[],
  path: string,
  above: Above,
  depth: number,
): unknown[] {
  return list.map((item, index) => {
    const here = `${path}[${index}]`;
    if (typeof item === "string" && above.environment) return showAssignment(walk, item, here);
    const rules = [...above.rules, ...optionRules(walk, list, index), ...tupleRules(walk, list, index, path)];
    const command = typeof item === "string" ? ofCommand(walk, list, index, item) : undefined;
    if (command === undefined) return show(walk, item, here, { ...above, rules }, depth + 1);
    walk.note(here);
    return command;
  });
}

/** The value after an option that names a secret; another option is not its value. */
function optionRules(walk: Walk, list: readonly unknown[], index: number): readonly NameRule[] {
  const [before, item] = [list[index - 1], list[index]];
  if (!walk.places.has("option") || typeof before !== "string" || !/^--?[A-Za-z][\w-]*$/.test(before))
    return [];
  return typeof item === "string" && item.startsWith("--") ? [] : rulesForName(walk.names, before);
}

/** In a list of pairs a header or a variable is followed by its value. Two plain names are no pair. */
function tupleRules(walk: Walk, list: readonly unknown[], index: number, path: string): readonly NameRule[] {
  const [name, value] = list;
  if (!walk.places.has("tuple") || list.length !== 2 || index !== 1 || !path.endsWith("]")) return [];
  const plain = /^[a-z]+(?:_[a-z]+)*$/;
  const areNames = plain.test(String(name)) && plain.test(String(value));
  return typeof name !== "string" || areNames ? [] : rulesForName(walk.names, name);
}

/** What the words before make of a word of a command. */
function ofCommand(walk: Walk, list: readonly unknown[], index: number, item: string): string | undefined {
  if (!walk.places.has("command") || index === 0) return undefined;
  const words = list.slice(Math.max(0, index - 6), index).filter((word) => typeof word === "string");
  const lead = `${words.join(" ").slice(-200)} `;
  for (const rule of walk.texts)
    if (rule.name.endsWith("of a command"))
      for (const [start, end] of rule.find(lead + item, walk))
        if (end > lead.length) return item.slice(0, Math.max(0, start - lead.length)) + marker;
  return undefined;
}

function showObject(
  walk: Walk,
  object: Readonly<Record<string, unknown>>,
  path: string,
  above: Above,
  depth: number,
): unknown {
  const taken = new Set<string>();
  // Made from entries, so that a key named __proto__ stays a key.
  return Object.fromEntries(
    Object.entries(object).map(([key, value]): [string, unknown] => {
      const shownKey = showKey(walk, key, taken);
      const here = pathTo(path, shownKey);
      if (shownKey !== key) walk.note(here);
      const paired = key === "value" || key === "val" ? pairRules(walk, object) : [];
      if (above.environment && isNameOfPair(object, key)) return [shownKey, value];
      const kept = isObject(value) ? above.rules.filter(({ shallow }) => shallow !== true) : above.rules;
      const own = factsOf(walk, key).rules.filter(({ shallow }) => shallow !== true || !isObject(value));
      const rules = [...kept, ...own, ...paired];
      const named = factsOf(walk, key).environment;
      if (named !== undefined && typeof value === "string" && !above.environment)
        return [shownKey, showEnvironmentText(walk, value, here, named, { ...above, rules }, depth)];
      const isList = Array.isArray(value) || isObject(value);
      const environment = above.environment || (isList && named !== undefined) || named === "itself";
      return [shownKey, show(walk, value, here, { environment, rules }, depth + 1)];
    }),
  );
}

function showKey(walk: Walk, key: string, taken: Set<string>): string {
  let { shown } = factsOf(walk, key);
  for (let number = 2; taken.has(shown); number += 1) shown = `${shown.replace(/ \d+$/, "")} ${number}`;
  taken.add(shown);
  return shown;
}

function factsOf(walk: Walk, key: string): KeyFacts {
  const known = walk.keys.get(key);
  if (known !== undefined) return known;
  const facts = {
    shown: walk.places.has("key") && key.length >= 12 ? withoutSecrets(walk, key) : key,
    rules: rulesForName(walk.names, key),
    environment: walk.places.has("environment") ? environmentName(key) : undefined,
  };
  // Not one that is itself a secret, and not whatever somebody sends.
  if (facts.shown === key && key.length <= 60 && walk.keys.size < mostKeys) walk.keys.set(key, facts);
  return facts;
}

const nameKeys = ["name", "key", "header", "variable"];

function pairRules(walk: Walk, object: Readonly<Record<string, unknown>>): readonly NameRule[] {
  if (!walk.places.has("pair")) return [];
  const names = nameKeys.map((key) => object[key]).filter((name) => typeof name === "string");
  return names.flatMap((name) => rulesForName(walk.names, name));
}

/** `env: [{name, value}]`: the name stays. */
function isNameOfPair(object: Readonly<Record<string, unknown>>, key: string): boolean {
  return key === "name" && "value" in object && typeof object["name"] === "string";
}

const namesOfEnvironments =
  /^(?:production|prod|staging|stage|development|dev|test|testing|local|qa|sandbox|preview|ci|default|inherit|none)$/i;

/** `environment: "production"` is a word; a text of `NAME=value` lines is an environment; of anything else no more is known. */
function showEnvironmentText(
  walk: Walk,
  text: string,
  path: string,
  named: "itself" | "ending",
  above: Above,
  depth: number,
): string {
  if (text === "" || namesOfEnvironments.test(text)) return text;
  const lines = text.split(/\r?\n/);
  if (lines.every((line) => /^\s*(?:#|$)|^\s*(?:export\s+)?[A-Za-z_][\w.]*\s*=/.test(line))) {
    walk.note(path);
    return text.replace(/^(\s*(?:export\s+)?[A-Za-z_][\w.]*\s*=).*$/gm, `$1${marker}`);
  }
  return named === "itself" ? hide(walk, path) : showText(walk, text, path, above, depth);
}

/** `env: ["NAME=value", "NAME"]` */
function showAssignment(walk: Walk, text: string, path: string): string {
  if (/^[A-Z_]*$/.test(text)) return text;
  walk.note(path);
  const [name = ""] = /^[A-Za-z_][\w.]*=/.exec(text) ?? [];
  return name + marker;
}

function isMeant(rules: readonly NameRule[], value: string | number): boolean {
  return rules.some((rule) => rule.value?.(value) ?? true);
}

function hide(walk: Walk, path: string): string {
  walk.note(path);
  return marker;
}

function pathTo(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
