import { z } from "zod";
import { operation } from "./operation.ts";
import { positionShape } from "./hiring.ts";
import {
  AdapterType,
  AgentRef,
  CompanyId,
  count,
  Data,
  idOf,
  nextCursor,
  Page,
  Reason,
  shownInTools,
  text,
} from "./words.ts";

/** Reorganizations: plan a change of the reporting lines, apply it, undo it. */

const AgentName = text(100).min(1);
const AgentNames = z.array(text(100).min(1)).min(1).max(200);

const Newcomer = z
  .strictObject(positionShape)
  .describe("A new agent, with the arguments of hire_agent. This needs the right `org:hire`.");
export type Newcomer = z.infer<typeof Newcomer>;

export const Change = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("insert_layer"),
      boss: AgentName.describe("The manager above the new one."),
      manager: Newcomer,
      reports: AgentNames.describe("Reports that move below the new manager."),
    }),
    z.strictObject({
      kind: z.literal("remove_layer"),
      agent: AgentName.describe("The manager that leaves."),
      reason: Reason,
    }),
    z.strictObject({
      kind: z.literal("move_report"),
      agent: AgentName.describe("The agent that moves."),
      to: AgentName.describe("Its new manager."),
    }),
    z.strictObject({
      kind: z.literal("split"),
      agent: AgentName.describe("The agent to relieve."),
      into: z
        .array(
          z.strictObject({
            agent: Newcomer,
            reports: z.array(text(100).min(1)).max(200).optional().describe("Reports it takes over."),
            outcomes: z
              .array(idOf("outcome"))
              .max(1000)
              .optional()
              .describe("UUIDs of open outcomes it takes over."),
          }),
        )
        .min(1)
        .max(20)
        .describe("New agents beside it, and the reports and outcomes that each takes over."),
    }),
    z.strictObject({
      kind: z.literal("merge"),
      agents: AgentNames.describe("The agents that leave."),
      into: AgentName.describe("The agent that takes over, with the same manager."),
      reason: Reason,
    }),
    z.strictObject({
      kind: z.literal("hand_over"),
      agent: AgentName.describe("The agent whose position gets a new brain or a person."),
      adapterType: AdapterType.describe("`human` for a person, or another type of brain."),
      adapterConfig: Data.optional().describe("Configuration of the new brain."),
    }),
    z.strictObject({
      kind: z.literal("fire"),
      agent: AgentName.describe("The agent that leaves."),
      reason: Reason,
    }),
    z.strictObject({
      kind: z.literal("shrink"),
      agents: AgentNames.optional().describe("The agents that leave. Give this or `to`."),
      to: count(1, 1_000_000)
        .optional()
        .describe("Number of agents that stay, you included. Give this or `agents`."),
      reason: Reason,
    }),
  ])
  .describe(
    "The change. Agents are given by UUID or slug. `remove_layer`: an agent leaves, its reports move up. `hand_over`: another brain or a person takes the position.",
  )
  // As JSON Schema, this would cost as many tokens as ten other tools.
  .register(shownInTools, {
    type: "object",
    description:
      "`kind` and its arguments; agents by UUID or slug. `move_report`: agent, to. `fire`: agent. `remove_layer`: agent, whose reports move up. `insert_layer`: boss, reports, manager (new). `split`: agent, into (a list of {agent (new), reports, outcomes}). `merge`: agents, into. `shrink`: agents. `hand_over`: agent, adapterType (`human` for a person). New agents as for hire_agent.",
  });
export type Change = z.infer<typeof Change>;

/** The schema of a change is long, and plan_reorganization shows it to every model that reorganizes. */
const sameChange = "The same `change` as for plan_reorganization.";
const PlannedChange = Change.describe(sameChange).register(shownInTools, {
  type: "object",
  description: sameChange,
});

export const moveKinds = ["agent", "outcome", "grant", "mail", "budget", "approval"] as const;

export const Move = z.object({
  kind: z.enum(moveKinds),
  id: z
    .string()
    .describe("Id of the thing that moves. For an agent that does not exist yet, `new:` and its name."),
  what: z.string().describe("The start of a sentence that `to` completes, such as `Ada reports to`."),
  from: z.string().nullable().describe("The words that completed the sentence before. Null if this is new."),
  to: z.string().nullable().describe("The words that complete the sentence now. Null if this ends."),
});
export type Move = z.infer<typeof Move>;

/** Reads as a sentence: "Ada reports to Bob (before: Cleo)", "Mail route: Ada ↔ Bob". */
export const moveSentence = ({ what, from, to }: Pick<Move, "what" | "from" | "to">): string => {
  if (to === null) return `No longer: ${what} ${from ?? "no one"}`;
  return from === null ? `${what} ${to}` : `${what} ${to} (before: ${from})`;
};

const Plan = z.object({
  moves: z.array(Move),
  totals: z.record(z.enum(moveKinds), z.number()).describe("Number of moves of each kind."),
  warnings: z.array(z.string()),
  hash: z.string().describe("Hash of this plan. Pass it to apply_reorganization."),
});

const PlaceAfter = z.object({
  id: z.string().describe("For an agent that does not exist yet, `new:` and its name."),
  name: z.string(),
  role: z.string(),
  boss: z.string().nullable().describe("Id of its manager. Null: the board."),
  changes: z.boolean().describe("True if the agent is new or gets another manager, status or brain."),
});
export type PlaceAfter = z.infer<typeof PlaceAfter>;

const Undoable = z.object({
  possible: z.boolean(),
  reason: z.string().nullable().describe("Why it can't be undone now. Null if it can."),
});
export type Undoable = z.infer<typeof Undoable>;

export const reorganizationStatuses = ["applied", "undone"] as const;

const Summary = z.object({
  id: z.string(),
  kind: z.string(),
  summary: z.string(),
  status: z.enum(reorganizationStatuses),
  appliedBy: AgentRef.nullable().describe("Null for the board."),
  appliedAt: z.string(),
  undoneAt: z.string().nullable(),
});

export const Reorganization = Summary.extend({
  change: Data,
  ...Plan.shape,
  undoable: Undoable.describe("Whether undo_reorganization would succeed now."),
});
export type Reorganization = z.infer<typeof Reorganization>;

const path = "/api/companies/:companyId/reorganizations";

export const planReorganization = operation("reorganization.plan", `POST ${path}/plan`, {
  summary: "Preview a reorganization without changing anything.",
  guidance:
    'You can move agents below you. Returns what would move, warnings, and a `hash` for apply_reorganization. Example: {"change": {"kind": "move_report", "agent": "ada", "to": "kim"}}.',
  input: z.strictObject({ companyId: CompanyId, change: Change }),
  output: Plan.extend({
    after: z
      .array(PlaceAfter)
      .describe(
        "The organization afterwards, around what changes: those agents, their managers up to the root, and the reports of the managers that gain or lose one.",
      ),
  }),
  effect: "record",
  needs: "member",
  mcp: { server: "org", tool: "plan_reorganization", for: ["manager"] },
  cli: { command: "reorg plan <change>", example: `'{"kind":"move_report","agent":"ada","to":"kim"}'` },
});

export const applyReorganization = operation("reorganization.apply", `POST ${path}`, {
  summary: "Apply a reorganization in one step.",
  guidance:
    "Use plan_reorganization first and pass its `hash`. Then exactly that plan is applied, or nothing.",
  input: z.strictObject({
    companyId: CompanyId,
    change: PlannedChange,
    hash: text(64)
      .optional()
      .describe(
        "`hash` of the plan you looked at. Default: the change is applied without a check of the plan.",
      ),
  }),
  output: Reorganization,
  needs: "member",
  mcp: { server: "org", tool: "apply_reorganization", for: ["manager"] },
  cli: { command: "reorg apply <change>", example: `'{"kind":"fire","agent":"ada"}' --hash <hash>` },
});

export const undoReorganization = operation("reorganization.undo", "POST /api/reorganizations/:id/undo", {
  summary: "Undo a reorganization.",
  guidance:
    "Everything that the reorganization moved is restored. The call is refused if one of these things has changed since.",
  input: z.strictObject({ id: idOf("reorganization") }),
  output: Reorganization,
  needs: "member",
  mcp: { server: "org", tool: "undo_reorganization", for: ["manager"] },
  cli: { command: "reorg undo <id>", example: "<reorganization id>" },
});

export const listReorganizations = operation("reorganization.list", `GET ${path}`, {
  summary: "List reorganizations, newest first. An agent sees those that it applied.",
  lists: "reorganization",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ reorganizations: z.array(Summary), nextCursor }),
  needs: "member",
  cli: { command: "reorg list" },
});

export const viewReorganization = operation("reorganization.view", "GET /api/reorganizations/:id", {
  summary: "Show a reorganization, everything it moved, and whether it can still be undone.",
  input: z.strictObject({ id: idOf("reorganization") }),
  output: Reorganization,
  // The call tries to undo, and rolls back.
  effect: "record",
  needs: "member",
  cli: { command: "reorg view <id>", example: "<reorganization id>" },
});
