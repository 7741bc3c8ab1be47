import type { Bug } from "./resolve.ts";

/** Bugs that the property test of the core must find. */
export const coreBugs: readonly Bug[] = [
  {
    name: "an agent passes on a right for an outcome outside the right's scope",
    edits: [
      {
        in: "sourceFor",
        find: "if (!(await isWithin(tx, scopeId, grant.scope_id))) {",
        replace: "if (scopeId === '' && !(await isWithin(tx, scopeId, grant.scope_id))) {",
      },
    ],
  },
  {
    name: "an agent with read access grants write access",
    edits: [
      {
        in: "weigh",
        find: "await sourceFor(tx, gift.giver, gift.resource, ranks[level], scopeId)",
        replace: "await sourceFor(tx, gift.giver, gift.resource, Math.min(ranks[level], 1), scopeId)",
      },
    ],
  },
  {
    name: "a boss grants a right to another boss's report",
    edits: [
      {
        in: "checkReceiver",
        find: "giver !== null && receiver.boss_id !== giver.id",
        replace: "giver !== null && receiver.id === giver.id",
      },
    ],
  },
  {
    name: "granting reveals that a hidden object exists",
    edits: [{ in: "checkResourceExists", find: "if (isHidden ||", replace: "if (" }],
  },
  {
    name: "a right is scoped to an outcome of another company",
    edits: [
      {
        in: "checkScope",
        find: 'if (scope?.company_id !== companyId) throw notFound("outcome", scopeId);',
        replace: 'if (scope === undefined) throw notFound("outcome", scopeId);',
      },
    ],
  },
  {
    name: "a right granted from a boss's position does not record its origin",
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
    name: "revoking a right does not end the rights derived from it",
    edits: [
      {
        in: "shiftByGrant",
        find: 'shift("id", p.id, sql`1`)',
        replace: "sql`update grants set broken = broken + 1 where id = ${p.id}`",
      },
    ],
  },
  {
    name: "two reasons that end a grant count as one",
    edits: [{ in: "carried", find: "union all", replace: "union" }],
  },
  {
    name: "only the first grant of a chain is checked",
    edits: [
      {
        in: "carried",
        find: "join carried c on g.parent_id = c.id)",
        replace: "join carried c on g.parent_id = c.id and c.id = '')",
      },
    ],
  },
  {
    name: "a right granted from a boss's position outlives that position",
    edits: [
      {
        in: "worthOf",
        find: "if (grant.structural === 0) return grant.level;",
        replace: "if (grant.id !== '') return grant.level;",
      },
    ],
  },
  {
    name: "the rights an agent gave its reports survive its departure",
    edits: [{ in: "depart", find: "await takeAway(call, grant);", replace: "void grant;" }],
  },
  {
    name: "a right granted from a boss's position keeps its level when the boss loses that level",
    edits: [
      {
        in: "worthOf",
        find: "return Math.min(grant.level, await structuralRank(tx, giver.id, resource));",
        replace: "return (await structuralRank(tx, giver.id, resource)) === noRight ? noRight : grant.level;",
      },
    ],
  },
  {
    name: "the owner may change an outcome that was delegated to it",
    edits: [
      {
        in: "outcomeRights",
        find: "(drive && row.delegated === 0) || row.delegated_by === agentId",
        replace: "drive || row.delegated_by === agentId",
      },
    ],
  },
  {
    name: "the agent that delegated an outcome can't verify it",
    edits: [
      {
        in: "outcomeRights",
        find: "(drive && row.delegated === 0) || row.delegated_by === agentId",
        replace: "drive && row.delegated === 0",
      },
    ],
  },
  {
    name: "the ancestors of ended work stay readable",
    edits: [
      {
        in: "isWhyOf",
        find: "\n    and status in ('open', 'submitted')",
        replace: "",
      },
    ],
  },
  {
    name: "the answer for a foreign id differs from the answer for a missing one",
    edits: [
      {
        in: "findCompany",
        find: "owner === undefined || (caller.companyId !== null && owner !== caller.companyId)",
        replace: "owner === undefined",
      },
    ],
  },
  {
    name: "explain_access reveals that a foreign file exists",
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
    name: "a fix lets a boss pass on a right that it holds for another outcome",
    edits: [
      { in: "canHandOn", find: "&&\n      (await isWithin(tx, scopeId, grant.scope_id))", replace: "" },
    ],
  },
  {
    name: "a fix reopens the outcome of a revoked right",
    edits: [{ in: "onlyEndedScope", find: "if (link.revoked_at !== null || holder", replace: "if (holder" }],
  },
  {
    name: "the key of an agent that left keeps working",
    edits: [
      {
        in: "holderOf",
        find: 'row.status === "terminated" || row.status === "pending_approval"',
        replace: 'row.status === "pending_approval"',
      },
      {
        in: "fence",
        find: "await tx.run(endCredentials, { agent_id: agent.id, revoked_at: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "completing an outcome does not end the rights scoped to it",
    edits: [{ in: "complete", find: "await shiftScope(tx, outcome.id, 1);", replace: "" }],
  },
  {
    name: "closing an outcome does not end the rights scoped to its closed children",
    edits: [{ in: "closeSubtree", find: "await shiftScope(tx, id, 1);", replace: "" }],
  },
  {
    name: "reopening an outcome does not restore its rights",
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
    name: "an outcome with open children can be completed",
    edits: [
      {
        in: "complete",
        find: "demandNoLiveChildren(outcome, await liveChildrenOf(tx, outcome.id));",
        replace: "",
      },
    ],
  },
  {
    name: "closing an outcome leaves what was delegated below it open",
    edits: [
      {
        in: "abandonedWith",
        find: "closing.add(child.id);",
        replace: "if (child.delegated === 1) continue;\n      closing.add(child.id);",
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
    name: "an outcome of another company is accepted as a parent",
    edits: [
      {
        in: "parentRows",
        find: 'if (row.company_id !== companyId) throw notFound("outcome", id);\n    demandLive(row);',
        replace: "demandLive(row);",
      },
    ],
  },
  {
    name: "an agent's mandate can be moved away from its boss's mandate",
    edits: [
      {
        in: "changeParents",
        find: 'if (outcome.kind === "mandate")',
        replace: 'if (outcome.kind === "inbox")',
      },
    ],
  },
  {
    name: "an agent delegates an outcome that was delegated to it",
    edits: [
      {
        in: "delegateDown",
        find: "child.responsible_id !== from || child.delegated === 1",
        replace: "child.responsible_id !== from",
      },
    ],
  },
  {
    name: "the boss keeps the children of an outcome that it delegated",
    edits: [
      {
        in: "delegateDown",
        find: "await assign(tx, child.id, { responsibleId: to.id, delegated: 0, delegatedBy: null });",
        replace: "",
      },
    ],
  },
  {
    name: "reclaiming an outcome does not end the rights scoped to it",
    edits: [{ in: "takeBack", find: "await revokeFor(tx, id, owner.id);", replace: "" }],
  },
  {
    name: "reclaiming an outcome also takes the children of other agents",
    edits: [
      {
        in: "takeBack",
        find: "if (seen.has(child.id) || !(isHolders || wasHandedOn)) continue;",
        replace: "if (seen.has(child.id) || child.kind === 'mandate') continue;",
      },
    ],
  },
  {
    name: "a closed outcome counts as completed",
    edits: [
      { in: "workable", find: "p.status <> 'completed'", replace: "p.status not in ('completed', 'closed')" },
    ],
  },
  {
    name: "the rights derived from those of a departed agent stay valid",
    edits: [{ in: "release", find: "await shiftHolder(tx, agent.id, 1);", replace: "" }],
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
    name: "a write based on an old version is accepted",
    edits: [
      {
        in: "knowledgeHandlers",
        find: "file.version !== input.version || file.hash !== input.hash",
        replace: "file.hash !== input.hash",
      },
    ],
  },
  {
    name: "a write with a wrong hash is accepted",
    edits: [
      {
        in: "knowledgeHandlers",
        find: "file.version !== input.version || file.hash !== input.hash",
        replace: "file.version !== input.version",
      },
    ],
  },
];
