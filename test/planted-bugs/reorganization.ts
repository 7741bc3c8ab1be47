import type { Bug } from "./resolve.ts";

/** Bugs that the test of random reorganizations must find. */
export const reorganizationBugs: readonly Bug[] = [
  {
    name: "a boss reports to its own report",
    edits: [
      {
        in: "moveOne",
        find: "if (await isAtOrBelow(call, to, agent.id))",
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
    name: "what the old boss handed down stays with it",
    edits: [
      {
        in: "moveReport",
        find: "await tx.run(rerouteOf, { agentId: id, from: from.id, to: to.id, now: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "rights stay as the old boss gave them",
    edits: [{ in: "moveReport", find: "await reroot(call, grant, to, made.has(to.id));", replace: "" }],
  },
  {
    name: "a right is kept though the new boss does not hold it",
    edits: [
      {
        in: "reroot",
        find: "if (source === null) return takeAway(call, grant);",
        replace:
          "if (source === null) return rebase(tx, grant.id, { giverId: to.id, parentId: null, structural: 0 });",
      },
    ],
  },
  {
    name: "what was handed on from a right is not counted again",
    edits: [{ in: "recount", find: "frontier.push({ ...counted, id: child.id });", replace: "void child;" }],
  },
  {
    name: "the mandate stays below the old boss's",
    edits: [{ in: "moveReport", find: "await rehang(tx, agent, from, to);", replace: "" }],
  },
  {
    name: "an inserted manager gets nothing to hand on",
    edits: [
      {
        in: "reroot",
        find: "(isMade && (await handOn(call, grant, to)) ? await sourceOn(tx, to, grant) : null)",
        replace: "(isMade ? await sourceOn(tx, to, grant) : null)",
      },
    ],
  },
  {
    name: "any agent reorganizes anywhere",
    edits: [
      {
        in: "named",
        find: "!(await isAtOrBelow(call, member, actor.agentId))",
        replace: "!(await isAtOrBelow(call, member, member.id))",
      },
    ],
  },
  {
    name: "the root can be let go",
    edits: [
      {
        in: "bossOf",
        find: "if (boss === undefined)",
        replace: "if (boss === undefined && agent.boss_id !== null)",
      },
    ],
  },
  {
    name: "reports stay below who left",
    edits: [{ in: "depart", find: "await tx.run(reanchor, { from: agent.id, to: heirId });", replace: "" }],
  },
  {
    name: "reviews stay with who left",
    edits: [
      {
        in: "depart",
        find: "await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "what hung below the mandate hangs in the air",
    edits: [{ in: "depart", find: "await rehang(tx, agent, heir, mandateGoesOn);", replace: "" }],
  },
  {
    name: "who depended on a mandate waits for ever",
    edits: [
      {
        in: "freeDependents",
        find: "await tx.run(deleteDependency, { outcomeId: id, dependsOnId });",
        replace: "",
      },
    ],
  },
  {
    name: "what was handed to who left is handed to no one's report",
    edits: [
      {
        in: "depart",
        find: "const isBack = work.delegated === 0 || work.delegated_by === heirId;",
        replace: "const isBack = work.delegated === 0;",
      },
    ],
  },
  {
    name: "a hire that waits is still the boss's who left",
    edits: [
      {
        in: "depart",
        find: 'if (report.status === "pending_approval") await expectBy(call, report.id, heir);',
        replace: "",
      },
    ],
  },
  {
    name: "the rights that who left gave stand",
    edits: [{ in: "depart", find: "await markRevoked(tx, grant.id);", replace: "" }],
  },
  {
    name: "mail that waited opens no inbox",
    edits: [
      { in: "inheritMail", find: "await openInbox(tx, from.company_id, to, newId);", replace: "return;" },
    ],
  },
  {
    name: "a change of owner is not told",
    edits: [{ in: "Telling", find: 'if ("responsible_id" in after)', replace: 'if ("nothing" in after)' }],
  },
  {
    name: "a budget that hangs elsewhere is not told",
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
    name: "what has changed since is overwritten",
    edits: [{ in: "putBack", find: "demandNone(await changedSince(tx, found));", replace: "" }],
  },
  {
    name: "what does not fit any more is put back",
    edits: [{ in: "putBack", find: "demandNone(await unfitting(tx, found));", replace: "" }],
  },
  {
    name: "rights are put back without counting",
    edits: [{ in: "putBack", find: 'await recount(tx, textIn(key["id"]));', replace: "" }],
  },
  {
    name: "newcomers stay",
    edits: [{ in: "putBack", find: 'await endMade(call, textIn(key["id"]), found);', replace: "" }],
  },
  {
    name: "inboxes are not balanced",
    edits: [
      { in: "putBack", find: "await balanceInbox(tx, call.companyId, agentId, call.newId);", replace: "" },
    ],
  },
  {
    name: "keys stay revoked",
    edits: [{ in: "imagesAround", find: "and kind = 'key'", replace: "and kind = 'none'" }],
  },
  {
    name: "dependencies are not put back",
    edits: [
      {
        in: "imagesAround",
        find: "where depends_on_id in (${outcomeIds})",
        replace: "where depends_on_id in ('')",
      },
    ],
  },
  {
    name: "edges are not put back",
    edits: [{ in: "restore", find: "return insertRow(tx, table, before);\n  }", replace: "return;\n  }" }],
  },
];
