import { z } from "zod";
import { operation } from "./operation.ts";
import { hireGrants, hireShape } from "./hiring.ts";
import { AgentRef, CompanyId, Id, nextCursor, Page, text } from "./words.ts";

/** Changing who reports to whom: what would move, moving it, and moving it back. */

const Whom = text(100).min(1).describe("An agent: its id or slug.");
const Whoms = z.array(Whom).min(1).max(200);

const Newcomer = z
  .strictObject({
    ...hireShape,
    mandate: text(20_000).optional().describe("What it is for; becomes its standing outcome."),
    grants: hireGrants,
  })
  .describe("A new agent, as in a hire.");
export type Newcomer = z.infer<typeof Newcomer>;

const Reason = text(2000).min(1).optional();

export const Change = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("insert_layer"),
      boss: Whom,
      manager: Newcomer,
      reports: Whoms.describe("Those of the boss's reports that will report to the manager."),
    }),
    z.strictObject({ kind: z.literal("remove_layer"), agent: Whom, reason: Reason }),
    z.strictObject({ kind: z.literal("move_report"), agent: Whom, to: Whom }),
    z.strictObject({
      kind: z.literal("split"),
      agent: Whom,
      into: z
        .array(
          z.strictObject({
            agent: Newcomer,
            reports: z.array(Whom).max(200).optional(),
            outcomes: z.array(Id).max(1000).optional().describe("Live outcomes it takes over."),
          }),
        )
        .min(1)
        .max(20)
        .describe("New agents beside it, and what each takes; the rest stays."),
    }),
    z.strictObject({
      kind: z.literal("merge"),
      agents: Whoms.describe("These leave."),
      into: Whom.describe("Takes over all they have; of the same boss."),
      reason: Reason,
    }),
    z.strictObject({
      kind: z.literal("hand_over"),
      agent: Whom,
      adapterType: z
        .string()
        .regex(/^[a-z0-9_]{1,60}$/)
        .describe("human: a person; or another brain."),
      adapterConfig: z.record(z.string(), z.unknown()).optional(),
    }),
    z.strictObject({ kind: z.literal("fire"), agent: Whom, reason: Reason }),
    z.strictObject({
      kind: z.literal("shrink"),
      agents: Whoms.optional().describe("Who leaves; or say how many stay."),
      to: z
        .number()
        .int()
        .min(1)
        .max(1_000_000)
        .optional()
        .describe("How many agents stay in your part of the organization, its head among them."),
      reason: Reason,
    }),
  ])
  .describe("What is to change.");
export type Change = z.infer<typeof Change>;

export const moveKinds = ["agent", "outcome", "grant", "mail", "budget", "approval"] as const;

export const Move = z.object({
  kind: z.enum(moveKinds),
  id: z.string().describe("What moves; for an agent that is not made yet, new: and its name."),
  what: z.string(),
  from: z.string().nullable(),
  to: z.string().nullable(),
});
export type Move = z.infer<typeof Move>;

const Plan = z.object({
  moves: z.array(Move),
  warnings: z.array(z.string()),
  hash: z.string().describe("Stands for exactly this plan: pass it to apply."),
});

export const reorganizationStatuses = ["applied", "undone"] as const;

const Summary = z.object({
  id: z.string(),
  kind: z.string(),
  summary: z.string(),
  status: z.enum(reorganizationStatuses),
  appliedBy: AgentRef.nullable().describe("Null: the board."),
  appliedAt: z.string(),
  undoneAt: z.string().nullable(),
});

export const Reorganization = Summary.extend({
  change: z.record(z.string(), z.unknown()),
  ...Plan.shape,
});
export type Reorganization = z.infer<typeof Reorganization>;

const path = "/api/companies/:companyId/reorganizations";

export const planReorganization = operation({
  name: "reorganization.plan",
  summary:
    "What a change of the reporting lines would move: agents, outcomes, rights, mail routes, budgets. Nothing changes.",
  input: z.strictObject({ companyId: CompanyId, change: Change }),
  output: Plan,
  effect: "record",
  within: "company",
  needs: "member",
  http: { method: "POST", path: `${path}/plan` },
  mcp: { server: "org", tool: "plan_reorganization" },
  cli: { command: "reorg plan", args: ["change"] },
});

export const applyReorganization = operation({
  name: "reorganization.apply",
  summary:
    "Change the reporting lines, all at once: insert or remove a layer, move a report, split, merge, hand a position over, let agents go. The board anywhere, a boss below itself.",
  input: z.strictObject({
    companyId: CompanyId,
    change: Change,
    hash: text(64)
      .optional()
      .describe("The plan's hash: if anything would now move differently, nothing does."),
  }),
  output: Reorganization,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path },
  mcp: { server: "org", tool: "apply_reorganization" },
  cli: { command: "reorg apply", args: ["change"] },
});

export const undoReorganization = operation({
  name: "reorganization.undo",
  summary:
    "Put everything back that a reorganization moved, if nothing of it has changed since. The board, or who applied it.",
  input: z.strictObject({ id: Id }),
  output: Reorganization,
  effect: "write",
  within: { reorganization: "id" },
  needs: "member",
  http: { method: "POST", path: "/api/reorganizations/:id/undo" },
  mcp: { server: "org", tool: "undo_reorganization" },
  cli: { command: "reorg undo", args: ["id"] },
});

export const listReorganizations = operation({
  name: "reorganization.list",
  summary: "Reorganizations, newest first: of the company for the board, of its own for an agent.",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ reorganizations: z.array(Summary), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path },
  cli: { command: "reorg list" },
});

export const viewReorganization = operation({
  name: "reorganization.view",
  summary: "One reorganization with everything it moved.",
  input: z.strictObject({ id: Id }),
  output: Reorganization,
  effect: "read",
  within: { reorganization: "id" },
  needs: "member",
  http: { method: "GET", path: "/api/reorganizations/:id" },
  cli: { command: "reorg view", args: ["id"] },
});
