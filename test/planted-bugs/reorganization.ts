import type { Bug } from "./resolve.ts";

/** Bugs that the test of random reorganizations must find. */
export const reorganizationBugs: readonly Bug[] = [
  {
    name: "a boss can report to its own report",
    edits: [
      {
        in: "moveOne",
        find: "if (await isAtOrBelow(call.tx, to.id, agent.id))",
        replace: "if (to.id === agent.id)",
      },
      {
        in: "rehang",
        find: "if (!(await wouldWaitForItself(tx, to.mandate_id, id)))",
        replace: "if (tx.now > 0)",
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
    name: "an agent keeps a right that its new boss does not hold",
    edits: [
      {
        in: "reroot",
        find: "if (source === null) return takeAway(call, grant);",
        replace:
          "if (source === null) return rebase(tx, grant.id, { granted_by: to.id, parent_id: null, structural: 0 });",
      },
    ],
  },
  {
    name: "the rights derived from a right are not recalculated with it",
    edits: [{ in: "recount", find: "frontier.push({ ...counted, id: child.id });", replace: "void child;" }],
  },
  {
    name: "the mandate stays below the old boss's mandate",
    edits: [{ in: "moveReport", find: "await rehang(tx, agent, from, to);", replace: "" }],
  },
  {
    name: "an inserted manager gets no rights to pass on",
    edits: [
      {
        in: "reroot",
        find: "(isMade && (await handOn(call, grant, to)) ? await sourceOn(tx, to, grant) : null)",
        replace: "(isMade ? await sourceOn(tx, to, grant) : null)",
      },
    ],
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
    name: "the root agent can be fired",
    edits: [
      {
        in: "bossOf",
        find: "if (boss === undefined)",
        replace: "if (boss === undefined && agent.boss_id !== null)",
      },
    ],
  },
  {
    name: "the reports of a departed agent stay below it",
    edits: [{ in: "depart", find: "await tx.run(reanchor, { from: agent.id, to: heirId });", replace: "" }],
  },
  {
    name: "a departed agent stays the verifier of outcomes",
    edits: [
      {
        in: "depart",
        find: "await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "the children of an ended mandate have no live parent",
    edits: [{ in: "depart", find: "await rehang(tx, agent, heir, mandateGoesOn);", replace: "" }],
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
    name: "work that returns to the agent that delegated it still counts as delegated",
    edits: [
      {
        in: "depart",
        find: "const isBack = work.delegated === 0 || work.delegated_by === heirId;",
        replace: "const isBack = work.delegated === 0;",
      },
    ],
  },
  {
    name: "a pending hire still belongs to a departed boss",
    edits: [
      {
        in: "depart",
        find: 'if (report.status === "pending_approval") await expectBy(call, report.id, heir);',
        replace: "",
      },
    ],
  },
  {
    name: "the rights that a departed agent granted stay valid",
    edits: [{ in: "depart", find: "await takeAway(call, grant);", replace: "void grant;" }],
  },
  {
    name: "mail passed on from a departed agent opens no inbox",
    edits: [
      { in: "inheritMail", find: "await openInbox(tx, from.company_id, to, newId);", replace: "return;" },
    ],
  },
  {
    name: "a change of owner is not reported",
    edits: [{ in: "roles", find: 'responsible_id: "is the responsibility of",', replace: "" }],
  },
  {
    name: "a budget that became part of another one is not reported",
    edits: [
      {
        in: "fundingMoves",
        find: "if (part === undefined || (isSame && !moved.has(part.agentId))) continue;",
        replace: "if (part !== undefined) continue;",
      },
    ],
  },
  { name: "a plan is carried out", edits: [{ in: "rehearse", find: "throw new Rehearsed();", replace: "" }] },
  {
    name: "undoing overwrites later changes",
    edits: [{ in: "putBack", find: "demandNone(await changedSince(tx, found));", replace: "" }],
  },
  {
    name: "undoing restores rows that no longer fit",
    edits: [{ in: "putBack", find: "demandNone(await unfitting(tx, found));", replace: "" }],
  },
  {
    name: "undoing restores rights without recalculating them",
    edits: [{ in: "putBack", find: 'await recount(tx, textIn(key["id"]));', replace: "" }],
  },
  {
    name: "undoing keeps the agents that the change created",
    edits: [{ in: "putBack", find: 'await endMade(call, textIn(key["id"]), found);', replace: "" }],
  },
  {
    name: "undoing does not update inboxes",
    edits: [
      { in: "putBack", find: "await balanceInbox(tx, call.companyId, agentId, call.newId);", replace: "" },
    ],
  },
  {
    name: "undoing makes revoked keys valid again",
    edits: [{ in: "putBack", find: '.filter(({ table }) => table !== "credentials")', replace: "" }],
  },
  {
    name: "undoing does not restore dependencies",
    edits: [
      {
        in: "imagesAround",
        find: "sql`depends_on_id in (${outcomeIds})`",
        replace: "sql`depends_on_id in ('')`",
      },
    ],
  },
  {
    name: "undoing does not restore parents of outcomes",
    edits: [{ in: "restore", find: "return insertRow(tx, table, before);\n  }", replace: "return;\n  }" }],
  },
];
