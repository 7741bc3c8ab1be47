import type { Bug } from "./resolve.ts";

/** Bugs in decisions about work, in goals, and in notices to owners, which the simulator must find. */
export const decisionBugs: readonly Bug[] = [
  {
    name: "any agent that sees an outcome can decide about it",
    edits: [
      {
        in: "decideWork",
        find: "actor.agentId !== null && decider !== actor.agentId",
        replace: 'actor.agentId === "" && decider !== actor.agentId',
      },
    ],
  },
  {
    name: "work that was not submitted can be decided",
    edits: [
      {
        in: "decideWork",
        find: 'outcome.status !== "submitted" && !wasEscalated',
        replace: 'outcome.status !== "submitted" && outcome.status !== "open"',
      },
    ],
  },
  {
    name: "escalated work is decided by its reviewer",
    edits: [
      {
        in: "levelsAbove",
        find: "isEscalated(outcome) ? outcome.reworks - mostReworks + 1 : 0",
        replace: "isEscalated(outcome) ? outcome.reworks - mostReworks : 0",
      },
    ],
  },
  {
    name: "a reviewer sends the same work back without end",
    edits: [{ in: "escalation", find: "outcome.reworks < 1", replace: "outcome.reworks < 1_000_000" }],
  },
  {
    name: "an escalation reaches no one",
    edits: [
      {
        in: "sendBack",
        find: "if (escalated !== null) await askDecider(call, saved, escalated, reason);",
        replace: "void askDecider;",
      },
    ],
  },
  {
    name: "the root agent accepts its own goal",
    edits: [
      {
        in: "decideWork",
        find: "actor.agentId !== null && decider !== actor.agentId",
        replace: "actor.agentId !== null && (decider ?? outcome.responsible_id) !== actor.agentId",
      },
    ],
  },
  {
    name: "the board does not verify a goal",
    edits: [{ in: "onCreate", find: "delegated: 1,", replace: "delegated: 0," }],
  },
  {
    name: "a decision to close work leaves it open",
    edits: [
      {
        in: "carryOut",
        find: 'if (verdict === "close") return closeSubtree(call, submitted, note ?? "");',
        replace:
          'if (verdict === "close") return sendBack(call, submitted, note ?? "");\n  void closeSubtree;',
      },
    ],
  },
  {
    name: "an owner is not told what others did with its outcome",
    edits: [
      {
        in: "tellOwner",
        find: "if (to === null || to === actor.agentId) return;",
        replace: 'if (to !== "") return;',
      },
    ],
  },
  {
    name: "a session whose outcome was closed is not asked to stop",
    edits: [{ in: "tellOwners", find: "await stopOwners(call, ended);", replace: "void stopOwners;" }],
  },
  {
    name: "a session that was asked to stop continues",
    edits: [{ in: "dueNow", find: 'overdue: due("overdue"),', replace: "overdue: []," }],
  },
];
