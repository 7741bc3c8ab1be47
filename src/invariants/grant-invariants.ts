import { recount, rootOf } from "../capabilities/table.ts";
import { invariantsOf, live } from "./invariant.ts";

/** Invariants of grants: where each came from, and how long it is valid. */

const revokeIt = "Revoke it; the manager or the board can grant it again: `agency access revoke {id}`.";

export const grantInvariants = [
  ...invariantsOf("organization", {
    "grant-width": {
      statement:
        "A grant is never wider than the grant it came from: same resource, same company, no higher level.",
      subject: "grants",
      find: `select g.id from grants g left join grants p on p.id = g.parent_id where {here} and g.parent_id is not null
      and (p.id is null or g.level > p.level or (g.resource <> p.resource
          and not (p.resource = 'net:*' and substr(g.resource, 1, 4) = 'net:')) or g.company_id <> p.company_id)`,
      broken: "allows more than the grant it came from.",
      advice: revokeIt,
    },
    "grant-holder": {
      statement: "A grant was passed on by the agent that holds the grant it came from.",
      subject: "grants",
      find: `select g.id from grants g join grants p on p.id = g.parent_id where {here}
      and (g.granted_by is distinct from p.grantee_id or g.structural <> p.structural)`,
      broken: "was passed on by an agent that does not hold the grant it came from.",
      advice: revokeIt,
    },
    "grant-root": {
      statement:
        "A grant that came from no other grant came from the board, from creation, or from a manager's position.",
      subject: "grants",
      find: `select g.id from grants g where {here} and g.parent_id is null
      and (g.structural = 1) <> (g.granted_by is not null)`,
      broken: "comes from nowhere: no grant, no manager and no decision of the board.",
      advice: revokeIt,
    },
    "grant-manager": {
      statement:
        "A valid grant that an agent gave was given to one of its reports; the root agent gives org:hire to anyone.",
      subject: "grants",
      find: `select g.id from grants g join agents a on a.id = g.grantee_id join agents b on b.id = g.granted_by
      where {here} and g.broken = 0 and a.boss_id is distinct from g.granted_by
        and not (g.resource = 'org:hire' and b.boss_id is null)`,
      broken: "is valid, although the agent that gave it is not the holder's manager.",
      advice: revokeIt,
    },
    "grant-count": {
      statement:
        "Every grant counts the reasons against it: its own (revoked, scope ended, holder left) and those of the grant it came from.",
      subject: "grants",
      // By induction along the chain this checks the whole count, without walking the chain for each grant.
      find: `select g.id from grants g left join grants p on p.id = g.parent_id
        left join outcomes s on s.id = g.scope_id left join agents a on a.id = g.grantee_id
      where {here} and g.broken <> coalesce(p.broken, 0) + (case when g.revoked_at is null then 0 else 1 end)
        + (case when s.status ${live} then 0 else 1 end) + (case when a.status <> 'terminated' then 0 else 1 end)`,
      broken:
        "counts the reasons against it wrong, so it may be valid when it should not be, or the reverse.",
      repair: async ({ tx }, id) => recount(tx, (await rootOf(tx, id)).id),
    },
  }),
  ...invariantsOf("history", {
    "grant-company": {
      statement: "The holder and the scope of every grant exist in its company.",
      subject: "grants",
      find: `select g.id from grants g where {here} and (
        not exists (select 1 from agents a where a.id = g.grantee_id and a.company_id = g.company_id)
        or not exists (select 1 from outcomes o where o.id = g.scope_id and o.company_id = g.company_id))`,
      broken: "has a holder or a scope that does not exist in its company.",
      advice: revokeIt,
    },
    "grant-creator": {
      statement: "Every agent has a grant for each file it created.",
      subject: "files",
      find: `select f.id from files f join versions v on v.file_id = f.id and v.version = 1
      where {here} and f.kind = 'file' and v.author_agent_id is not null and not exists (
        select 1 from grants g where g.grantee_id = v.author_agent_id and g.resource = 'kb:' || f.id
          and g.origin = 'creation')`,
      broken: "has no grant for the agent that created it.",
      advice: "Give the creator the right again: `agency access grant <agent> kb:{id} --level write`.",
    },
  }),
];
