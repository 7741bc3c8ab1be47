import type { Bug } from "./resolve.ts";

/** Bugs in departures, reclaims and reorganizations, which the simulator must find. */
export const organizationBugs: readonly Bug[] = [
  {
    name: "undoing a departure makes the agent's keys valid again",
    edits: [{ in: "putBack", find: '.filter(({ table }) => table !== "credentials")', replace: "" }],
  },
  {
    name: "reclaiming does not end the session of a report",
    edits: [
      {
        in: "release",
        find: 'await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "the agent left" });',
        replace: "",
      },
    ],
  },
  {
    name: "reclaiming does not end the rights of a report",
    edits: [{ in: "release", find: "await shiftHolder(tx, agent.id, 1);", replace: "" }],
  },
  {
    name: "reclaiming ignores the reports of reports",
    edits: [
      {
        in: "reclaimAgents",
        find: "for (const below of await reportsOf(tx, id)) frontier.push(below.id);",
        replace: "",
      },
    ],
  },
  {
    name: "reclaiming an outcome does not end the rights scoped to it",
    edits: [{ in: "takeBack", find: "await revokeFor(tx, id, owner.id);", replace: "" }],
  },
  {
    name: "a departure strands outcomes",
    edits: [
      {
        in: "depart",
        find: "await assign(tx, work.id, { responsibleId: heirId, ...(isBack ? back : same) });",
        replace: "",
      },
    ],
  },
  {
    name: "a departure ignores the reports",
    edits: [{ in: "depart", find: "await tx.run(reanchor, { from: agent.id, to: heirId });", replace: "" }],
  },
  {
    name: "the outcomes that a departed agent delegated have no verifier",
    edits: [
      {
        in: "depart",
        find: "await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "a mandate completes while its agent waits for delegated work",
    edits: [
      {
        in: "demandDone",
        find: "agent !== undefined && open.length > 0",
        replace: "agent !== undefined && open.length > 1_000_000",
      },
      {
        in: "demandNoLiveChildren",
        find: "if (live.length === 0) return;",
        replace: "if (live.length >= 0) return;",
      },
    ],
  },
  {
    name: "the old boss keeps the outcomes that it delegated",
    edits: [
      {
        in: "moveReport",
        find: "await tx.run(rerouteOf, { agentId: id, from: from.id, to: to.id, now: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "the rights that the old boss granted stay unchanged",
    edits: [{ in: "moveReport", find: "await reroot(call, grant, to, made.has(to.id));", replace: "" }],
  },
  {
    name: "any agent can reorganize any part of the company",
    edits: [
      {
        in: "named",
        find: "!(await isAtOrBelow(tx, member.id, actor.agentId))",
        replace: "!(await isAtOrBelow(tx, member.id, member.id))",
      },
    ],
  },
  {
    name: "a position keeps its session after it was handed over",
    edits: [
      {
        in: "handOver",
        find: "await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: reasons.handedOver });",
        replace: "",
      },
    ],
  },
  {
    name: "an outcome that depends on an ended mandate waits forever",
    edits: [
      {
        in: "freeDependents",
        find: "await tx.run(deleteDependency, { outcome_id: id, depends_on_id: dependsOnId });",
        replace: "",
      },
    ],
  },
  {
    name: "mail passed on from a departed agent opens no inbox",
    edits: [
      { in: "inheritMail", find: "await openInbox(tx, from.company_id, to, newId);", replace: "return;" },
    ],
  },
  {
    name: "undoing overwrites later changes",
    edits: [
      { in: "putBack", find: "demandNone(await changedSince(tx, found));", replace: "" },
      { in: "putBack", find: "demandNone(await unfitting(tx, found));", replace: "" },
    ],
  },
  {
    name: "undoing keeps the agents that the change created",
    edits: [{ in: "putBack", find: 'await endMade(call, textIn(key["id"]), found);', replace: "" }],
  },
  {
    name: "an agent that an undo brings back has its revoked keys again",
    edits: [{ in: "putBack", find: '.filter(({ table }) => table !== "credentials")', replace: "" }],
  },
];
