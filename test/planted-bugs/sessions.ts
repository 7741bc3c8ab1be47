import type { Bug } from "./resolve.ts";

/** Bugs in sessions, processes and credentials, which the simulator must find. */
export const sessionBugs: readonly Bug[] = [
  {
    name: "one agent has two processes",
    edits: [
      {
        in: "readinessOf",
        find: 'if ((await tx.first(liveOf, { agent_id: agentId })) !== undefined) return no("busy");',
        replace: "",
      },
      {
        in: "withWork",
        find: "where s.agent_id = worker.id and s.ended_at is null",
        replace: "where s.agent_id = ''",
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
      { in: "endEarlierRun", find: "runner.killOrphan(pid, pid_started, id);", replace: "void runner;" },
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
        find: "endProcesses(left);",
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
        in: "holderOf",
        find: "row.session_ended_at !== null || row.session_epoch !== row.agent_epoch",
        replace: "row.session_epoch !== row.agent_epoch",
      },
    ],
  },
  {
    name: "neither the end nor the epoch of a session is checked",
    edits: [
      {
        in: "holderOf",
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
        in: "fence",
        find: "await tx.run(endCredentials, { agent_id: agent.id, revoked_at: tx.now });",
        replace: "",
      },
      { in: "holderOf", find: 'row.status === "terminated" ||', replace: "" },
    ],
  },
  {
    name: "the credentials of a departed agent stay valid",
    edits: [
      {
        in: "fence",
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
        find: "await run(session.company_id, () => finished(session, exit));",
        replace: "void [session, exit];",
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
        in: "dueNow",
        find: 'lapsed: due("lapsed"),',
        replace: "lapsed: [],",
      },
    ],
  },
  {
    name: "leases are not renewed",
    edits: [
      {
        in: "createNodeLeases",
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
    name: "sessions that do nothing never block their outcome",
    edits: [{ in: "mostStalls", find: "const mostStalls = 3;", replace: "const mostStalls = 3_000_000;" }],
  },
  {
    name: "every session counts as progress",
    edits: [{ in: "countProgress", find: "return given || own;", replace: "return true;" }],
  },
  {
    name: "there is no pause after a session that did nothing",
    edits: [
      {
        in: "guardAgainstStalling",
        find: "not_before: tx.now + pause",
        replace: "not_before: 0",
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
];
