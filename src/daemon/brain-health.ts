import type { Trouble } from "../brains/brain.ts";
import { absentProgram, isInstalled, probeBrain, programUsed, providerUsed } from "../brains/registry.ts";
import { type ProviderParts, providerOf, providerTrouble } from "../gateway/providers.ts";
import type { BrainHealth } from "../runtime/node-sessions.ts";
import type { TroubleOf } from "../runtime/work.ts";
import type { AgentRow } from "../agents/table.ts";

/**
 * Whether the brains of agents can work on this node: the program, if it is there and as the last session found it, and the
 * provider, as the gateway knows it. Only in memory: after a restart, it is found out again.
 */
type Configured = Pick<AgentRow, "company_id" | "brain_type" | "brain_config">;

/** A brain that said it was overloaded, and whose provider says nothing, waits this long. */
const pause = 30_000;

export interface NodeBrains extends BrainHealth {
  /** The programs that agents need and that this machine does not have. */
  readonly lacks: () => string[];
}

export function keepBrainHealth(parts: ProviderParts): NodeBrains {
  const troubles = new Map<string, { agent: Configured; trouble: Trouble }>();
  /** Agents whose program is not on this machine. */
  const absent = new Map<string, Configured>();
  const keyOf = ({ company_id, brain_type, brain_config }: Configured): string =>
    `${company_id} ${brain_type} ${brain_config}`;
  const ofProvider: TroubleOf = async (tx, { company_id, brain_type, brain_config }) => {
    const provider = providerUsed(brain_type, brain_config);
    return provider === undefined ? undefined : providerTrouble(tx, parts, company_id, provider);
  };
  return {
    troubleOf: async (tx, agent) => {
      const own = troubles.get(keyOf(agent))?.trouble;
      if (own !== undefined && (own.until === null || own.until > tx.now)) return own;
      const trouble = await ofProvider(tx, agent);
      if (trouble !== undefined) return trouble;
      const program = absentProgram(agent.brain_type, agent.brain_config);
      if (program === undefined) return undefined;
      absent.set(keyOf(agent), agent);
      return { cause: "missing", says: program.missing, until: null };
    },
    modelOf: async (tx, agent) => {
      const provider = providerUsed(agent.brain_type, agent.brain_config);
      if (agent.model !== null || provider === undefined) return agent.model;
      return (await providerOf(tx, agent.company_id, provider))?.defaultModel ?? null;
    },
    failed: async (tx, agent, { cause, says }) => {
      // The provider knows better until when.
      if (cause !== "missing" && (await ofProvider(tx, agent)) !== undefined) return;
      const trouble: Trouble =
        cause === "missing"
          ? { cause, says, until: null }
          : { cause: "waiting", says, until: tx.now + pause };
      troubles.set(keyOf(agent), { agent, trouble });
    },
    lookAgain: async () => {
      const free = new Set<string>();
      for (const [key, { agent, trouble }] of troubles) {
        if (trouble.cause !== "missing") continue;
        const { available } = isInstalled(agent.brain_type)
          ? await probeBrain(agent.brain_type, agent.brain_config)
          : { available: true };
        if (!available) continue;
        troubles.delete(key);
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
