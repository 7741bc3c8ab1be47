/** Bugs that the property test must find. Each is a change of product text, planted while it is loaded (plant.ts). */
export interface Edit {
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface Bug {
  readonly name: string;
  /** More than one where two guards stand behind each other, and only without both there is a bug. */
  readonly edits: readonly Edit[];
}

export const bugs: readonly Bug[] = [
  bug("a right is handed on for an outcome it was not given for", "src/capabilities/grants.ts", {
    "if (!(await isWithin(tx, scopeId, grant.scope_id))) {":
      "if (scopeId === '' && !(await isWithin(tx, scopeId, grant.scope_id))) {",
  }),
  bug("a reader hands on the right to write", "src/capabilities/grants.ts", {
    "await sourceFor(tx, gift.giver, gift.resource, ranks[level], scopeId)":
      "await sourceFor(tx, gift.giver, gift.resource, Math.min(ranks[level], 1), scopeId)",
  }),
  bug("a right goes to somebody else's report", "src/capabilities/grants.ts", {
    "giver !== null && receiver.boss_id !== giver.id": "giver !== null && receiver.id === giver.id",
  }),
  bug("a right is given for an outcome of another company", "src/capabilities/grants.ts", {
    'if (scope?.company_id !== companyId) throw notFound("outcome", scopeId);':
      'if (scope === undefined) throw notFound("outcome", scopeId);',
  }),
  bug("what is handed on from a boss's place forgets where it came from", "src/capabilities/grants.ts", {
    "return { parent_id: grant.id, structural: grant.structural };":
      "return { parent_id: grant.id, structural: 0 };",
  }),
  bug("anybody may revoke any grant of the company", "src/capabilities/grants.ts", {
    "grant.company_id !== companyId || !mine": "grant.company_id !== companyId || (!mine && by === null)",
  }),
  bug("revoking forgets what was handed on from it", "src/capabilities/table.ts", {
    'shift("id", p.id, sql`1`)': "sql`update grants set broken = broken + 1 where id = ${p.id}`",
  }),
  bug("two reasons against one grant count once", "src/capabilities/table.ts", {
    "        union all\n": "        union\n",
  }),
  bug("a chain counts only its first link", "src/capabilities/table.ts", {
    "join carried c on g.parent_id = c.id)": "join carried c on g.parent_id = c.id and c.id = '')",
  }),
  bug("what rests on a boss's place outlives it", "src/capabilities/rights.ts", {
    "if (grant.structural === 0) return grant.level;": "if (grant.id !== '') return grant.level;",
  }),
  bug("what rests on the place of an agent that left still stands", "src/capabilities/rights.ts", {
    "if (giver === undefined || !isActive(giver)) return noRight;":
      "if (giver === undefined) return noRight;",
  }),
  bug("the owner may change what was delegated to it", "src/capabilities/structure.ts", {
    "(drive && row.delegated === 0) || row.delegated_by === agentId": "drive || row.delegated_by === agentId",
  }),
  bug("who delegated an outcome cannot verify it", "src/capabilities/structure.ts", {
    "(drive && row.delegated === 0) || row.delegated_by === agentId": "drive && row.delegated === 0",
  }),
  bug("the whys of work that has ended stay readable", "src/capabilities/structure.ts", {
    '        .where("status", "in", ["open", "submitted"])\n        .union(': "        .union(",
  }),
  bug("a foreign id is told from a missing one", "src/capabilities/dispatch.ts", {
    "owner === undefined || (caller.companyId !== null && owner !== caller.companyId)": "owner === undefined",
  }),
  bug("explain_access tells that a foreign file exists", "src/capabilities/explain.ts", {
    '    .where("company_id", "=", p.companyId)\n    .where("deleted_at", "is", null),':
      '    .where("deleted_at", "is", null),',
  }),
  bug("a fix reopens the mandate of an agent that left", "src/capabilities/explain.ts", {
    'if (scope?.kind === "mandate") return undefined;': "",
  }),
  bug("a fix lets a boss hand on what it holds for another outcome", "src/capabilities/explain.ts", {
    " &&\n      (await isWithin(tx, scopeId, grant.scope_id))": "",
  }),
  bug("a fix reopens what a revoked right was given for", "src/capabilities/explain.ts", {
    "if (link.revoked_at !== null || holder": "if (holder",
  }),
  bug(
    "the key of an agent that left goes on working",
    "src/capabilities/identity.ts",
    {
      'row.status === "terminated" || row.status === "pending_approval"': 'row.status === "pending_approval"',
    },
    {
      file: "src/agents/operations.ts",
      find: "await tx.run(endCredentials, { agentId: agent.id, now: tx.now });",
      replace: "",
    },
  ),
  bug("completing does not end the rights given for it", "src/outcomes/operations.ts", {
    "  await shiftScope(call.tx, outcome.id, 1);\n": "",
  }),
  bug("closing does not end the rights given for what goes with it", "src/outcomes/operations.ts", {
    "    await shiftScope(tx, below.id, 1);\n": "",
  }),
  bug("reopening does not bring the rights back", "src/outcomes/operations.ts", {
    "  if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);\n": "",
  }),
  bug("sending work back counts as reopening it", "src/outcomes/operations.ts", {
    "if (!isLive(outcome)) await shiftScope(tx, outcome.id, -1);": "await shiftScope(tx, outcome.id, -1);",
  }),
  bug("an outcome completes above open ones", "src/outcomes/operations.ts", {
    "  demandNoLiveChildren(outcome, await liveChildrenOf(call.tx, outcome.id));\n  await shiftScope(":
      "  await shiftScope(",
  }),
  bug("closing abandons what others work on", "src/outcomes/operations.ts", {
    "if (child.delegated === 1) others.push(child);\n      else order": "order",
  }),
  bug("an outcome may wait for itself", "src/outcomes/operations.ts", {
    "if (await wouldWaitForItself(tx, waiterId, targetId))":
      "if (waiterId === targetId && (await wouldWaitForItself(tx, waiterId, targetId)))",
  }),
  bug("a parent may be another company's", "src/outcomes/operations.ts", {
    '    if (row.company_id !== companyId) throw notFound("outcome", id);\n    demandLive(row);':
      "    demandLive(row);",
  }),
  bug("the boss keeps what lies below what it delegated", "src/outcomes/delegation.ts", {
    "await assign(tx, child.id, { responsibleId: to.id, delegated: 0, delegatedBy: null });": "",
  }),
  bug("reclaiming leaves the rights that were given for it", "src/outcomes/delegation.ts", {
    "await markRevoked(tx, grantId);": "void grantId;",
  }),
  bug("reclaiming takes what others hang below it", "src/outcomes/delegation.ts", {
    "if (seen.has(child.id) || !(isHolders || wasHandedOn)) continue;":
      "if (seen.has(child.id) || child.kind === 'mandate') continue;",
  }),
  bug("a closed outcome counts as one that was completed", "src/outcomes/workable.ts", {
    "p.status <> 'completed'": "p.status not in ('completed', 'closed')",
  }),
  bug("the rights of an agent that left live on in its reports", "src/agents/operations.ts", {
    "  await shiftHolder(tx, agent.id, 1);\n": "",
  }),
  bug("nobody verifies what an agent that left had delegated", "src/agents/operations.ts", {
    "  await tx.run(reroute, { from: agent.id, to: bossId, now: tx.now });\n": "",
  }),
  bug("an old version may be overwritten", "src/knowledge/operations.ts", {
    "file.version !== input.version || file.hash !== input.hash": "file.hash !== input.hash",
  }),
  bug("a version may be overwritten without its hash", "src/knowledge/operations.ts", {
    "file.version !== input.version || file.hash !== input.hash": "file.version !== input.version",
  }),
];

function bug(name: string, file: string, changes: Readonly<Record<string, string>>, ...more: Edit[]): Bug {
  const edits = Object.entries(changes).map(([find, replace]) => ({ file, find, replace }));
  return { name, edits: [...edits, ...more] };
}
