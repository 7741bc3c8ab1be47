import type { Bug } from "./resolve.ts";

interface SimulatorBug extends Bug {
  /** Plays without faults. The scheduler then runs without its sweep, which would hide the bug. */
  readonly calm?: true;
}

/** Bugs that the simulator must find. Most of them happened in comparable systems. */
export const simulatorBugs: readonly SimulatorBug[] = [
  {
    name: "one agent has two processes",
    edits: [
      {
        in: "readinessOf",
        find: 'if ((await tx.first(liveOf, { agent_id: agentId })) !== undefined) return no("busy");',
        replace: "",
      },
    ],
  },
  {
    name: "the end of an old session ends the agent's new session",
    edits: [
      {
        in: "endSession",
        find: "if (session === undefined || session.settled === 1) return false;",
        replace:
          'if (session === undefined) return false;\n      if (session.settled === 1) {\n        await tx.run(endLive, { agent_id: session.agent_id, ended_at: tx.now, end_reason: "done" });\n        return false;\n      }',
      },
    ],
  },
  {
    name: "the end of a session is settled twice",
    edits: [
      {
        in: "endSession",
        find: "if (session === undefined || session.settled === 1) return false;",
        replace: "if (session === undefined) return false;",
      },
    ],
  },
  {
    name: "an orphan is not killed on restart",
    edits: [
      { in: "createNodeSessions", find: "runner.killOrphan(pid, pid_started, id);", replace: "void runner;" },
    ],
  },
  {
    name: "a process acts before its pid is recorded",
    edits: [
      {
        in: "createNodeSessions",
        find: 'await at("spawned");',
        replace: 'process.release();\n    await at("spawned");',
      },
    ],
  },
  {
    name: "a process keeps running after its session was taken over",
    edits: [
      {
        in: "createNodeSessions",
        find: "for (const [id, process] of processes) if (!wanted.has(id)) process.kill();",
        replace: "",
      },
    ],
  },
  {
    name: "a process that started too late is released",
    edits: [
      {
        in: "createNodeSessions",
        find: "if (accepted) {",
        replace: "if (accepted || !accepted) {",
      },
    ],
  },
  {
    name: "a session token stays valid after the session has ended",
    edits: [
      {
        in: "authenticate",
        find: "row.session_ended_at !== null || row.session_epoch !== row.agent_epoch",
        replace: "row.session_epoch !== row.agent_epoch",
      },
    ],
  },
  {
    name: "neither the end nor the epoch of a session is checked",
    edits: [
      {
        in: "authenticate",
        find: "(row.session_ended_at !== null || row.session_epoch !== row.agent_epoch)",
        replace: "row.session_id === ''",
      },
    ],
  },
  {
    name: "a new session gets the epoch of the last one",
    edits: [
      {
        in: "openSession",
        find: "const epoch = agent.epoch + 1;",
        replace: "const epoch = Math.max(agent.epoch, 1);",
      },
    ],
  },
  {
    name: "the key of an agent that left still works",
    edits: [
      {
        in: "end",
        find: "await tx.run(endCredentials, { agent_id: agent.id, revoked_at: tx.now });",
        replace: "",
      },
      { in: "authenticate", find: 'row.status === "terminated" ||', replace: "" },
    ],
  },
  {
    name: "undoing a departure makes the agent's keys valid again",
    edits: [{ in: "putBack", find: '.filter(({ table }) => table !== "credentials")', replace: "" }],
  },
  {
    name: "the credentials of a departed agent stay valid",
    edits: [
      {
        in: "end",
        find: "await tx.run(endCredentials, { agent_id: agent.id, revoked_at: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "the end of a session is lost when it can't be recorded at once",
    edits: [
      {
        in: "createNodeSessions",
        find: "for (const { session, exit } of exits.values()) await finished(session, exit);",
        replace: "",
      },
    ],
  },
  {
    name: "a session without a process never ends",
    edits: [
      {
        in: "createNodeSessions",
        find: "if (!processes.has(session.id))",
        replace: "if (!processes.has(session.id) && session.id === '')",
      },
    ],
  },
  {
    name: "the sessions of a silent node are never taken over",
    edits: [
      {
        in: "createNodeSessions",
        find: "session.lease_until < live.now",
        replace: "session.lease_until < 0",
      },
    ],
  },
  {
    name: "leases are not renewed",
    edits: [
      {
        in: "createNodeSessions",
        find: "await tx.run(renewLeases, { node_id: nodeId, lease_until: tx.now + leaseMilliseconds });",
        replace: "await tx.run(renewLeases, { node_id: nodeId, lease_until: tx.now });",
      },
    ],
  },
  {
    name: "a session that submitted its summary continues",
    edits: [
      {
        in: "createNodeSessions",
        find: "if (until > now) continue;",
        replace: "if (until > now || until > 0) continue;",
      },
    ],
  },
  {
    name: "a pause does not stop the session",
    edits: [
      {
        in: "onPause",
        find: 'await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "the agent was paused" });',
        replace: "",
      },
    ],
  },
  {
    name: "maxSessions is ignored",
    edits: [
      {
        in: "readinessOf",
        find: "running >= settings.maxSessions",
        replace: "running >= 1000 + settings.maxSessions",
      },
    ],
  },
  {
    name: "an agent that waits for a free session is not considered when one ends",
    edits: [
      {
        in: "createScheduler",
        find: "if (freesAPlace.has(operation)) lookAgain(company_id);",
        replace: "",
      },
    ],
    calm: true,
  },
  {
    name: "two nodes deliver the same due message",
    edits: [
      {
        in: "createScheduler",
        find: "if (message.delivered_at === null && message.failure === null) await deliver(tx, message, newId);",
        replace: "await deliver(tx, message, newId);",
      },
    ],
  },
  {
    name: "deferred mail is delivered early",
    edits: [
      {
        in: "createScheduler",
        find: "tx.all(dueMessages, { now: tx.now, limit: deliveriesAtOnce })",
        replace: "tx.all(dueMessages, { now: tx.now + 60_000, limit: deliveriesAtOnce })",
      },
    ],
  },
  {
    name: "deferred mail that came due while the node was down is lost",
    edits: [
      { in: "createScheduler", find: "let alarmsSeen = 0;", replace: "let alarmsSeen = 0;\n  let born = 0;" },
      {
        in: "createScheduler",
        find: "await sessions.reconcile();",
        replace: "born = await store.read(async (tx) => tx.now);\n      await sessions.reconcile();",
      },
      {
        in: "createScheduler",
        find: "Map.groupBy(due,",
        replace: "Map.groupBy(due.filter(({ deliver_at }) => deliver_at >= born),",
      },
      {
        in: "dueMessages",
        find: '.select(["id", "company_id"])',
        replace: '.select(["id", "company_id", "deliver_at"])',
      },
    ],
  },
  {
    name: "the delivery of due mail wakes no agent",
    edits: [
      { in: "createScheduler", find: "(await tx.first(nextDue, {}))?.deliver_at ?? null,", replace: "null," },
    ],
  },
  {
    name: "mail is delivered to a departed agent",
    edits: [
      {
        in: "brokenRoute",
        find: "receiver === undefined || (receiver !== null && !isActive(receiver))",
        replace: "receiver === undefined",
      },
    ],
  },
  {
    name: "mail from a departed agent is delivered",
    edits: [
      {
        in: "brokenRoute",
        find: "if (sender === undefined || !isActive(sender))",
        replace: "if (sender === undefined)",
      },
    ],
  },
  {
    name: "the right to send mail is not checked at delivery",
    edits: [
      {
        in: "brokenRoute",
        find: 'return (await holds(tx, sender.id, route, "send"))',
        replace: 'return route !== "mail:"',
      },
    ],
  },
  {
    name: "the inbox outcome is not opened again",
    edits: [
      {
        in: "openInboxOf",
        find: '.where("status", "in", ["open", "submitted"])\n    .where("kind", "=", "inbox"),',
        replace: '.where("kind", "=", "inbox"),',
      },
    ],
  },
  {
    name: "the inbox outcome is not completed",
    edits: [
      {
        in: "settleInbox",
        find: "(await countWaiting(tx, companyId, agentId)) > 0",
        replace: "(await countWaiting(tx, companyId, agentId)) >= 0",
      },
    ],
  },
  {
    name: "reclaiming does not end the session of a report",
    edits: [
      {
        in: "end",
        find: 'await tx.run(endSessions, { agent_id: agent.id, ended_at: tx.now, end_reason: "the agent left" });',
        replace: "",
      },
    ],
  },
  {
    name: "reclaiming does not end the rights of a report",
    edits: [{ in: "end", find: "await shiftHolder(tx, agent.id, 1);", replace: "" }],
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
    edits: [{ in: "takeBack", find: "await markRevoked(tx, grantId);", replace: "void grantId;" }],
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
        find: "!(await isAtOrBelow(call, member, actor.agentId))",
        replace: "!(await isAtOrBelow(call, member, member.id))",
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
    name: "an agent that an undo brings back has no key",
    edits: [{ in: "imagesAround", find: "and kind = 'key'", replace: "and kind = 'none'" }],
  },
  {
    name: "sessions that do nothing never block their outcome",
    edits: [{ in: "mostStalls", find: "const mostStalls = 3;", replace: "const mostStalls = 3_000_000;" }],
  },
  {
    name: "there is no pause after a session that did nothing",
    edits: [
      {
        in: "guardAgainstStalling",
        find: "not_before: tx.now + Math.min(1000 * 2 ** (idle - 1), longestBackOff),",
        replace: "not_before: 0,",
      },
    ],
  },
  {
    name: "a wakeup is lost: an agent that depends on an ended outcome is not woken",
    edits: [
      {
        in: "around",
        find: "where d.depends_on_id = ${p.id}",
        replace: "where d.depends_on_id = ''",
      },
    ],
    calm: true,
  },
  {
    name: "a wakeup is lost: the owner of the parent is not woken",
    edits: [{ in: "around", find: "where e.child_id = ${p.id}", replace: "where e.child_id = ''" }],
    calm: true,
  },
  {
    name: "a wakeup is lost: an agent that is blocked on an outcome is not woken",
    edits: [{ in: "around", find: "or blocked_on = ${p.id}", replace: "" }],
    calm: true,
  },
  {
    name: "a wakeup is lost: the owner of the former parent of a moved outcome is not woken",
    edits: [
      {
        in: "concerned",
        find: "if (Array.isArray(parentsLeft))",
        replace: "if (Array.isArray(parentsLeft) && parentsLeft.length > 1_000_000)",
      },
    ],
    calm: true,
  },
  {
    name: "a wakeup is lost: the end of a block by time",
    edits: [
      {
        in: "createScheduler",
        find: "tx.all(alarmed, { after: alarmsSeen, now: tx.now })",
        replace: "tx.all(alarmed, { after: tx.now, now: tx.now })",
      },
    ],
    calm: true,
  },
  {
    name: "a wakeup is lost: the end of a pause after sessions that did nothing",
    edits: [
      {
        in: "createScheduler",
        find: "if (time <= now && later.delete(agentId)) toLookAt.add(agentId);",
        replace: "if (time <= now) later.delete(agentId);",
      },
    ],
    calm: true,
  },
  {
    name: "the event follower sometimes skips an event",
    edits: [
      {
        in: "createScheduler",
        find: "markSeen(seen, events);",
        replace:
          "for (const { company_id, seq } of events) seen.set(company_id, seq + (seq % 5 === 0 ? 1 : 0));",
      },
    ],
    calm: true,
  },
  {
    name: "a repeated call takes effect again",
    edits: [
      {
        in: "run",
        find: "const first = await tx.first(firstResult, { actor: who, key });",
        replace: "const first = await tx.first(firstResult, { actor: `${who}!`, key });",
      },
      {
        in: "run",
        find: "await tx.run(keepResult, {\n      actor: who,",
        replace: "await tx.run(keepResult, {\n      actor: `${who} ${parts.newId()}`,",
      },
    ],
  },
  {
    name: "the budget reserved for a session is never released",
    edits: [
      {
        in: "endSession",
        find: "if (session.pid === null || session.lease_until < tx.now) await giveBack(tx, id);",
        replace: "void giveBack;",
      },
    ],
  },
  {
    name: "a budget may exceed what is left of the budget above it",
    edits: [
      {
        in: "weighBudget",
        find: "const free = Math.max(0, left(above));",
        replace: "const free = above.limit ?? 0;",
      },
    ],
  },
  {
    name: "a refusal is not recorded",
    edits: [
      {
        in: "createDispatcher",
        find: "error instanceof Refusal && seen.caller !== undefined",
        replace: "error instanceof TypeError && seen.caller !== undefined",
      },
    ],
  },
  {
    name: "the answer for another company's objects differs from the answer for missing ones",
    edits: [
      {
        in: "findCompany",
        find: "throw notFound(noun, id);",
        replace: "throw notFound(owner === undefined ? noun : `foreign ${noun}`, id);",
      },
    ],
  },
];
