import type { Edit } from "../planted-bugs/plant.ts";

interface Bug {
  readonly name: string;
  /** Looked for where nothing else goes wrong. */
  readonly calm?: true;
  /** Looked at first: see rare(). */
  readonly seed?: number;
  /** More than one where two guards stand behind each other, and only without both there is a bug. */
  readonly edits: readonly Edit[];
}

/** The sweep finds what an event did not tell. So it is taken out, and everything else that it is there for. */
export const noSweep: Edit = edit(
  "src/runtime/scheduler.ts",
  "const sweepEvery = 30_000;",
  "const sweepEvery = 1e15;",
);

/** Bugs that the simulator must find; most are what other systems that do this job suffered from. */
export const simulatorBugs: readonly Bug[] = [
  // Two of one, and the dead that act
  bug("two processes for one agent", "src/runtime/work.ts", {
    'if ((await tx.first(liveOf, { agentId })) !== undefined) return no("busy");': "",
  }),
  bug("a stale done ends the new session of the same agent", "src/runtime/sessions.ts", {
    "if (session === undefined || session.settled === 1) return false;": `if (session === undefined) return false;
      if (session.settled === 1) {
        await tx.run(endLive, { agentId: session.agent_id, now: tx.now, reason: "done" });
        return false;
      }`,
  }),
  bug("what a session leaves is settled twice", "src/runtime/sessions.ts", {
    "if (session === undefined || session.settled === 1) return false;":
      "if (session === undefined) return false;",
  }),
  bug("an orphan is not killed on restart", "src/runtime/node-sessions.ts", {
    "runner.killOrphan(pid, pid_started, id);": "void runner;",
  }),
  bug("a process acts before its pid is on record", "src/runtime/node-sessions.ts", {
    'await at("spawned");': 'process.release();\n    await at("spawned");',
  }),
  bug("a process whose session was taken over lives on", "src/runtime/node-sessions.ts", {
    "for (const [id, process] of processes) if (!wanted.has(id)) process.kill();": "",
  }),
  bug("a process that came too late is let go", "src/runtime/node-sessions.ts", {
    "if (accepted) process.release();": "if (accepted || !accepted) process.release();",
  }),
  bug("a session token is valid after its end", "src/dispatch/identity.ts", {
    "row.session_ended_at !== null || row.session_epoch !== row.agent_epoch":
      "row.session_epoch !== row.agent_epoch",
  }),
  bug("neither end nor epoch of a session is checked", "src/dispatch/identity.ts", {
    "(row.session_ended_at !== null || row.session_epoch !== row.agent_epoch)": "row.session_id === ''",
  }),
  bug("a new session has the epoch of the last", "src/runtime/sessions.ts", {
    "const epoch = agent.epoch + 1;": "const epoch = Math.max(agent.epoch, 1);",
  }),
  bug(
    "the key of an agent that left still works",
    "src/departures/leaving.ts",
    { "await tx.run(endCredentials, { agentId: agent.id, now: tx.now });": "" },
    edit("src/dispatch/identity.ts", 'row.status === "terminated" || ', ""),
  ),
  bug("the credentials of an agent that left stay", "src/departures/leaving.ts", {
    "await tx.run(endCredentials, { agentId: agent.id, now: tx.now });": "",
  }),

  // Sessions that nobody ends, and places
  bug("an end that could not be put on record is forgotten", "src/runtime/node-sessions.ts", {
    "for (const { session, exit } of exits.values()) await finished(session, exit);": "",
  }),
  bug("a session without a process stays for ever", "src/runtime/node-sessions.ts", {
    "if (!processes.has(session.id))": "if (!processes.has(session.id) && session.id === '')",
  }),
  bug("the sessions of a silent node are never taken over", "src/runtime/node-sessions.ts", {
    "session.lease_until < live.now": "session.lease_until < 0",
  }),
  bug("leases are not renewed", "src/runtime/node-sessions.ts", {
    "await tx.run(renewLeases, { nodeId, until: tx.now + leaseMilliseconds });":
      "await tx.run(renewLeases, { nodeId, until: tx.now });",
  }),
  bug("a session that handed in its summary goes on", "src/runtime/node-sessions.ts", {
    "if (until > now) continue;": "if (until > now || until > 0) continue;",
  }),
  bug("a pause does not stop the session", "src/agents/operations.ts", {
    'await tx.run(endSessions, { agentId: agent.id, now: tx.now, reason: "the agent was paused" });': "",
  }),
  bug("maxSessions is ignored", "src/runtime/work.ts", {
    "running >= settings.maxSessions": "running >= 1000 + settings.maxSessions",
  }),
  lostWakeup("who waits for a place is not looked at again", "src/runtime/scheduler.ts", {
    "if (company_id !== null && freesAPlace.has(operation)) lookAgain(company_id);": "",
  }),

  // Mail
  bug("a message is delivered twice when two nodes see it due", "src/runtime/scheduler.ts", {
    "if (message.delivered_at === null && message.failure === null) await deliver(tx, message, newId);":
      "await deliver(tx, message, newId);",
  }),
  bug("deferred mail is delivered early", "src/runtime/scheduler.ts", {
    "tx.all(dueMessages, { now: tx.now, limit: deliveriesAtOnce })":
      "tx.all(dueMessages, { now: tx.now + 60_000, limit: deliveriesAtOnce })",
  }),
  bug(
    "deferred mail that came due while the node was down is lost",
    "src/runtime/scheduler.ts",
    {
      "let alarmsSeen = 0;": "let alarmsSeen = 0;\n  let born = 0;",
      "await sessions.reconcile();\n":
        "born = await store.read(async (tx) => tx.now);\n      await sessions.reconcile();\n",
      "Map.groupBy(due,": "Map.groupBy(due.filter(({ deliver_at }) => deliver_at >= born),",
    },
    edit("src/mail/table.ts", '.select(["id", "company_id"])', '.select(["id", "company_id", "deliver_at"])'),
  ),
  bug("nobody is called when mail comes due", "src/runtime/scheduler.ts", {
    "(await tx.first(nextDue, {}))?.deliver_at ?? null,": "null,",
  }),
  bug("mail is delivered to an agent that left", "src/mail/post.ts", {
    "receiver === undefined || (receiver !== null && !isActive(receiver))": "receiver === undefined",
  }),
  bug("mail of an agent that left is delivered", "src/mail/post.ts", {
    "if (sender === undefined || !isActive(sender))": "if (sender === undefined)",
  }),
  bug("who may write to whom is not checked at delivery", "src/mail/post.ts", {
    'return (await holds(tx, sender.id, route, "send"))': 'return route !== "mail:"',
  }),
  bug("the inbox outcome is not opened again", "src/mail/post.ts", {
    '    .where("status", "in", ["open", "submitted"])\n    .where("kind", "=", "inbox"),':
      '    .where("kind", "=", "inbox"),',
  }),
  bug("the inbox outcome is not completed", "src/mail/post.ts", {
    "(await countWaiting(tx, companyId, agentId)) > 0": "(await countWaiting(tx, companyId, agentId)) >= 0",
  }),

  // Reclaiming, leaving, retiring
  bug("reclaiming leaves the session of a report alive", "src/departures/leaving.ts", {
    'await tx.run(endSessions, { agentId: agent.id, now: tx.now, reason: "the agent left" });': "",
  }),
  bug("reclaiming leaves the rights of a report standing", "src/departures/leaving.ts", {
    "await shiftHolder(tx, agent.id, 1);": "",
  }),
  bug("reclaiming forgets the reports of reports", "src/departures/leaving.ts", {
    "for (const { id: below } of await tx.all(reportIds, { bossId: id })) frontier.push(below);": "",
  }),
  rare(
    11,
    bug("what is taken back leaves the rights given for it", "src/delegation/delegating.ts", {
      "await markRevoked(tx, grantId);": "void grantId;",
    }),
  ),
  bug("a departure strands outcomes", "src/departures/leaving.ts", {
    "await assign(tx, work.id, { responsibleId: heirId, ...(isBack ? back : same) });": "",
  }),
  bug("retiring forgets the reports", "src/departures/leaving.ts", {
    "await tx.run(reanchor, { from: agent.id, to: heirId });": "",
  }),
  bug("nobody verifies what an agent that left had delegated", "src/departures/leaving.ts", {
    "await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });": "",
  }),
  bug(
    "a mandate is completed while its agent waits for what it delegated",
    "src/departures/leaving.ts",
    { "agent !== undefined && open.length > 0": "agent !== undefined && open.length > 1_000_000" },
    edit("src/outcomes/outcome.ts", "if (live.length === 0) return;", "if (live.length >= 0) return;"),
  ),

  // Moving people about
  bug("what the old boss handed down stays with it", "src/reorganization/moving.ts", {
    "await tx.run(rerouteOf, { agentId: id, from: from.id, to: to.id, now: tx.now });": "",
  }),
  rare(
    10,
    bug("rights stay as the old boss gave them", "src/reorganization/moving.ts", {
      "await reroot(call, grant, to, made.has(to.id));": "",
    }),
  ),
  bug("anybody reorganizes anywhere", "src/reorganization/changes.ts", {
    "!(await isAtOrBelow(call, member, actor.agentId))": "!(await isAtOrBelow(call, member, member.id))",
  }),
  rare(
    20,
    bug("a position that is handed over keeps its session", "src/reorganization/changes.ts", {
      'await tx.run(endSessions, { agentId: agent.id, now: tx.now, reason: "its position was handed over" });':
        "",
    }),
  ),
  bug("who depended on a mandate that ended waits for ever", "src/outcomes/table.ts", {
    "    await tx.run(deleteDependency, { outcomeId: id, dependsOnId });\n": "",
  }),
  rare(
    14,
    bug("mail that waited for who left opens no inbox", "src/mail/post.ts", {
      "    await openInbox(tx, from.company_id, to, newId);\n": "    return;\n",
    }),
  ),
  rare(
    35,
    bug("undoing overwrites what has changed since", "src/reorganization/undoing.ts", {
      "demandNone(await changedSince(tx, found));": "",
      "demandNone(await unfitting(tx, found));": "",
    }),
  ),
  bug("who was made for a change that is undone stays", "src/reorganization/undoing.ts", {
    'await endMade(call, textIn(key["id"]), found);': "",
  }),
  bug("who comes back has no key", "src/reorganization/images.ts", {
    "and kind = 'key'": "and kind = 'none'",
  }),

  // Runaways and silent stalls
  bug("sessions that do nothing never block their outcome", "src/runtime/sessions.ts", {
    "const mostStalls = 3;": "const mostStalls = 3_000_000;",
  }),
  bug("there is no pause after a session that did nothing", "src/runtime/sessions.ts", {
    "not_before: tx.now + Math.min(1000 * 2 ** (idle - 1), longestBackOff),": "not_before: 0,",
  }),
  lostWakeup("a wakeup is lost: who depends on an outcome is not told", "src/runtime/attention.ts", {
    '.where("d.depends_on_id", "=", p.id)': '.where("d.depends_on_id", "=", "")',
  }),
  rare(
    76,
    lostWakeup("a wakeup is lost: who answers for the parent is not told", "src/runtime/attention.ts", {
      '.where("e.child_id", "=", p.id)': '.where("e.child_id", "=", "")',
    }),
  ),
  rare(
    65,
    lostWakeup("a wakeup is lost: who is blocked on an outcome is not told", "src/runtime/attention.ts", {
      '.where("blocked_on", "=", p.id)': '.where("blocked_on", "=", "")',
    }),
  ),
  rare(
    85,
    lostWakeup(
      "a wakeup is lost: who waited for what serves something else now is not told",
      "src/runtime/attention.ts",
      {
        "if (Array.isArray(parentsLeft))":
          "if (Array.isArray(parentsLeft) && parentsLeft.length > 1_000_000)",
      },
    ),
  ),
  rare(
    10,
    lostWakeup("a wakeup is lost: the end of a block by time", "src/runtime/scheduler.ts", {
      "tx.all(alarmed, { after: alarmsSeen, now: tx.now })":
        "tx.all(alarmed, { after: tx.now, now: tx.now })",
    }),
  ),
  lostWakeup(
    "a wakeup is lost: the end of a pause after sessions that did nothing",
    "src/runtime/scheduler.ts",
    {
      "if (time <= now && later.delete(agentId)) toLookAt.add(agentId);":
        "if (time <= now) later.delete(agentId);",
    },
  ),
  lostWakeup("the follower of events skips one now and then", "src/runtime/scheduler.ts", {
    "seen = last;": "seen = last + (last > seen && last % 5 === 0 ? 1 : 0);",
  }),

  // Calls
  bug(
    "a repeated call has its effect again",
    "src/dispatch/dispatch.ts",
    {
      "const first = await tx.first(firstResult, { actor: who, key });":
        "const first = await tx.first(firstResult, { actor: `${who}!`, key });",
    },
    edit(
      "src/dispatch/dispatch.ts",
      "await tx.run(keepResult, {\n      actor: who,",
      "await tx.run(keepResult, {\n      actor: `${who} ${parts.newId()}`,",
    ),
  ),
  // Budgets
  bug("what was set aside for a session is never given back", "src/runtime/sessions.ts", {
    "if (session.pid === null || session.lease_until < tx.now) await giveBack(tx, id);": "void giveBack;",
  }),
  rare(
    36,
    bug("a budget is given that the one above does not have", "src/budgets/carving.ts", {
      "if (more > Math.max(0, left(above)))": "if (more > (above.limit ?? 0))",
    }),
  ),
  bug("a refusal is not put on record", "src/dispatch/dispatch.ts", {
    "error instanceof Refusal && seen.caller !== undefined":
      "error instanceof TypeError && seen.caller !== undefined",
  }),
  bug("another company's things look different from what does not exist", "src/dispatch/dispatch.ts", {
    "        throw notFound(noun, id);":
      "        throw notFound(owner === undefined ? noun : `foreign ${noun}`, id);",
  }),
];

/**
 * Found only after many seeds, which takes minutes; so one that found it is looked at before the others. Should it no longer
 * find it, the next that does is worth writing down here.
 */
function rare(seed: number, found: Bug): Bug {
  return { ...found, seed };
}

function lostWakeup(name: string, file: string, changes: Readonly<Record<string, string>>): Bug {
  return { ...bug(name, file, changes, noSweep), calm: true };
}

function bug(name: string, file: string, changes: Readonly<Record<string, string>>, ...more: Edit[]): Bug {
  const edits = Object.entries(changes).map(([find, replace]) => edit(file, find, replace));
  return { name, edits: [...edits, ...more] };
}

function edit(file: string, find: string, replace: string): Edit {
  return { file, find, replace };
}
