// The places where a reorganization can name an agent, and the kinds of change that use each place. The test of pending
// agents demands that a pending agent is refused in each of them.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { Change } from "../src/contract/reorganization.ts";

/** Takes a name, and a change that the boss of the named agent may make to two of its other reports. */
type Naming = (value: string, base: unknown) => Change;

const newcomer = () => ({ name: `New ${randomUUID().slice(0, 8)}`, role: "worker" });
const Base = z.object({ agent: z.string(), to: z.string() });
const one = (base: unknown): string => Base.parse(base).agent;
const another = (base: unknown): string => Base.parse(base).to;
const insert = (of: { boss: string; reports: string[]; grants?: unknown }): Change => {
  const { boss, reports, grants } = of;
  return Change.parse({ kind: "insert_layer", boss, reports, manager: { ...newcomer(), grants } });
};

export const changesNaming: Readonly<Record<string, Readonly<Record<string, Naming>>>> = {
  "change.agent": {
    move_report: (agent, base) => ({ kind: "move_report", agent, to: another(base) }),
    remove_layer: (agent) => ({ kind: "remove_layer", agent }),
    split: (agent) => ({ kind: "split", agent, into: [{ agent: newcomer() }] }),
    hand_over: (agent) => ({ kind: "hand_over", agent, adapterType: "human" }),
    fire: (agent) => ({ kind: "fire", agent }),
  },
  "change.to": { move_report: (to, base) => ({ kind: "move_report", agent: one(base), to }) },
  "change.boss": { insert_layer: (boss, base) => insert({ boss, reports: [one(base)] }) },
  "change.reports[]": { insert_layer: (report) => insert({ boss: "chief", reports: [report] }) },
  "change.manager.grants[].resource": {
    insert_layer: (resource, base) => insert({ boss: "chief", reports: [one(base)], grants: [{ resource }] }),
  },
  "change.into[].agent.grants[].resource": {
    split: (resource, base) =>
      Change.parse({
        kind: "split",
        agent: one(base),
        into: [{ agent: { ...newcomer(), grants: [{ resource }] } }],
      }),
  },
  "change.into[].reports[]": {
    split: (report) => ({ kind: "split", agent: "chief", into: [{ agent: newcomer(), reports: [report] }] }),
  },
  "change.into[].outcomes[]": {
    split: (outcome) => ({
      kind: "split",
      agent: "chief",
      into: [{ agent: newcomer(), outcomes: [outcome] }],
    }),
  },
  "change.agents[]": {
    merge: (agent, base) => ({ kind: "merge", agents: [agent], into: one(base) }),
    shrink: (agent) => ({ kind: "shrink", agents: [agent] }),
  },
  "change.into": { merge: (into, base) => ({ kind: "merge", agents: [one(base)], into }) },
};
