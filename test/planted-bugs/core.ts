import type { Bug } from "./resolve.ts";

/** Bugs that the property test of the core must find. */
export const coreBugs: readonly Bug[] = [
  {
    name: "a right is handed on for an outcome it was not given for",
    edits: [
      {
        in: "sourceFor",
        find: "if (!(await isWithin(tx, scopeId, grant.scope_id))) {",
        replace: "if (scopeId === '' && !(await isWithin(tx, scopeId, grant.scope_id))) {",
      },
    ],
  },
  {
    name: "a reader hands on the right to write",
    edits: [
      {
        in: "weigh",
        find: "await sourceFor(tx, gift.giver, gift.resource, ranks[level], scopeId)",
        replace: "await sourceFor(tx, gift.giver, gift.resource, Math.min(ranks[level], 1), scopeId)",
      },
    ],
  },
  {
    name: "a right goes to another manager's report",
    edits: [
      {
        in: "checkReceiver",
        find: "giver !== null && receiver.boss_id !== giver.id",
        replace: "giver !== null && receiver.id === giver.id",
      },
    ],
  },
  {
    name: "granting tells that something hidden exists",
    edits: [{ in: "checkResourceExists", find: "if (isHidden ||", replace: "if (" }],
  },
  {
    name: "a right is given for an outcome of another company",
    edits: [
      {
        in: "checkScope",
        find: 'if (scope?.company_id !== companyId) throw notFound("outcome", scopeId);',
        replace: 'if (scope === undefined) throw notFound("outcome", scopeId);',
      },
    ],
  },
  {
    name: "what is handed on from a boss's place forgets where it came from",
    edits: [
      {
        in: "sourceFor",
        find: "return { parent_id: grant.id, structural: grant.structural };",
        replace: "return { parent_id: grant.id, structural: 0 };",
      },
    ],
  },
  {
    name: "any agent may revoke any grant of the company",
    edits: [
      {
        in: "revoke",
        find: "grant.company_id !== companyId || !mine",
        replace: "grant.company_id !== companyId || (!mine && by === null)",
      },
    ],
  },
  {
    name: "revoking forgets what was handed on from it",
    edits: [
      {
        in: "shiftByGrant",
        find: 'shift("id", p.id, sql`1`)',
        replace: "sql`update grants set broken = broken + 1 where id = ${p.id}`",
      },
    ],
  },
  {
    name: "two reasons against one grant count once",
    edits: [{ in: "carried", find: "union all", replace: "union" }],
  },
  {
    name: "a chain counts only its first link",
    edits: [
      {
        in: "carried",
        find: "join carried c on g.parent_id = c.id)",
        replace: "join carried c on g.parent_id = c.id and c.id = '')",
      },
    ],
  },
  {
    name: "what rests on a boss's place outlives it",
    edits: [
      {
        in: "worthOf",
        find: "if (grant.structural === 0) return grant.level;",
        replace: "if (grant.id !== '') return grant.level;",
      },
    ],
  },
  {
    name: "an agent that leaves leaves its reports what it gave them",
    edits: [{ in: "depart", find: "await markRevoked(tx, grant.id);", replace: "" }],
  },
  {
    name: "what rests on a boss's place stays as high when the place sinks",
    edits: [
      {
        in: "worthOf",
        find: "return Math.min(grant.level, await structuralRank(tx, giver.id, resource));",
        replace: "return (await structuralRank(tx, giver.id, resource)) === noRight ? noRight : grant.level;",
      },
    ],
  },
  {
    name: "the owner may change what was delegated to it",
    edits: [
      {
        in: "outcomeRights",
        find: "(drive && row.delegated === 0) || row.delegated_by === agentId",
        replace: "drive || row.delegated_by === agentId",
      },
    ],
  },
  {
    name: "who delegated an outcome cannot verify it",
    edits: [
      {
        in: "outcomeRights",
        find: "(drive && row.delegated === 0) || row.delegated_by === agentId",
        replace: "drive && row.delegated === 0",
      },
    ],
  },
  {
    name: "the whys of work that has ended stay readable",
    edits: [
      {
        in: "isWhyOf",
        find: '.where("status", "in", ["open", "submitted"])\n        .union(',
        replace: ".union(",
      },
    ],
  },
  {
    name: "a foreign id is told from a missing one",
    edits: [
      {
        in: "findCompany",
        find: "owner === undefined || (caller.companyId !== null && owner !== caller.companyId)",
        replace: "owner === undefined",
      },
    ],
  },
  {
    name: "explain_access tells that a foreign file exists",
    edits: [
      {
        in: "liveFile",
        find: '.where("company_id", "=", p.companyId)\n    .where("deleted_at", "is", null),',
        replace: '.where("deleted_at", "is", null),',
      },
    ],
  },
  {
    name: "a fix reopens the mandate of an agent that left",
    edits: [{ in: "onlyEndedScope", find: 'if (scope?.kind === "mandate") return undefined;', replace: "" }],
  },
  {
    name: "a fix lets a boss hand on what it holds for another outcome",
    edits: [
      { in: "canHandOn", find: "&&\n      (await isWithin(tx, scopeId, grant.scope_id))", replace: "" },
    ],
  },
  {
    name: "a fix reopens what a revoked right was given for",
    edits: [{ in: "onlyEndedScope", find: "if (link.revoked_at !== null || holder", replace: "if (holder" }],
  },
  {
    name: "the key of an agent that left keeps working",
    edits: [
      {
        in: "authenticate",
        find: 'row.status === "terminated" || row.status === "pending_approval"',
        replace: 'row.status === "pending_approval"',
      },
      { in: "end", find: "await tx.run(endCredentials, { agentId: agent.id, now: tx.now });", replace: "" },
    ],
  },
  {
    name: "completing does not end the rights given for it",
    edits: [{ in: "complete", find: "await shiftScope(tx, outcome.id, 1);", replace: "" }],
  },
  {
    name: "closing does not end the rights given for what goes with it",
    edits: [{ in: "onClose", find: "await shiftScope(tx, below.id, 1);", replace: "" }],
  },
  {
    name: "reopening does not bring the rights back",
    edits: [
      { in: "sendBack", find: "if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);", replace: "" },
    ],
  },
  {
    name: "sending work back counts as reopening it",
    edits: [
      {
        in: "sendBack",
        find: "if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);",
        replace: "await shiftScope(tx, outcome.id, -1);",
      },
    ],
  },
  {
    name: "an outcome completes above open ones",
    edits: [
      {
        in: "complete",
        find: "demandNoLiveChildren(outcome, await liveChildrenOf(tx, outcome.id));",
        replace: "",
      },
    ],
  },
  {
    name: "closing abandons what others work on",
    edits: [
      {
        in: "abandonedWith",
        find: "if (child.delegated === 1) others.push(child);\n      else order",
        replace: "order",
      },
    ],
  },
  {
    name: "an outcome may wait for itself",
    edits: [
      {
        in: "demandNoCycle",
        find: "if (await wouldWaitForItself(tx, waiterId, targetId))",
        replace: "if (waiterId === targetId && (await wouldWaitForItself(tx, waiterId, targetId)))",
      },
    ],
  },
  {
    name: "a parent may be another company's",
    edits: [
      {
        in: "parentRows",
        find: 'if (row.company_id !== companyId) throw notFound("outcome", id);\n    demandLive(row);',
        replace: "demandLive(row);",
      },
    ],
  },
  {
    name: "the mandate of an agent is moved away from its boss's",
    edits: [
      {
        in: "changeParents",
        find: 'if (outcome.kind === "mandate")',
        replace: 'if (outcome.kind === "inbox")',
      },
    ],
  },
  {
    name: "an agent hands on what its boss handed to it",
    edits: [
      {
        in: "delegateDown",
        find: "child.responsible_id !== from || child.delegated === 1",
        replace: "child.responsible_id !== from",
      },
    ],
  },
  {
    name: "the boss keeps what lies below what it delegated",
    edits: [
      {
        in: "delegateDown",
        find: "await assign(tx, child.id, { responsibleId: to.id, delegated: 0, delegatedBy: null });",
        replace: "",
      },
    ],
  },
  {
    name: "reclaiming leaves the rights that were given for it",
    edits: [{ in: "takeBack", find: "await markRevoked(tx, grantId);", replace: "void grantId;" }],
  },
  {
    name: "reclaiming takes what others hang below it",
    edits: [
      {
        in: "takeBack",
        find: "if (seen.has(child.id) || !(isHolders || wasHandedOn)) continue;",
        replace: "if (seen.has(child.id) || child.kind === 'mandate') continue;",
      },
    ],
  },
  {
    name: "a closed outcome counts as one that was completed",
    edits: [
      { in: "workable", find: "p.status <> 'completed'", replace: "p.status not in ('completed', 'closed')" },
    ],
  },
  {
    name: "the rights of an agent that left live on in its reports",
    edits: [{ in: "end", find: "await shiftHolder(tx, agent.id, 1);", replace: "" }],
  },
  {
    name: "no one verifies what an agent that left had delegated",
    edits: [
      {
        in: "depart",
        find: "await tx.run(reroute, { from: agent.id, to: heirId, now: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "an old version may be overwritten",
    edits: [
      {
        in: "knowledgeHandlers",
        find: "file.version !== input.version || file.hash !== input.hash",
        replace: "file.hash !== input.hash",
      },
    ],
  },
  {
    name: "a version may be overwritten without its hash",
    edits: [
      {
        in: "knowledgeHandlers",
        find: "file.version !== input.version || file.hash !== input.hash",
        replace: "file.version !== input.version",
      },
    ],
  },
];
