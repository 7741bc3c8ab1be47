import { dropReservations } from "../budgets/table.ts";
import { balanceInbox } from "../mail/inbox.ts";
import { active, invariantsOf, live } from "./invariant.ts";

/** Invariants of sessions, mail and budgets, which change all day. */

const endSession =
  "End the session by pausing its agent, which `agency sessions view {id}` names: `agency agents pause <agent>`, then `agency agents resume <agent>`.";

export const workInvariants = [
  ...invariantsOf("work", {
    "session-current": {
      statement:
        "A live session belongs to an active agent that is not paused, and has the agent's newest epoch.",
      subject: "sessions",
      find: `select s.id from sessions s left join agents a on a.id = s.agent_id where {here} and s.ended_at is null
      and (a.id is null or a.status <> 'idle' or a.epoch <> s.epoch)`,
      broken: "is live, but its agent may not work or has a newer session.",
      advice: endSession,
    },
    "session-single": {
      statement: "An agent has at most one live session.",
      subject: "sessions",
      find: `select s.id from sessions s where {here} and s.ended_at is null and exists (
        select 1 from sessions n where n.agent_id = s.agent_id and n.ended_at is null and n.id <> s.id)`,
      broken: "is one of several live sessions of the same agent.",
      advice: endSession,
    },
    "session-reservation": {
      statement: "Nothing is reserved for a session that is over and whose process is gone.",
      subject: "sessions",
      find: `select s.id from reservations r join sessions s on s.id = r.session_id
      where {here} and s.settled = 1 and s.pid is null`,
      broken: "is over, but a part of a budget is still reserved for it.",
      repair: ({ tx }, id) => tx.run(dropReservations, { session_id: id }),
    },
    "inbox-outcome": {
      statement: "An active agent has one open inbox outcome while messages wait for it, and none otherwise.",
      subject: "agents",
      find: `select a.id from agents a where {here} and a.status ${active} and (
        select count(*) from outcomes o where o.responsible_id = a.id and o.kind = 'inbox' and o.status ${live})
        <> (case when exists (select 1 from messages m where m.to_id = a.id and m.company_id = a.company_id
          and m.delivered_at is not null and m.acknowledged_at is null) then 1 else 0 end)`,
      broken: "has waiting messages without an inbox outcome, or one inbox outcome too many.",
      repair: ({ tx, companyId, newId }, id) => balanceInbox(tx, companyId, id, newId),
    },
    "message-times": {
      statement:
        "A message is not delivered early, not both delivered and failed, and not acknowledged before delivery.",
      subject: "messages",
      find: `select m.id from messages m where {here} and (m.delivered_at < m.deliver_at
      or (m.delivered_at is not null and m.failure is not null)
      or (m.acknowledged_at is not null and m.delivered_at is null and m.failure is null))`,
      broken:
        "was delivered early, is both delivered and failed, or was acknowledged before it was delivered.",
      advice:
        "The message's history is wrong; nothing else depends on it. Ask its sender to send it again if it was not answered.",
    },
    "budget-room": {
      statement:
        "An agent's budget has never spent, reserved and given to agents below it more than its limit.",
      subject: "budgets",
      find: `with recursive under(pool, measure, id) as (
        select b.agent_id, b.measure, a.id from budgets b join agents a on a.boss_id = b.agent_id where {here}
        union select u.pool, u.measure, a.id from under u join agents a on a.boss_id = u.id
          where not exists (select 1 from budgets x where x.agent_id = u.id and x.measure = u.measure)),
      given(pool, measure, amount) as (
        select u.pool, u.measure, sum(x.amount) from under u
          join budgets x on x.agent_id = u.id and x.measure = u.measure group by u.pool, u.measure)
      select b.agent_id as id from budgets b left join given on given.pool = b.agent_id and given.measure = b.measure
      where {here} and b.amount < coalesce(given.amount, 0)
        + coalesce((select c.amount from charges c where c.pool_id = b.agent_id and c.measure = b.measure
          and c.month = (select max(month) from charges)), 0)
        + coalesce((select sum(r.amount) from reservations r where r.pool_id = b.agent_id and r.measure = b.measure), 0)`,
      broken: "has given out more than its limit.",
      advice:
        "Raise the budget, or lower the budgets of the agents below: `agency agents budget {id}`. The company's own budget is not checked: it alone may be overdrawn.",
    },
    "budget-holder": {
      statement: "Only an active agent has a budget.",
      subject: "budgets",
      find: `select b.agent_id as id from budgets b left join agents a on a.id = b.agent_id
      where {here} and (a.id is null or a.status not ${active})`,
      broken: "belongs to an agent that has left or is not approved.",
      advice:
        "It counts against the manager's budget until it is gone. Delete the row of this agent from the table budgets while the daemon is stopped.",
    },
    "budget-pause": {
      statement: "An agent that a budget has paused is paused.",
      subject: "agents",
      find: `select a.id from budget_pauses x join agents a on a.id = x.agent_id where {here} and a.status <> 'paused'`,
      broken: "is marked as paused by a budget, but is not paused.",
      advice:
        "Pause and resume the agent, which clears the mark: `agency agents pause {id}`, then `agency agents resume {id}`.",
    },
  }),
  ...invariantsOf("history", {
    "session-epoch": {
      statement: "Every session of an agent has its own epoch, and none is above the agent's.",
      subject: "agents",
      find: `select a.id from agents a where {here} and (
        exists (select 1 from sessions s where s.agent_id = a.id and s.epoch > a.epoch)
        or (select count(*) - count(distinct s.epoch) from sessions s where s.agent_id = a.id) > 0)`,
      broken: "has two sessions with the same epoch, or one with an epoch above its own.",
      advice:
        "Pause and resume the agent, which gives it a new epoch: `agency agents pause {id}`, then `agency agents resume {id}`. Ended sessions with the same epoch do no harm.",
    },
    "session-credential": {
      statement: "Every session has a credential.",
      subject: "sessions",
      find: `select s.id from sessions s where {here} and not exists (
        select 1 from credentials c where c.agent_id = s.agent_id and c.session_id = s.id)`,
      broken: "has no credential, so none of its calls is accepted.",
      advice: endSession,
    },
    "message-file": {
      statement: "Every message has a file with its text.",
      subject: "messages",
      find: `select m.id from messages m where {here} and not exists (
        select 1 from files f where f.id = m.file_id and f.company_id = m.company_id)`,
      broken: "has no file, so it cannot be read.",
      advice: "Its text is lost. Restore a backup, or ask its sender to send it again.",
    },
    "message-enclosure": {
      statement: "Every file that goes with a message exists, at the version that was sent.",
      subject: "messages",
      find: `select m.id from messages m join enclosures e on e.message_id = m.id where {here} and not exists (
        select 1 from versions v join files f on f.id = v.file_id
          where v.file_id = e.file_id and v.version = e.version and f.company_id = m.company_id)`,
      broken: "names a version of a file that does not exist.",
      advice: "Its receiver can't read that file. Restore a backup, or ask its sender to send it again.",
    },
    "message-departed": {
      statement: "No message is delivered to an agent after it has left.",
      subject: "messages",
      // With a minute's tolerance: on PostgreSQL, transactions that waited for each other may be dated in the wrong order.
      find: `select m.id from messages m join agents a on a.id = m.to_id
      where {here} and a.status = 'terminated' and m.delivered_at > a.ended_at + 60000`,
      broken: "was delivered to an agent that had already left, so no agent reads it.",
      advice:
        "Read it (`agency mail view {id}`) and send its text to the agent's manager: `agency send <body>`.",
    },
  }),
];
