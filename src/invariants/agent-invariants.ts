import { z } from "zod";
import { endCredentials } from "../agents/table.ts";
import { payloadHash } from "../approvals/approval.ts";
import { selection } from "../store/query.ts";
import { active, invariantsOf, live } from "./invariant.ts";
import { scoped } from "./scope.ts";

/** Invariants of agents, their mandates, and approvals. */

const openApprovals = scoped<{ id: string; payload: string; boss_id: string | null }>(
  "approvals",
  `select p.id, p.payload, a.boss_id from approvals p join agents a on a.id = p.agent_id
   where {here} and p.status in ('pending', 'revision_requested')`,
);

const payloads = scoped<{ id: string; payload: string; payload_hash: string }>(
  "approvals",
  "select p.id, p.payload, p.payload_hash from approvals p where {here}",
);

const credentialRow = selection("credentials", ["id"]);

const NamesManager = z.object({ requestedConfigurationSnapshot: z.object({ reportsTo: z.string() }) });
const Payload = z.record(z.string(), z.unknown());

const repairByHand =
  "This is damage that Agency itself never causes. Stop the daemon and restore a backup from before it, or repair the row by hand.";

export const agentInvariants = invariantsOf("organization", {
  "company-root": {
    statement: "Every company has a root agent without a manager, and a root outcome that is open.",
    subject: "companies",
    find: `select k.id from companies k where {here} and (
        not exists (select 1 from agents a where a.id = k.root_agent_id and a.company_id = k.id
          and a.boss_id is null and a.status ${active})
        or not exists (select 1 from outcomes o where o.id = k.root_outcome_id and o.company_id = k.id
          and o.kind = 'perpetual' and o.status = 'open'))`,
    broken: "has lost its root agent or its root outcome.",
    advice: `${repairByHand} The rows are named in companies.root_agent_id and root_outcome_id.`,
  },
  "agent-tree": {
    statement:
      "Every agent that has not left reports, through active agents, to the root agent of its company.",
    subject: "agents",
    find: `with recursive up(start, id) as (
        select a.id, a.boss_id from agents a where {here} and a.status <> 'terminated'
        union select u.start, b.boss_id from up u join agents b on b.id = u.id where b.status ${active})
      select a.id from agents a join companies k on k.id = a.company_id
      where {here} and a.status <> 'terminated' and a.id <> k.root_agent_id
        and not exists (select 1 from up u where u.start = a.id and u.id = k.root_agent_id)`,
    broken: "does not report to the root agent: a manager above has left, or the reporting line is a circle.",
    advice:
      "Give the agent a manager that reports to the root agent: `agency reorg move {id} <manager>`. If this is refused because of a circle, restore a backup.",
  },
  "agent-mandate": {
    statement:
      "Every agent that has not left is responsible for its own mandate, which is live and delegated.",
    subject: "agents",
    find: `select a.id from agents a left join outcomes o on o.id = a.mandate_id
      where {here} and a.status <> 'terminated' and (o.id is null or o.responsible_id is distinct from a.id
        or o.status not ${live} or o.delegated = 0)`,
    broken: "is not responsible for its mandate, or its mandate has ended.",
    advice:
      "An agent without a mandate has no place for its work. Terminate it and hire another one: `agency agents terminate {id}`.",
  },
  "mandate-agent": {
    statement: "Every live standing mandate is the mandate of an agent that has not left.",
    subject: "outcomes",
    find: `select o.id from outcomes o where {here} and o.status ${live} and o.kind = 'mandate' and not exists (
        select 1 from agents a where a.mandate_id = o.id and a.status <> 'terminated')`,
    broken: "is a standing mandate that belongs to no agent, so it never ends.",
    advice: `Nothing can close a standing mandate but the departure of its agent. ${repairByHand}`,
  },
  "mandate-place": {
    statement: "Every live standing mandate is a part of the manager's mandate.",
    subject: "outcomes",
    find: `select o.id from outcomes o join agents a on a.id = o.responsible_id join agents b on b.id = a.boss_id
      where {here} and o.status ${live} and o.kind = 'mandate' and not exists (
        select 1 from edges e where e.child_id = o.id and e.parent_id = b.mandate_id)`,
    broken: "is not a part of its manager's mandate.",
    advice:
      "Move the agent to another manager and back. Each move puts the mandate in its place: `agency reorg move <agent> <manager>`.",
  },
  "pending-approval": {
    statement: "An agent is pending exactly while one approval of its hire is open.",
    subject: "agents",
    find: `select a.id from agents a where {here} and (
        select count(*) from approvals p where p.agent_id = a.id and p.type = 'hire_agent'
          and p.status in ('pending', 'revision_requested'))
        <> (case when a.status = 'pending_approval' then 1 else 0 end)`,
    broken: "is pending without an open approval, or has an open approval and is not pending.",
    advice:
      "A pending agent without an approval can never start: `agency agents terminate {id}`. An approval without a pending agent has no effect. Find it with `agency approvals list` and reject it: `agency reject <approval>`.",
  },
  "approval-manager": {
    statement: "The approval of a pending agent names the manager that the agent will report to.",
    subject: "approvals",
    find: async (tx, scope) =>
      (await openApprovals(tx, scope))
        .filter(({ payload, boss_id }) => {
          const named = NamesManager.safeParse(JSON.parse(payload));
          return named.success && named.data.requestedConfigurationSnapshot.reportsTo !== boss_id;
        })
        .map(({ id }) => id),
    broken:
      "names another manager than the one the agent reports to, so the board would decide on the wrong hire.",
    advice: "Reject it and request the hire again: `agency reject {id}`.",
  },
  "approval-hash": {
    statement: "The hash of every approval matches what it asks for.",
    subject: "approvals",
    find: async (tx, scope) =>
      (await payloads(tx, scope))
        .filter((row) => payloadHash(Payload.parse(JSON.parse(row.payload))) !== row.payload_hash)
        .map(({ id }) => id),
    broken: "was changed after it was written: its hash does not match what it asks for.",
    advice:
      "Do not approve it. If it is pending, reject it and request the change again: `agency reject {id}`. The record shows what was asked for: `agency audit events`.",
  },
  "approval-revisions": {
    statement:
      "The revisions of every approval are numbered from 1 without holes, and the last one is what the approval asks for now.",
    subject: "approvals",
    find: `select p.id from approvals p where {here} and (
        not exists (select 1 from approval_revisions r where r.approval_id = p.id
          and r.hash = p.payload_hash and r.payload = p.payload
          and r.revision = (select max(n.revision) from approval_revisions n where n.approval_id = p.id))
        or (select count(*) from approval_revisions r where r.approval_id = p.id)
          <> (select max(r.revision) from approval_revisions r where r.approval_id = p.id)
        or exists (select 1 from approval_revisions r where r.approval_id = p.id and r.revision < 1))`,
    broken: "has lost a revision, or asks for something that is not its last revision.",
    advice: `Do not approve it. If it is pending, reject it: \`agency reject {id}\`. ${repairByHand}`,
  },
  "approval-thread": {
    statement:
      "The thread of every approval says who wrote each revision, and its last step agrees with the approval's status.",
    subject: "approvals",
    find: `select p.id from approvals p where {here} and (
        (select count(*) from approval_comments c where c.approval_id = p.id and c.kind in ('created', 'revised'))
          <> (select count(*) from approval_revisions r where r.approval_id = p.id)
        or exists (select 1 from approval_comments c where c.approval_id = p.id
          and c.num = (select max(n.num) from approval_comments n where n.approval_id = p.id and n.kind <> 'comment')
          and (case when c.kind in ('approved', 'rejected', 'cancelled') then p.status <> c.kind
            when c.kind = 'expired' then p.status <> 'rejected'
            when c.kind = 'overtaken' then p.status <> 'cancelled'
            else p.status not in ('pending', 'revision_requested') end)))`,
    broken: "has a thread that does not agree with its status or its revisions.",
    advice: `The record shows what happened to it: \`agency audit events\`. ${repairByHand}`,
  },
  "change-subject": {
    statement: "An open proposal to change an agent is by that agent's manager, and both are active.",
    subject: "approvals",
    find: `select p.id from approvals p left join agents a on a.id = p.agent_id left join agents b on b.id = p.requested_by
      where {here} and p.type = 'change_agent' and p.status in ('pending', 'revision_requested')
        and (a.id is null or a.status not ${active} or a.boss_id is distinct from p.requested_by or b.status not ${active})`,
    broken: "proposes a change of an agent that no longer reports to the requester.",
    advice: "Reject it: `agency reject {id}`.",
  },
  "agent-state": {
    statement: "Every agent has its state document.",
    subject: "agents",
    find: `select a.id from agents a where {here} and not exists (
        select 1 from files f where f.id = a.state_file_id and f.owner_id = a.id and f.kind = 'state')`,
    broken: "has no state document, so it forgets everything between sessions.",
    advice: repairByHand,
  },
  "agent-credentials": {
    statement: "An agent that has left, or is not approved yet, has no working credential.",
    subject: "credentials",
    find: `select c.id from credentials c join agents a on a.id = c.agent_id
      where {here} and c.revoked_at is null and a.status not ${active}`,
    broken: "still works, although its agent has left or is not approved.",
    repair: async ({ tx }, id) => {
      const agentId = (await tx.first(credentialRow, { id }))?.agent_id ?? null;
      if (agentId !== null) await tx.run(endCredentials, { agent_id: agentId, revoked_at: tx.now });
    },
  },
});
