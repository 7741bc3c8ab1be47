import { connect } from "node:net";
import type { z } from "zod";
import { agentById } from "../agents/table.ts";
import type { Brain, Probe } from "../brains/brain.ts";
import { pageText } from "../brains/documentation.ts";
import { apiUsed, brains, findBrain, probeBrain, providerUsed } from "../brains/registry.ts";
import { rootAgentOf } from "../capabilities/members.ts";
import { listBrains } from "../contract/hiring.ts";
import type { Sandbox } from "../contract/installation.ts";
import { inputSchema } from "../contract/json-schema.ts";
import type { ProviderConfig } from "../contract/providers.ts";
import { notFound } from "../contract/refusal.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import { type Call, type Guarded, guardedOutside } from "../dispatch/guarded.ts";
import { type ProviderParts, providerOf, providersOf, providerTrouble } from "../gateway/providers.ts";
import * as gatewayTexts from "../gateway/texts.ts";
import { demandHirer } from "../hiring/configurations.ts";
import { selection } from "../store/query.ts";
import { companyRow } from "../store/row-by-id.ts";
import type { ReadTx } from "../store/store.ts";
import * as texts from "./texts.ts";

/**
 * Whether a brain could work now in a company: its program is present, there is a sandbox for it, and its provider can be
 * asked. No model is asked and nothing is spent. All places that show whether a brain is available use this. The stored facts
 * are read in a transaction (`recordOf`). Programs and servers are asked after it (`probe`), because that can take many
 * seconds.
 */
export interface BrainProbing extends ProviderParts {
  readonly sandbox: () => Sandbox;
  /** Aborts when the daemon stops. The results do not matter any more. */
  readonly closing?: AbortSignal | undefined;
}

/** The stored facts about a brain with a configuration. */
interface BrainRecord extends Configured {
  readonly provider?: string;
  /** The reason why its provider can't be asked. */
  readonly lacks?: string | undefined;
  /** The address of its provider. */
  readonly baseUrl?: string;
}

export async function recordOf(
  tx: ReadTx,
  parts: ProviderParts,
  companyId: string,
  { type, config, asksAgain = false }: Configured & { readonly asksAgain?: boolean },
): Promise<BrainRecord> {
  const provider = providerUsed(type, config);
  if (provider === undefined) return { type, config };
  const found = await providerOf(tx, companyId, provider);
  if (found === undefined) return { type, config, provider, lacks: gatewayTexts.noProvider(provider) };
  const { dialect, baseUrl } = found;
  const known = { type, config, provider, baseUrl };
  if (dialectOf(type, config) !== dialect)
    return { ...known, lacks: gatewayTexts.dialectNotSpoken(provider, dialect) };
  const trouble = await providerTrouble(tx, parts, companyId, provider);
  if (trouble === undefined) return known;
  const { cause, says } = trouble;
  if (cause !== "refused" && cause !== "waiting") return { ...known, lacks: says };
  // If the provider will be asked again, earlier findings don't count.
  if (asksAgain) return known;
  const lacks =
    cause === "refused"
      ? `${gatewayTexts.providerRefuses(provider, says)} ${gatewayTexts.remedies.key(found)}`
      : `${gatewayTexts.providerBusy(provider, says)} ${gatewayTexts.remedies.wait}`;
  return { ...known, lacks };
}

export async function probe(parts: BrainProbing, record: BrainRecord): Promise<Probe> {
  const { type, config, provider, lacks, baseUrl } = record;
  return safely(parts, type, await probeBrain(type, config, parts.closing), async (found) => {
    if (provider === undefined) return found;
    const not = (says: string): Probe => ({ ...found, available: false, says });
    if (lacks !== undefined) return not(lacks);
    if (baseUrl !== undefined && !(await answers(baseUrl, parts.closing)))
      return not(`${gatewayTexts.providerUnreachable(provider)} ${gatewayTexts.remedies.server(baseUrl)}`);
    return { ...found, says: texts.withProvider(found.says, provider) };
  });
}

/** Continues only if the brain's program is present and its sessions could start on this machine. */
async function safely(
  parts: BrainProbing,
  type: string,
  found: Probe,
  next: (found: Probe) => Promise<Probe> = async (same) => same,
): Promise<Probe> {
  if (!found.available) return found;
  const unsafe = sandboxLacking(parts, findBrain(type));
  return unsafe === undefined ? next(found) : { ...found, available: false, says: unsafe };
}

/** The reason why its sessions could not start on this machine. */
function sandboxLacking({ sandbox }: BrainProbing, { type, runsPrograms }: Brain): string | undefined {
  const { status, unsandboxedAllowed, says, remedy } = sandbox();
  return !runsPrograms || status === "works" || unsandboxedAllowed
    ? undefined
    : `${texts.brainNeedsSandbox(type, says)} ${remedy}`.trim();
}

interface Configured {
  readonly type: string;
  /** The configuration as JSON. */
  readonly config: string;
}

/**
 * The configuration for a type of brain in a company: that of the root agent, or that of new agents. Undefined if the company
 * uses neither with this brain.
 */
export async function configInUse(tx: ReadTx, companyId: string, type: string): Promise<string | undefined> {
  const rootId = companyId === "" ? undefined : await rootAgentOf(tx, companyId);
  if (rootId === undefined) return undefined;
  const root = await agentById(tx, rootId);
  if (root.brain_type === type) return root.brain_config;
  const { defaultAdapterType, defaultAdapterConfig } = await settingsOf(tx, companyId);
  return defaultAdapterType === type ? JSON.stringify(defaultAdapterConfig) : undefined;
}

/** The stored facts of a company about a brain: of the configuration in use, or else of each that could work. */
interface ListedBrain {
  readonly brain: Brain;
  readonly used?: BrainRecord;
  /** The default comes first. */
  readonly usual: readonly BrainRecord[];
}

export function brainListHandler(parts: BrainProbing): Guarded {
  async function listed(tx: ReadTx, companyId: string, brain: Brain): Promise<ListedBrain> {
    const { type } = brain;
    const recorded = (config: string) => recordOf(tx, parts, companyId, { type, config });
    const used = await configInUse(tx, companyId, type);
    if (used !== undefined) return { brain, used: await recorded(used), usual: [] };
    if (brain.provider === undefined) return { brain, usual: [] };
    const configs: object[] = [...brain.examples];
    if (configs.length === 0) configs.push({});
    for (const name of (await providersOf(tx, companyId)).keys()) configs.push({ provider: name });
    const usual = [];
    for (const config of configs) usual.push(await recorded(JSON.stringify(config)));
    return { brain, usual };
  }

  /** Probes the configuration in use. Without one, the first that could work counts. */
  async function found({ brain, used, usual }: ListedBrain): Promise<Probe> {
    if (used !== undefined) return probe(parts, used);
    const [first, ...others] = usual;
    if (first === undefined) return safely(parts, brain.type, await brain.probe(undefined, parts.closing));
    const byDefault = await probe(parts, first);
    if (byDefault.available) return byDefault;
    for (const record of others) {
      const one = await probe(parts, record);
      if (one.available) return { ...one, says: texts.withConfig(one.says, brain.type, record.config) };
    }
    return byDefault;
  }

  async function allowed({
    tx,
    actor,
    caller,
    input,
  }: Call<z.infer<typeof listBrains.input>>): Promise<string> {
    const own = caller.companyId;
    if (own !== null && input.companyId !== undefined && input.companyId !== own)
      throw notFound("company", input.companyId);
    const companyId = own ?? (await companyMeant(tx, input.companyId));
    await demandHirer({ tx, actor, companyId });
    return companyId;
  }

  return guardedOutside(listBrains, {
    look: async (call) => {
      const companyId = await allowed(call);
      const records = [];
      for (const brain of brains) records.push(await listed(call.tx, companyId, brain));
      return records;
    },
    work: (records) =>
      Promise.all(
        records.map(async (record) => ({
          type: record.brain.type,
          ...(await found(record)),
          runsPrograms: record.brain.runsPrograms,
          schema: inputSchema(record.brain.config),
          documentation: pageText(record.brain),
        })),
      ),
    finish: async (call, shown) => {
      await allowed(call);
      return { brains: shown };
    },
  });
}

async function companyMeant(tx: ReadTx, named: string | undefined): Promise<string> {
  if (named !== undefined && (await tx.first(companyRow, { id: named })) === undefined)
    throw notFound("company", named);
  if (named !== undefined) return named;
  const [only, another] = await tx.all(companyRows, {});
  return another === undefined ? (only?.id ?? "") : "";
}

const companyRows = selection("companies", []);

const dialectOf = (type: string, config: string): ProviderConfig["dialect"] =>
  apiUsed(type, config) === "messages" ? "anthropic" : "openai";

/**
 * Checks that a server on this machine is running. Other servers are not asked: that would tell them that someone looks for
 * them.
 */
async function answers(baseUrl: string, closing?: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(baseUrl);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (host !== "localhost" && host !== "::1" && !host.startsWith("127.")) return true;
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || (protocol === "https:" ? 443 : 80)) });
    const end = (isThere: boolean): void => {
      closing?.removeEventListener("abort", give);
      socket.destroy();
      resolve(isThere);
    };
    const give = (): void => end(false);
    closing?.addEventListener("abort", give);
    socket.setTimeout(2000, () => end(false));
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
