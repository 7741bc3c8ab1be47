import { connect } from "node:net";
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
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import { type ProviderParts, providerOf, providersOf, providerTrouble } from "../gateway/providers.ts";
import * as gatewayTexts from "../gateway/texts.ts";
import { demandHirer } from "../hiring/configurations.ts";
import { selection } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import * as texts from "./texts.ts";

/**
 * Whether a brain could work now in a company: its program is here, there is a sandbox for it, and its provider can be asked. No model
 * is asked and nothing is spent. Every place that shows whether a brain is available takes it from here.
 */
export interface BrainProbing extends ProviderParts {
  readonly sandbox: () => Sandbox;
}

export async function probeIn(
  tx: ReadTx,
  parts: BrainProbing,
  companyId: string,
  { type, config, asksAgain = false }: Configured,
): Promise<Probe> {
  const found = await probeBrain(type, config);
  if (!found.available) return found;
  const not = (says: string): Probe => ({ ...found, available: false, says });
  const unsafe = sandboxLacking(parts, findBrain(type));
  if (unsafe !== undefined) return not(unsafe);
  const provider = providerUsed(type, config);
  if (provider === undefined) return found;
  const record = await providerOf(tx, companyId, provider);
  if (record === undefined) return not(gatewayTexts.noProvider(provider));
  if (dialectOf(type, config) !== record.dialect)
    return not(gatewayTexts.dialectNotSpoken(provider, record.dialect));
  const trouble = await providerTrouble(tx, parts, companyId, provider);
  if (trouble?.cause === "refused" && !asksAgain)
    return not(
      `${gatewayTexts.providerRefuses(provider, trouble.says)} ${gatewayTexts.remedies.key(record)}`,
    );
  if (trouble?.cause === "waiting" && !asksAgain)
    return not(`${gatewayTexts.providerBusy(provider, trouble.says)} ${gatewayTexts.remedies.wait}`);
  if (trouble !== undefined && trouble.cause !== "refused" && trouble.cause !== "waiting")
    return not(trouble.says);
  if (!(await answers(record.baseUrl)))
    return not(
      `${gatewayTexts.providerUnreachable(provider)} ${gatewayTexts.remedies.server(record.baseUrl)}`,
    );
  return { ...found, says: texts.withProvider(found.says, provider) };
}

/** Why its sessions could not start on this machine. */
function sandboxLacking({ sandbox }: BrainProbing, { type, runsPrograms }: Brain): string | undefined {
  const { status, unsandboxedAllowed, says, remedy } = sandbox();
  return !runsPrograms || status === "works" || unsandboxedAllowed
    ? undefined
    : `${texts.brainNeedsSandbox(type, says)} ${remedy}`.trim();
}

interface Configured {
  readonly type: string;
  /** JSON. */
  readonly config: string;
  /** A provider that refused its key or asked to wait counts as one that can be asked. */
  readonly asksAgain?: boolean;
}

/**
 * The configuration that counts for a type of brain in a company: the one of the root agent, or the one that new agents get.
 * Undefined if the company uses neither with this brain.
 */
export async function configInUse(tx: ReadTx, companyId: string, type: string): Promise<string | undefined> {
  const rootId = companyId === "" ? undefined : await rootAgentOf(tx, companyId);
  if (rootId === undefined) return undefined;
  const root = await agentById(tx, rootId);
  if (root.brain_type === type) return root.brain_config;
  const { defaultAdapterType, defaultAdapterConfig } = await settingsOf(tx, companyId);
  return defaultAdapterType === type ? JSON.stringify(defaultAdapterConfig) : undefined;
}

export function brainListHandler(parts: BrainProbing): Guarded {
  /** Looks with the configuration that the company uses. If it uses none, the first that could work counts. */
  async function found(tx: ReadTx, companyId: string, brain: Brain): Promise<Probe> {
    const { type } = brain;
    const used = await configInUse(tx, companyId, type);
    if (used !== undefined) return probeIn(tx, parts, companyId, { type, config: used });
    if (brain.provider === undefined) {
      const probe = await brain.probe();
      const unsafe = probe.available ? sandboxLacking(parts, brain) : undefined;
      return unsafe === undefined ? probe : { ...probe, available: false, says: unsafe };
    }
    const usual = brain.examples.map((config) => JSON.stringify(config));
    const [first = "{}", ...others] = usual;
    const byDefault = await probeIn(tx, parts, companyId, { type, config: first });
    if (byDefault.available) return byDefault;
    for (const name of (await providersOf(tx, companyId)).keys())
      others.push(JSON.stringify({ provider: name }));
    for (const config of others) {
      const probe = await probeIn(tx, parts, companyId, { type, config });
      if (probe.available) return { ...probe, says: texts.withConfig(probe.says, type, config) };
    }
    return byDefault;
  }

  return guarded(listBrains, async ({ tx, actor, caller, input }) => {
    const own = caller.companyId;
    if (own !== null && input.companyId !== undefined && input.companyId !== own)
      throw notFound("company", input.companyId);
    const companyId = own ?? (await companyMeant(tx, input.companyId));
    await demandHirer({ tx, actor, companyId });
    const listed = [];
    for (const brain of brains)
      listed.push({
        type: brain.type,
        ...(await found(tx, companyId, brain)),
        runsPrograms: brain.runsPrograms,
        schema: inputSchema(brain.config),
        documentation: pageText(brain),
      });
    return { brains: listed };
  });
}

async function companyMeant(tx: ReadTx, named: string | undefined): Promise<string> {
  if (named !== undefined && (await tx.first(companyRow, { id: named })) === undefined)
    throw notFound("company", named);
  if (named !== undefined) return named;
  const [only, another] = await tx.all(companyRows, {});
  return another === undefined ? (only?.id ?? "") : "";
}

const companyRow = selection("companies", ["id"]);
const companyRows = selection("companies", []);

const dialectOf = (type: string, config: string): ProviderConfig["dialect"] =>
  apiUsed(type, config) === "messages" ? "anthropic" : "openai";

/** A server on this machine must be running. Others are not asked: that would tell them that they are looked for. */
async function answers(baseUrl: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(baseUrl);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (host !== "localhost" && host !== "::1" && !host.startsWith("127.")) return true;
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || (protocol === "https:" ? 443 : 80)) });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.setTimeout(2000, () => end(false));
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
