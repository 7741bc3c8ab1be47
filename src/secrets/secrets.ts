import { sql } from "kysely";
import { z } from "zod";
import { type Secret, SecretReference } from "../contract/secrets.ts";
import { ServerConfig, signInSecret } from "../contract/servers.ts";
import { JsonObject } from "../contract/words.ts";
import { brainMarks } from "../brains/registry.ts";
import { type Marks, replaceMarked, secretNames } from "../redaction/marks.ts";
import { marker } from "../redaction/redact.ts";
import { hiderOf, isSetting } from "../redaction/known-texts.ts";
import { serversOf } from "../capabilities/grants.ts";
import type { Writing } from "../dispatch/context.ts";
import { insertion } from "../store/inserts.ts";
import { counting, deleting, selection, textQuery } from "../store/query.ts";
import { companyRow } from "../store/row-by-id.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { sealerWith } from "./sealing.ts";
import { onlyBoardNamesSecrets, tooManySecrets, usedByServer } from "./texts.ts";

/**
 * The secrets of all companies. A value is in one of three places:
 *
 *   given      the daemon got it at start, by descriptor or environment. Only in memory.
 *   encrypted  in the table `secrets`, if the daemon has a secrets key. The key is never in the database.
 *   memory     otherwise. The table has only the name. After a restart the secret is missing until it is set again.
 *
 * Configurations hold references, {"secret": NAME}. A plain value in a marked key becomes a secret with a generated name
 * before the handler of the operation sees it. So rows, events, approvals, images and exports can't contain the value.
 */
export interface SecretStore {
  /** Whether values outlive the daemon. */
  readonly kept: "encrypted" | "memory";
  /**
   * The input of a call without secret values. A plain value in a marked key becomes a reference. A known value anywhere else
   * becomes the marker. `undo` forgets the new secrets, for a call that is rolled back.
   */
  conceal(call: Writing, input: unknown): Promise<{ input: unknown; undo: () => void }>;
  put(call: Writing, name: string, value: string): Promise<void>;
  remove(call: Writing, name: string): Promise<void>;
  /** All secrets of a company: those that were set, and those that only a configuration refers to. */
  list(tx: ReadTx, companyId: string): Promise<Secret[]>;
  /** The configuration of an agent with its values, or the names of the missing secrets. */
  resolve(tx: ReadTx, agent: Configured): Promise<{ config: string; missing: readonly string[] }>;
  /** One value. Undefined if it is not set, or if this daemon does not know it. */
  valueFor(tx: ReadTx, companyId: string, name: string): Promise<string | undefined>;
  /** The names among these without a value. */
  lacking(tx: ReadTx, companyId: string, names: readonly string[]): Promise<string[]>;
  /** Values that must not leave the company. */
  valuesOf(companyId: string): readonly string[];
  hideIn(companyId: string, text: string): string;
  /** Hides every known value, for logs. */
  hide(text: string): string;
  /** Reads all encrypted values once, because hiding needs them. */
  load(tx: ReadTx): Promise<void>;
}

type Configured = Pick<Row<"agents">, "company_id" | "brain_config">;

/** Values for all companies by name, and for single companies by the company's name or id. */
export const GivenSecrets = z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())]));
export type GivenSecrets = z.infer<typeof GivenSecrets>;

interface Known {
  readonly value: string;
  readonly generated: boolean;
  /** The encrypted text of the row. While the row has this text, the value is not decrypted again. */
  readonly sealed?: string;
}

const mostSecrets = 1000;

/** The inputs that may have values: the configurations of brains and of MCP servers. */
const marks: Marks = new Map<string, readonly z.ZodType[]>([...brainMarks, ["config", [ServerConfig]]]);

/** `fallback` has values for companies that have no secret with that name. */
export function keepSecrets(
  options: {
    key?: string | undefined;
    given?: GivenSecrets;
    fallback?: Readonly<Record<string, string>>;
  } = {},
): SecretStore {
  const { fallback = {} } = options;
  const sealer = options.key === undefined ? undefined : sealerWith(options.key);
  const given = Object.entries(options.given ?? {});
  const known = new Map<string, Map<string, Known>>();
  const hiders = new Map<string, (text: string) => string>();
  const placeOf = (companyId: string, name: string): string => `${companyId} ${name}`;

  function learn(companyId: string, name: string, secret: Known | undefined): void {
    const own = known.get(companyId) ?? new Map<string, Known>();
    known.set(companyId, own);
    if (own.get(name)?.value !== secret?.value) hiders.clear();
    if (secret === undefined) own.delete(name);
    else own.set(name, secret);
  }

  async function givenFor(tx: ReadTx, companyId: string, name: string): Promise<string | undefined> {
    if (given.length === 0) return undefined;
    const company = await tx.first(companyRow, { id: companyId });
    for (const [key, values] of given)
      if (typeof values !== "string" && (key === companyId || key === company?.name) && name in values)
        return values[name];
    const forAll = given.find(([key]) => key === name)?.[1];
    return typeof forAll === "string" ? forAll : undefined;
  }

  /** The row decides, because another daemon on the same database may have changed it. */
  async function valueOf(tx: ReadTx, companyId: string, name: string): Promise<string | undefined> {
    const atStart = await givenFor(tx, companyId, name);
    if (atStart !== undefined) return atStart;
    const row = await tx.first(secretRow, { company_id: companyId, name });
    if (row === undefined) learn(companyId, name, undefined);
    else if (row.sealed !== null) open(row);
    return known.get(companyId)?.get(name)?.value ?? (row === undefined ? fallback[name] : undefined);
  }

  function open(row: Row<"secrets">): void {
    const { company_id: companyId, name, sealed } = row;
    if (sealed === null || known.get(companyId)?.get(name)?.sealed === sealed) return;
    const value = sealer?.open(placeOf(companyId, name), sealed);
    learn(
      companyId,
      name,
      value === undefined ? undefined : { value, generated: row.generated === 1, sealed },
    );
  }

  async function keep({ tx, companyId }: Writing, name: string, secret: Known): Promise<void> {
    const count = (await tx.first(countSecrets, { company_id: companyId }))?.count ?? 0;
    if (count >= mostSecrets) throw tooManySecrets(mostSecrets);
    const sealed = sealer?.seal(placeOf(companyId, name), secret.value) ?? null;
    await tx.run(putRow, {
      company_id: companyId,
      name,
      sealed,
      generated: secret.generated ? 1 : 0,
      created_at: tx.now,
    });
    learn(companyId, name, secret);
  }

  async function list(tx: ReadTx, companyId: string): Promise<Secret[]> {
    const rows = await tx.all(secretsOf, { company_id: companyId });
    const users = new Map<string, string[]>(rows.map(({ name }) => [name, []]));
    for (const { name: agent, brain_config } of await tx.all(referring, { companyId }))
      for (const name of referencesIn(brain_config)) users.set(name, [...(users.get(name) ?? []), agent]);
    for (const { name: server, config } of await tx.all(serversOf, { company_id: companyId }))
      for (const name of [...secretNames(JSON.parse(config)), signInSecret(server)])
        if (name !== signInSecret(server) || users.has(name))
          users.set(name, [...(users.get(name) ?? []), usedByServer(server)]);
    const found: Secret[] = [];
    for (const [name, usedBy] of users) {
      const row = rows.find((one) => one.name === name);
      const isGiven =
        (await givenFor(tx, companyId, name)) !== undefined || (row === undefined && name in fallback);
      found.push({
        name,
        generated: row?.generated === 1,
        status: (await valueOf(tx, companyId, name)) === undefined ? "missing" : "available",
        kept: isGiven ? "given" : row !== undefined && row.sealed !== null ? "encrypted" : "memory",
        usedBy,
      });
    }
    return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  const valuesOf = (companyId: string): string[] => [
    ...Object.values(fallback),
    ...given.flatMap(([, value]) => (typeof value === "string" ? [value] : Object.values(value))),
    ...[...(known.get(companyId) ?? [])]
      .filter(([name, secret]) => isDistinctive(secret) && !isSettingOf(name, secret))
      .flatMap(([, { value }]) => [value, ...partsOf(value)]),
  ];

  function hiderFor(companyIds: readonly string[]): (text: string) => string {
    const key = companyIds.join(" ");
    const hider = hiders.get(key) ?? hiderOf(companyIds.flatMap(valuesOf));
    hiders.set(key, hider);
    return hider;
  }

  return {
    kept: sealer === undefined ? "memory" : "encrypted",
    conceal: async (call, input) => {
      const { companyId, actor } = call;
      const found = new Map<string, string>();
      const referring = replaceMarked(input, marks, (value, key) => {
        const reference = SecretReference.safeParse(value);
        if (reference.success && actor.agentId !== null) throw onlyBoardNamesSecrets(reference.data.secret);
        if (typeof value !== "string" || value === "" || value === marker) return value;
        const name = generatedName(key, call.newId());
        found.set(name, value);
        return { secret: name };
      });
      for (const [name, value] of found) await keep(call, name, { value, generated: true });
      return {
        input: hiddenIn(referring, hiderFor([companyId])),
        undo: () => {
          for (const name of found.keys()) learn(companyId, name, undefined);
        },
      };
    },
    put: (call, name, value) => keep(call, name, { value, generated: false }),
    remove: async ({ tx, companyId }, name) => {
      await tx.run(dropRow, { company_id: companyId, name });
      learn(companyId, name, undefined);
    },
    list,
    resolve: async (tx, { company_id, brain_config }) => {
      const values = new Map<string, string>();
      const missing: string[] = [];
      for (const name of referencesIn(brain_config)) {
        const value = await valueOf(tx, company_id, name);
        if (value === undefined) missing.push(name);
        else values.set(name, value);
      }
      const config = replaceReferences(brain_config, (name) => values.get(name));
      return { config, missing };
    },
    valueFor: valueOf,
    lacking: async (tx, companyId, names) => {
      const missing = [];
      for (const name of names) if ((await valueOf(tx, companyId, name)) === undefined) missing.push(name);
      return missing;
    },
    valuesOf,
    hideIn: (companyId, text) => hiderFor([companyId])(text),
    hide: (text) => hiderFor([...known.keys(), ""])(text),
    load: async (tx) => {
      for (const row of await tx.all(allSealed, {})) open(row);
    },
  };
}

/**
 * A value that Agency found in a configuration may be an ordinary word (NODE_ENV=production), which must stay readable in
 * other texts (`isSetting` in redaction/known-texts.ts).
 */
const isDistinctive = ({ value, generated }: Known): boolean =>
  !generated ||
  (/^\S{12,}$/.test(value) && /\d/.test(value) && /[a-z]/i.test(value) && !/^\.?\//.test(value));

/** A value that Agency found has the name of its variable and a suffix (`generatedName`). */
const isSettingOf = (name: string, { value, generated }: Known): boolean =>
  generated && isSetting(name.slice(0, -suffixLength), value);
const suffixLength = 13;
const generatedName = (variable: string, id: string): string =>
  `${variable.replaceAll(/[^\w.-]/g, "_")}-${id.slice(1 - suffixLength)}`;

/** The values inside a secret that is a document, such as the key of a service account or the tokens of a sign-in. */
function partsOf(value: string): string[] {
  if (!value.startsWith("{")) return [];
  try {
    const leaves = (node: unknown): string[] =>
      typeof node === "string"
        ? [node]
        : typeof node === "object" && node !== null
          ? Object.values(node).flatMap(leaves)
          : [];
    return leaves(JSON.parse(value)).filter(
      (leaf) =>
        leaf.includes("PRIVATE KEY") ||
        (!leaf.startsWith("http") && isDistinctive({ value: leaf, generated: true })),
    );
  } catch {
    return [];
  }
}

function referencesIn(config: string): Set<string> {
  const names = new Set<string>();
  replaceReferences(config, (name) => {
    names.add(name);
    return undefined;
  });
  return names;
}

function replaceReferences(config: string, valueOf: (name: string) => string | undefined): string {
  if (!config.includes('"secret"')) return config;
  const adapterConfig: unknown = JSON.parse(config);
  const replaced = replaceMarked({ adapterConfig }, brainMarks, (value) => {
    const reference = SecretReference.safeParse(value);
    return reference.success ? (valueOf(reference.data.secret) ?? value) : value;
  });
  return JSON.stringify(JsonObject.parse(replaced)["adapterConfig"]);
}

/** Returns the value itself if it has nothing to hide. */
export function hiddenIn(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === "string") return hide(value);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [key, hiddenIn(item, hide)]);
  if (entries.every(([key, item]) => item === Reflect.get(value, key))) return value;
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

/** Removes secrets of a company with generated names that nothing refers to any more, such as those of a plan that was not applied. */
export async function forgetUnused(tx: Tx, company_id: string, before: number): Promise<void> {
  for (const { name } of await tx.all(unused, { company_id, before }))
    await tx.run(dropRow, { company_id, name });
}

const unused = textQuery((p: { company_id: string; before: number }) => {
  // Without the quotes around a name: in the images of a reorganization a configuration is a text, whose quotes are escaped.
  const names = (table: string, column: string) =>
    sql`not exists (select 1 from ${sql.table(table)} t where t.${sql.ref(column)} like '%' || s.name || '%')`;
  return sql<{ name: string }>`
    select s.name from secrets s where s.company_id = ${p.company_id} and s.generated = 1 and s.created_at < ${p.before}
      and ${names("agents", "brain_config")} and ${names("companies", "settings")}
      and ${names("mcp_servers", "config")} and ${names("approvals", "payload")} and ${names("reorganizations", "images")} limit 100`;
});

const secretRow = selection("secrets", ["company_id", "name"]);
const secretsOf = selection("secrets", ["company_id"], sql`order by name`);
const allSealed = selection("secrets", [], sql`and sealed is not null`);
const countSecrets = counting("secrets", ["company_id"]);
const dropRow = deleting("secrets", ["company_id", "name"]);
const putRow = insertion(
  "secrets",
  sql`on conflict (company_id, name) do update set sealed = excluded.sealed, created_at = excluded.created_at`,
);
const referring = selection(
  "agents",
  [],
  (p: { companyId: string }) => sql`and company_id = ${p.companyId} and status <> 'terminated'
    and brain_config like '%"secret"%' order by name`,
);
