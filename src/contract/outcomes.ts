import { z } from "zod";
import { operation } from "./operation.ts";
import { hireShape } from "./hiring.ts";
import { LevelName, ResourceName } from "./resources.ts";
import { AgentRef, CompanyId, Flag, Id, nextCursor, Page, text, Time, Title, whole } from "./words.ts";

export const outcomeKinds = ["perpetual", "mandate", "work", "integration", "inbox"] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];
export const outcomeStatuses = ["open", "submitted", "completed", "closed"] as const;
export type OutcomeStatus = (typeof outcomeStatuses)[number];

const Blocked = z.strictObject({
  reason: text(1000).min(1),
  until: Time.optional().describe("Not before this time."),
  on: Id.optional().describe("Another outcome this one waits for."),
});

const OutcomeRef = z.object({ id: z.string(), title: z.string(), status: z.enum(outcomeStatuses) });

const OutcomeSummary = OutcomeRef.extend({
  kind: z.enum(outcomeKinds),
  urgent: z.boolean(),
  important: z.boolean(),
  responsible: AgentRef.nullable(),
  delegated: z.boolean().describe("It was handed down; whoever handed it down verifies it."),
  blocked: z
    .object({ reason: z.string(), until: z.string().nullable(), on: z.string().nullable() })
    .nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type OutcomeSummary = z.infer<typeof OutcomeSummary>;

export const Outcome = OutcomeSummary.extend({
  description: z.string(),
  acceptance: z.string().nullable(),
  rationale: z.string().nullable(),
  delegatedBy: AgentRef.nullable(),
  parents: z.array(OutcomeRef),
  children: z.array(OutcomeRef),
  dependsOn: z.array(OutcomeRef),
  result: z.string().nullable().describe("The knowledge file with what came out of it."),
  workable: z.boolean().describe("Its responsible agent could work on it now."),
});
export type Outcome = z.infer<typeof Outcome>;

const HistoryEntry = z.object({
  seq: z.number(),
  at: z.string(),
  action: z.string(),
  by: z.object({
    kind: z.enum(["board", "agent", "system"]),
    agentId: z.string().nullable(),
    sessionId: z.string().nullable(),
  }),
  why: z.string().nullable(),
});

const Ids = z.array(Id).max(100);
const Acceptance = text(20_000);
const Description = text(100_000);
const Note = text(10_000);
/** As long as what a session may print last. */
const Result = text(70_000);

export const createOutcome = operation({
  name: "outcome.create",
  summary: "Create an outcome below outcomes you are responsible for.",
  input: z.strictObject({
    companyId: CompanyId,
    title: Title,
    description: Description.optional(),
    parents: Ids.min(1).describe("Why: the outcomes this one is a means to."),
    acceptance: Acceptance.optional().describe("How whoever verifies it will judge; travels verbatim."),
    dependsOn: Ids.optional().describe("Outcomes that must be completed first."),
    urgent: Flag.optional(),
    important: Flag.optional(),
  }),
  output: Outcome,
  effect: "write",
  within: "company",
  needs: ({ parents, dependsOn }) => [
    ...parents.map((id) => ({ on: `outcome:${id}`, level: "drive" }) as const),
    ...(dependsOn ?? []).map((id) => ({ on: `outcome:${id}`, level: "read" }) as const),
  ],
  http: { method: "POST", path: "/api/companies/:companyId/outcomes" },
  mcp: { server: "outcome", tool: "create_outcome" },
  cli: { command: "outcomes create", args: ["title"] },
});

export const viewOutcome = operation({
  name: "outcome.view",
  summary: "An outcome with its parents, children, responsible agent and history.",
  input: z.strictObject({ id: Id }),
  output: Outcome.extend({
    depth: z.number().describe("How many times the work was handed on to get here."),
    context: z
      .array(
        z.object({
          id: z.string(),
          title: z.string(),
          file: z.string(),
          text: z.string(),
          truncated: z.boolean().describe("There is more in the file."),
        }),
      )
      .describe("The results of what it depends on, 8 kB at most; the rest is in the files."),
    history: z.array(HistoryEntry),
  }),
  effect: "read",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/outcomes/:id" },
  mcp: { server: "outcome", tool: "view_outcome" },
  cli: { command: "outcomes view", args: ["id"] },
});

export const viewAncestors = operation({
  name: "outcome.ancestors",
  summary: "Every chain of whys from an outcome up to the root.",
  input: z.strictObject({ id: Id }),
  output: z.object({
    id: z.string(),
    ancestors: z.array(OutcomeRef.extend({ description: z.string() })),
    chains: z.array(z.array(z.string())).describe("Each from the direct parent up to a root."),
    truncated: z.boolean().describe("There are more chains than were listed."),
  }),
  effect: "read",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/outcomes/:id/ancestors" },
  mcp: { server: "outcome", tool: "view_ancestors" },
  cli: { command: "outcomes ancestors", args: ["id"] },
});

export const viewSubtree = operation({
  name: "outcome.subtree",
  summary: "An outcome and all below it that you may read.",
  input: z.strictObject({ id: Id, limit: whole(1, 10_000).optional() }),
  output: z.object({
    id: z.string(),
    outcomes: z.array(OutcomeSummary.extend({ parents: z.array(z.string()) })),
    truncated: z.boolean(),
  }),
  effect: "read",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/outcomes/:id/subtree" },
  mcp: { server: "outcome", tool: "view_subtree" },
  cli: { command: "outcomes subtree", args: ["id"] },
});

const listOutput = z.object({
  outcomes: z.array(OutcomeSummary.extend({ workable: z.boolean() })),
  nextCursor,
});

export const myOutcomes = operation({
  name: "outcome.mine",
  summary: "The outcomes you are responsible for, in the order to work on them: urgent and important first.",
  input: z.strictObject({ status: z.enum(outcomeStatuses).optional(), ...Page }),
  output: listOutput,
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/outcomes" },
  mcp: { server: "outcome", tool: "my_outcomes" },
});

export const listOutcomes = operation({
  name: "outcome.list",
  summary: "The outcomes of the company, newest first.",
  input: z.strictObject({ companyId: CompanyId, status: z.enum(outcomeStatuses).optional(), ...Page }),
  output: listOutput,
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/outcomes" },
  cli: { command: "outcomes list" },
});

export const listAgentOutcomes = operation({
  name: "outcome.of_agent",
  summary: "The outcomes an agent is responsible for.",
  input: z.strictObject({ id: Id, status: z.enum(outcomeStatuses).optional(), ...Page }),
  output: listOutput,
  effect: "read",
  within: { agent: "id" },
  needs: "board",
  http: { method: "GET", path: "/api/agents/:id/outcomes" },
  cli: { command: "agents outcomes", args: ["id"] },
});

export const updateOutcome = operation({
  name: "outcome.update",
  summary: "Change an outcome, or say what blocks it (blocked: null when nothing does any more).",
  input: z.strictObject({
    id: Id,
    title: Title.optional(),
    description: Description.optional(),
    acceptance: Acceptance.nullable().optional(),
    parents: Ids.min(1).optional(),
    dependsOn: Ids.optional(),
    urgent: Flag.optional(),
    important: Flag.optional(),
    blocked: Blocked.nullable().optional(),
  }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id, parents, dependsOn, blocked, ...rest }) => [
    // Saying what blocks the work is part of doing it; changing what the work is needs write.
    {
      on: `outcome:${id}`,
      level:
        parents === undefined &&
        dependsOn === undefined &&
        Object.values(rest).every((value) => value === undefined)
          ? ["write", "drive"]
          : "write",
    } as const,
    ...(parents ?? []).map((parent) => ({ on: `outcome:${parent}`, level: "drive" }) as const),
    ...[...(dependsOn ?? []), ...(blocked?.on === undefined ? [] : [blocked.on])].map(
      (other) => ({ on: `outcome:${other}`, level: "read" }) as const,
    ),
  ],
  http: { method: "PATCH", path: "/api/outcomes/:id" },
  mcp: { server: "outcome", tool: "update_outcome" },
  cli: { command: "outcomes update", args: ["id"] },
});

export const submitOutcome = operation({
  name: "outcome.submit",
  summary: "Say that an outcome is accomplished and ask whoever delegated it to verify.",
  input: z.strictObject({
    id: Id,
    note: Result.optional().describe("What came out of it; kept as its result, for whoever builds on it."),
  }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "drive" }],
  http: { method: "POST", path: "/api/outcomes/:id/submit" },
  mcp: { server: "outcome", tool: "submit_outcome" },
  cli: { command: "outcomes submit", args: ["id"] },
});

export const completeOutcome = operation({
  name: "outcome.complete",
  summary: "Mark an outcome as accomplished. Every right granted for it ends.",
  input: z.strictObject({
    id: Id,
    note: Result.optional().describe(
      "Of your own outcome: what came out of it. Of a report's: your verdict.",
    ),
  }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  http: { method: "POST", path: "/api/outcomes/:id/complete" },
  mcp: { server: "outcome", tool: "complete_outcome" },
  cli: { command: "outcomes complete", args: ["id"] },
});

export const closeOutcome = operation({
  name: "outcome.close",
  summary: "Close an outcome as disproven or abandoned, with the rationale. Every right granted for it ends.",
  input: z.strictObject({ id: Id, rationale: Note.min(1) }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  http: { method: "POST", path: "/api/outcomes/:id/close" },
  mcp: { server: "outcome", tool: "close_outcome" },
  cli: { command: "outcomes close", args: ["id", "rationale"] },
});

export const reopenOutcome = operation({
  name: "outcome.reopen",
  summary: "Reopen a submitted, completed or closed outcome, with the reason.",
  input: z.strictObject({ id: Id, reason: Note.min(1) }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  http: { method: "POST", path: "/api/outcomes/:id/reopen" },
  mcp: { server: "outcome", tool: "reopen_outcome" },
  cli: { command: "outcomes reopen", args: ["id", "reason"] },
});

export const delegateOutcome = operation({
  name: "outcome.delegate",
  summary: "Hand an outcome and all below it to a direct report, with the rights it needs for it.",
  input: z.strictObject({
    id: Id,
    to: text(100).min(1).optional().describe("A direct report: its id, slug or role."),
    hire: z
      .strictObject(hireShape)
      .optional()
      .describe("Or a new agent, made for this outcome; needs org:hire."),
    message: text(20_000).min(1).optional().describe("What to tell the new owner."),
    grants: z
      .array(z.strictObject({ resource: ResourceName, level: LevelName.optional() }))
      .max(50)
      .optional(),
  }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "drive" }],
  http: { method: "POST", path: "/api/outcomes/:id/delegate" },
  mcp: { server: "outcome", tool: "delegate_outcome" },
  cli: { command: "outcomes delegate", args: ["id", "to"] },
});

export const reclaimOutcome = operation({
  name: "outcome.reclaim",
  summary: "Take an outcome you delegated back, with everything below it.",
  input: z.strictObject({ id: Id, reason: Note.min(1) }),
  output: Outcome,
  effect: "write",
  within: { outcome: "id" },
  needs: ({ id }) => [{ on: `outcome:${id}`, level: "write" }],
  http: { method: "POST", path: "/api/outcomes/:id/reclaim" },
  mcp: { server: "outcome", tool: "reclaim_outcome" },
  cli: { command: "outcomes reclaim", args: ["id", "reason"] },
});
