import { sql } from "kysely";
import {
  type Provider,
  ProviderConfig,
  listProviders,
  putProvider,
  removeProvider,
} from "../contract/providers.ts";
import { notFound } from "../contract/refusal.ts";
import { type Guarded, guarded } from "../dispatch/guarded.ts";
import type { CodexLogins } from "../brains/codex/login.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { insertion } from "../store/inserts.ts";
import { deleting, selection } from "../store/query.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { forgetState, type ProviderState, stateOfProvider, windowsOf } from "./states.ts";
import { keyMissing, waitsUntilLifted } from "./texts.ts";

/** The providers of a company: the built-in ones, and those that the board has added or changed. */
const builtIn: Readonly<Record<string, ProviderConfig>> = {
  anthropic: {
    dialect: "anthropic",
    baseUrl: "https://api.anthropic.com",
    secret: "ANTHROPIC_API_KEY",
    defaultModel: "claude-sonnet-4-5",
  },
  /** The token that `claude setup-token` prints. */
  "claude-subscription": {
    dialect: "anthropic",
    baseUrl: "https://api.anthropic.com",
    secret: "CLAUDE_CODE_OAUTH_TOKEN",
    defaultModel: "claude-sonnet-4-5",
  },
  openai: {
    dialect: "openai",
    baseUrl: "https://api.openai.com",
    secret: "OPENAI_API_KEY",
    // Codex knows this model. It also answers chat completions, which `openai_compatible` sends.
    defaultModel: "gpt-5.5",
  },
  /** The login of the person's own Codex, with a ChatGPT plan. */
  "codex-subscription": {
    dialect: "openai",
    baseUrl: "https://chatgpt.com/backend-api/codex",
    secret: "CODEX_LOGIN_FILE",
    login: "codex",
    defaultModel: "gpt-5.5",
  },
};

/** Facts about the providers that are not in their records. */
export interface ProviderParts {
  readonly secrets: Pick<SecretStore, "valueFor">;
  readonly logins: CodexLogins;
}

export async function providerOf(
  tx: ReadTx,
  companyId: string,
  name: string,
): Promise<ProviderConfig | undefined> {
  const row = await tx.first(providerRow, { company_id: companyId, name });
  if (row !== undefined) return tables.providers.config.parse(row.config);
  return Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
}

export async function providersOf(tx: ReadTx, companyId: string): Promise<Map<string, ProviderConfig>> {
  const all = new Map(Object.entries(builtIn));
  for (const { name, config } of await tx.all(providerRows, { company_id: companyId }))
    all.set(name, tables.providers.config.parse(config));
  return all;
}

/** The reason why a provider can't be asked now. Undefined if it can. */
export async function providerTrouble(
  tx: ReadTx,
  parts: ProviderParts,
  companyId: string,
  name: string,
): Promise<ProviderTrouble | undefined> {
  const { secret, login } = (await providerOf(tx, companyId, name)) ?? {};
  const value = secret === undefined ? undefined : await parts.secrets.valueFor(tx, companyId, secret);
  if (secret !== undefined && value === undefined)
    return { cause: "no_key", says: keyMissing(secret), until: null, secret };
  const found =
    login === undefined || value === undefined
      ? { token: value, accountId: undefined }
      : parts.logins.look(value);
  if ("says" in found)
    return found.wait === null
      ? { cause: "signed_out", says: found.says, until: null }
      : { cause: "waiting", says: found.says, until: tx.now + found.wait };
  const { token: key, accountId } = found;
  const state = await stateOfProvider(tx, companyId, name, { key, accountId });
  if (state?.cause === "waiting")
    return { ...state, says: waitsUntilLifted(state.says, { secret, login }), secret };
  return state === undefined ? undefined : { ...state, secret };
}

interface ProviderTrouble extends Omit<ProviderState, "cause" | "until"> {
  /** Null if it lasts until something changes. */
  readonly until: number | null;
  readonly cause: ProviderState["cause"] | "no_key" | "signed_out";
  readonly secret?: string | undefined;
}

export function providerHandlers(parts: ProviderParts): Guarded[] {
  async function present(
    tx: ReadTx,
    companyId: string,
    name: string,
    config: ProviderConfig,
  ): Promise<Provider> {
    const isSet = (await tx.first(providerRow, { company_id: companyId, name })) !== undefined;
    const trouble = await providerTrouble(tx, parts, companyId, name);
    return {
      name,
      config,
      builtIn: !isSet,
      status: trouble?.cause ?? "ready",
      says: trouble?.says ?? "",
      until: trouble?.until == null ? null : new Date(trouble.until).toISOString(),
      windows: (await windowsOf(tx, companyId, name)).map(({ name: window, used, until }) => ({
        name: window,
        usedPercent: used,
        resetsAt: new Date(until).toISOString(),
      })),
    };
  }

  return [
    guarded(putProvider, async (call) => {
      const { tx, companyId, input } = call;
      const { name, config } = input;
      await tx.run(keepProvider, {
        company_id: companyId,
        name,
        config: JSON.stringify(config),
        created_at: tx.now,
      });
      await forgetState(tx, companyId, name);
      await call.record(companyId, { provider: name, dialect: config.dialect, baseUrl: config.baseUrl });
      return present(tx, companyId, name, config);
    }),
    guarded(listProviders, async ({ tx, companyId }) => {
      const providers = [];
      for (const [name, config] of await providersOf(tx, companyId))
        providers.push(await present(tx, companyId, name, config));
      return { providers, nextCursor: null };
    }),
    guarded(removeProvider, async (call) => {
      const { tx, companyId, input } = call;
      const config = await providerOf(tx, companyId, input.name);
      if (config === undefined) throw notFound("provider", input.name);
      const shown = await present(tx, companyId, input.name, config);
      const standard = builtIn[input.name];
      await tx.run(dropProvider, { company_id: companyId, name: input.name });
      await forgetState(tx, companyId, input.name);
      await call.record(companyId, { provider: input.name });
      // The company then has the built-in provider again.
      return standard === undefined ? shown : present(tx, companyId, input.name, standard);
    }),
  ];
}

const keepProvider = insertion(
  "providers",
  sql`on conflict (company_id, name) do update set config = excluded.config`,
);
const providerRow = selection("providers", ["company_id", "name"]);
const providerRows = selection("providers", ["company_id"], sql`order by name`);
const dropProvider = deleting("providers", ["company_id", "name"]);
