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

/** Reorganizations: plan a change of who reports to whom, apply it, undo it. */

const AgentName = text(100).min(1).describe("Id or slug of the agent.");
const AgentNames = z.array(text(100).min(1)).min(1).max(200);

const Newcomer = z
  .strictObject(positionShape)
  .describe("A new agent, as for hire_agent. Needs the right `org:hire`.");
export type Newcomer = z.infer<typeof Newcomer>;

export const Change = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("insert_layer"),
      boss: AgentName.describe("Id or slug of the manager the layer goes below."),
      manager: Newcomer,
      reports: AgentNames.describe("Ids or slugs of the reports that move below the new manager."),
    }),
    z.strictObject({ kind: z.literal("remove_layer"), agent: AgentName, reason: Reason }),
    z.strictObject({
      kind: z.literal("move_report"),
      agent: AgentName,
      to: AgentName.describe("Id or slug of its new manager."),
    }),
    z.strictObject({
      kind: z.literal("split"),
      agent: AgentName,
      into: z
        .array(
          z.strictObject({
            agent: Newcomer,
            reports: z
              .array(text(100).min(1))
              .max(200)
              .optional()
              .describe("Ids or slugs of reports it takes over."),
            outcomes: z
              .array(idOf("outcome"))
              .max(1000)
              .optional()
              .describe("Ids of open outcomes it takes over (UUIDs)."),
          }),
        )
        .min(1)
        .max(20)
        .describe("New agents beside it, and what each of them takes over. The rest stays."),
    }),
    z.strictObject({
      kind: z.literal("merge"),
      agents: AgentNames.describe("Ids or slugs of the agents that leave."),
      into: AgentName.describe(
        "Id or slug of the agent that takes over everything. It has the same manager.",
      ),
      reason: Reason,
    }),
    z.strictObject({
      kind: z.literal("hand_over"),
      agent: AgentName,
      adapterType: AdapterType.describe("The new brain: `human` for a person, or the type of another brain."),
      adapterConfig: Data.optional().describe("Configuration of the new brain. Default: empty."),
    }),
    z.strictObject({ kind: z.literal("fire"), agent: AgentName, reason: Reason }),
    z.strictObject({
      kind: z.literal("shrink"),
      agents: AgentNames.optional().describe("Ids or slugs of the agents that leave. Use this or `to`."),
      to: count(1, 1_000_000)
        .optional()
        .describe(
          "How many agents stay in your part of the organization, you included. Use this or `agents`.",
        ),
      reason: Reason,
    }),
  ])
  .describe(
    "The change. `insert_layer`: a new manager between a manager and some reports. `remove_layer`: an agent leaves, its reports move up. `move_report`, `split`, `merge`, `fire`: as named. `hand_over`: another brain or a person takes the position. `shrink`: several agents leave.",
  );
export type Change = z.infer<typeof Change>;

/** The schema of a change is long, and plan_reorganization shows it to every model that reorganizes. */
const PlannedChange = Change.describe("The same `change` as for plan_reorganization.");
PlannedChange.register(shownInTools, { type: "object" });

export const moveKinds = ["agent", "outcome", "grant", "mail", "budget", "approval"] as const;

export const Move = z.object({
  kind: z.enum(moveKinds),
  id: z.string().describe("Id of what moves. For an agent that does not exist yet, `new:` and its name."),
  what: z.string().describe("The start of a sentence that `to` completes, such as `Ada reports to`."),
  from: z.string().nullable().describe("What completed the sentence before. Null if this is new."),
  to: z.string().nullable().describe("What completes the sentence now. Null if this ends."),
});
export type Move = z.infer<typeof Move>;

/** Reads as a sentence: "Ada reports to Bob (before: Cleo)", "Mail route: Ada ↔ Bob". */
export const moveSentence = ({ what, from, to }: Pick<Move, "what" | "from" | "to">): string => {
  if (to === null) return `No longer: ${what} ${from ?? "no one"}`;
  return from === null ? `${what} ${to}` : `${what} ${to} (before: ${from})`;
};

const Plan = z.object({
  moves: z.array(Move),
  warnings: z.array(z.string()),
  hash: z.string().describe("Hash of this plan. Pass it to apply_reorganization."),
});

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
});
export type Reorganization = z.infer<typeof Reorganization>;

const path = "/api/companies/:companyId/reorganizations";

export const planReorganization = operation("reorganization.plan", `POST ${path}/plan`, {
  summary: "Preview a reorganization without changing anything.",
  guidance:
    'Returns every agent, outcome, right, mail route and budget that would move, warnings, and a `hash`. Always call it before apply_reorganization. You can reorganize only agents below you; the board can change everything. Example: {"change": {"kind": "move_report", "agent": "ada", "to": "kim"}}.',
  input: z.strictObject({ companyId: CompanyId, change: Change }),
  output: Plan,
  effect: "record",
  needs: "member",
  mcp: { server: "org", tool: "plan_reorganization" },
  cli: { command: "reorg plan <change>", example: `'{"kind":"move_report","agent":"ada","to":"kim"}'` },
});

export const applyReorganization = operation("reorganization.apply", `POST ${path}`, {
  summary: "Apply a reorganization in one step.",
  guidance:
    "Call plan_reorganization first and pass the same `change` with its `hash`: then exactly that plan is applied, or nothing if something has changed since. Returns the reorganization with its id and everything that moved; undo_reorganization restores it.",
  input: z.strictObject({
    companyId: CompanyId,
    change: PlannedChange,
    hash: text(64)
      .optional()
      .describe(
        "`hash` of the plan you looked at. The call is refused if the plan would differ now. Default: not checked.",
      ),
  }),
  output: Reorganization,
  needs: "member",
  mcp: { server: "org", tool: "apply_reorganization" },
  cli: { command: "reorg apply <change>", example: `'{"kind":"fire","agent":"ada"}' --hash <hash>` },
});

export const undoReorganization = operation("reorganization.undo", "POST /api/reorganizations/:id/undo", {
  summary: "Undo a reorganization.",
  guidance:
    "Restores everything it moved. Refused as a whole if one of those things has changed since; the refusal names them. Only the board and the agent that applied it can. The id is in the answer of apply_reorganization.",
  input: z.strictObject({ id: idOf("reorganization") }),
  output: Reorganization,
  needs: "member",
  mcp: { server: "org", tool: "undo_reorganization" },
  cli: { command: "reorg undo <id>", example: "<reorganization id>" },
});

export const listReorganizations = operation("reorganization.list", `GET ${path}`, {
  summary: "List reorganizations, newest first. An agent sees those it applied.",
  lists: "reorganization",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ reorganizations: z.array(Summary), nextCursor }),
  needs: "member",
  cli: { command: "reorg list" },
});

export const viewReorganization = operation("reorganization.view", "GET /api/reorganizations/:id", {
  summary: "Show a reorganization and everything it moved.",
  input: z.strictObject({ id: idOf("reorganization") }),
  output: Reorganization,
  needs: "member",
  cli: { command: "reorg view <id>", example: "<reorganization id>" },
});
