import type { Trouble } from "../brains/brain.ts";
import { growingWaits } from "../gateway/growing-waits.ts";
import { absentProgram, isInstalled, probeBrain, programUsed, providerUsed } from "../brains/registry.ts";
import { contextTokensOf } from "../gateway/prices.ts";
import { type ProviderParts, providerOf, providerTrouble } from "../gateway/providers.ts";
import { wasRefused } from "../gateway/states.ts";
import type { BrainHealth } from "../runtime/node-parts.ts";
import type { TroubleOf } from "../runtime/work.ts";
import type { AgentRow } from "../agents/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { oneTries } from "./texts.ts";

/**
 * Whether the brains of agents can work on this node. It looks at the program, as the last session found it, and at the
 * provider, as the gateway knows it. The findings are only in memory and made again after a restart.
 */
type Configured = Pick<AgentRow, "company_id" | "brain_type" | "brain_config">;

/** After the wait, one session tries the brain for all agents that use it. If it has run for this long, the brain works. */
const trial = 60_000;

export interface NodeBrains extends BrainHealth {
  /** The programs that agents need and this machine lacks. */
  readonly lacks: () => string[];
}

export function keepBrainHealth(
  parts: ProviderParts & { readonly nodeId: string; readonly closing?: AbortSignal },
): NodeBrains {
  /** `since` is when a session last found the trouble. */
  const troubles = new Map<string, { agent: Configured; trouble: Trouble; since: number }>();
  /** Agents whose program this machine lacks. */
  const absent = new Map<string, Configured>();
  const keyOf = ({ company_id, brain_type, brain_config }: Configured): string =>
    `${company_id} ${brain_type} ${brain_config}`;
  const waits = growingWaits();
  const tryNow = (agent: Configured, trouble: Trouble): void => change(agent, { ...trouble, until: 0 });
  const change = (agent: Configured, trouble: Trouble): void => {
    const known = troubles.get(keyOf(agent));
    if (known !== undefined) troubles.set(keyOf(agent), { ...known, trouble });
  };
  const ofProvider: TroubleOf = async (tx, { company_id, brain_type, brain_config }) => {
    const provider = providerUsed(brain_type, brain_config);
    return provider === undefined ? undefined : providerTrouble(tx, parts, company_id, provider);
  };
  /** When a session began to try this brain, or its provider, for all agents that wait. */
  const triedSince = async (tx: ReadTx, agent: Configured): Promise<number | undefined> => {
    const provider = providerUsed(agent.brain_type, agent.brain_config);
    const isTried = provider !== undefined && (await wasRefused(tx, agent.company_id, provider));
    const own = troubles.get(keyOf(agent));
    if (!isTried && own === undefined) return undefined;
    const running = await tx.all(liveSessions, { companyId: agent.company_id });
    // A session that began before the trouble, or on a node with another login, proves nothing.
    const isProof = (one: (typeof running)[number]): boolean =>
      keyOf(one) === keyOf(agent) &&
      one.node_id === parts.nodeId &&
      one.started_at > (own?.since ?? 0) &&
      one.started_at <= tx.now - trial;
    if (!isTried && running.some(isProof)) {
      troubles.delete(keyOf(agent));
      waits.clear(keyOf(agent));
      return undefined;
    }
    return running.find(
      (one) =>
        one.started_at > tx.now - trial &&
        (keyOf(one) === keyOf(agent) ||
          (isTried && providerUsed(one.brain_type, one.brain_config) === provider)),
    )?.started_at;
  };
  return {
    troubleOf: async (tx, agent) => {
      const own = troubles.get(keyOf(agent))?.trouble;
      if (own !== undefined && (own.until === null || own.until > tx.now)) return own;
      const trouble = await ofProvider(tx, agent);
      if (trouble !== undefined) return trouble;
      const program = absentProgram(agent.brain_type, agent.brain_config);
      if (program !== undefined) {
        absent.set(keyOf(agent), agent);
        return { cause: "missing", says: program.missing, until: null };
      }
      const since = await triedSince(tx, agent);
      return since === undefined ? undefined : { cause: "waiting", says: oneTries, until: since + trial };
    },
    modelOf: async (tx, agent) => {
      const provider = providerUsed(agent.brain_type, agent.brain_config);
      if (agent.model !== null || provider === undefined) return agent.model;
      return (await providerOf(tx, agent.company_id, provider))?.defaultModel ?? null;
    },
    contextOf: async (tx, agent) => {
      const provider = providerUsed(agent.brain_type, agent.brain_config);
      const config = provider === undefined ? undefined : await providerOf(tx, agent.company_id, provider);
      const model = agent.model ?? config?.defaultModel;
      if (provider === undefined || config === undefined || model === undefined) return undefined;
      return contextTokensOf(provider, config, model);
    },
    ended: async (tx, agent, { cause: why, says }) => {
      const key = keyOf(agent);
      if (why === "failed") return;
      if (why === "done" || why === "out_of_context") {
        troubles.delete(key);
        return waits.clear(key);
      }
      // The provider knows better how long the trouble lasts.
      const provider = providerUsed(agent.brain_type, agent.brain_config);
      const isRefused = provider !== undefined && (await wasRefused(tx, agent.company_id, provider));
      if (why !== "missing" && (isRefused || (await ofProvider(tx, agent)) !== undefined)) return;
      const cause = why === "overloaded" ? "waiting" : why;
      const known = troubles.get(key)?.trouble;
      const until = waits.failed(key, tx.now);
      const isAbsent = absentProgram(agent.brain_type, agent.brain_config) !== undefined;
      // The first message stays, so the board is not told again only because a number in it has changed.
      const trouble: Trouble = {
        cause,
        says: known?.cause === cause ? known.says : says,
        until: cause === "missing" && isAbsent ? null : until,
      };
      troubles.set(key, { agent, trouble, since: tx.now });
    },
    mended: (companyId) => {
      for (const { agent, trouble } of troubles.values())
        if (agent.company_id === companyId && trouble.until !== null) tryNow(agent, trouble);
    },
    lookAgain: async () => {
      const free = new Set<string>();
      for (const { agent, trouble } of troubles.values()) {
        if (trouble.cause !== "missing") continue;
        const { available } = isInstalled(agent.brain_type)
          ? await probeBrain(agent.brain_type, agent.brain_config, parts.closing)
          : { available: true };
        if (troubles.get(keyOf(agent))?.trouble !== trouble) continue;
        // A program that was there all the time is tried again after its wait.
        if (!available) change(agent, { ...trouble, until: null });
        if (!available || trouble.until !== null) continue;
        tryNow(agent, trouble);
        free.add(agent.company_id);
      }
      for (const [key, agent] of absent)
        if (absentProgram(agent.brain_type, agent.brain_config) === undefined && absent.delete(key))
          free.add(agent.company_id);
      return [...free];
    },
    lacks: () => {
      const missing = [...troubles.values()].filter(({ trouble }) => trouble.cause === "missing");
      const agents = [...missing.map(({ agent }) => agent), ...absent.values()];
      return [
        ...new Set(
          agents.flatMap(
            ({ brain_type, brain_config }) => programUsed(brain_type, brain_config)?.command ?? [],
          ),
        ),
      ];
    },
  };
}

const liveSessions = query((db, p: { companyId: string }) =>
  db
    .selectFrom("sessions as s")
    .innerJoin("agents as a", "a.id", "s.agent_id")
    .select(["a.company_id", "a.brain_type", "a.brain_config", "s.started_at", "s.node_id"])
    .where("s.company_id", "=", p.companyId)
    .where("s.ended_at", "is", null)
    .orderBy("s.started_at", "desc"),
);
