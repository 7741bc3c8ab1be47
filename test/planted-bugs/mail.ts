import type { Bug } from "./resolve.ts";

/** Bugs in mail: delivery, the inbox, answers and cancelled messages, which the simulator must find. */
export const mailBugs: readonly Bug[] = [
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
        in: "dueNow",
        find: 'mail: due("mail"),',
        replace: 'mail: rows.filter((row) => row.kind === "mail" && row.at <= tx.now + 60_000),',
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
        replace: "Map.groupBy(due.filter((row) => Object(row).at >= born),",
      },
    ],
  },
  {
    name: "the delivery of due mail wakes no agent",
    edits: [
      {
        in: "dueNow",
        find: '["mail", "approval", "overdue", "lapsed"]',
        replace: '["approval", "overdue", "lapsed"]',
      },
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
        find: "and status in ('open', 'submitted') and kind = 'inbox'",
        replace: "and kind = 'inbox'",
      },
    ],
  },
  {
    name: "the inbox outcome is not completed",
    edits: [
      {
        in: "acknowledge",
        find: "(await countOthers(tx, companyId, receiver, id)) === 0",
        replace: "(await countOthers(tx, companyId, receiver, id)) < 0",
      },
    ],
  },
  {
    name: "a cancelled message is delivered",
    edits: [{ in: "markCancelled", find: '["failure", "cancelled_at"]', replace: '["cancelled_at"]' }],
  },
  {
    name: "an agent cancels the message of another",
    edits: [
      {
        in: "onCancel",
        find: "if (actor.agentId !== null && message.from_id !== actor.agentId)",
        replace: 'if (actor.agentId === "" && message.from_id !== actor.agentId)',
      },
    ],
  },
  {
    name: "a message is answered more than once without a mail route",
    edits: [
      { in: "answerableTo", find: "and a.failure is null)", replace: "and a.failure is null and 1 = 0)" },
    ],
  },
  {
    name: "an answer can be answered without a mail route",
    edits: [{ in: "answerableTo", find: "and m.by_answer = 0", replace: "" }],
  },
  {
    name: "an agent can't answer without a mail route",
    edits: [
      {
        in: "wayTo",
        find: "const message = await answerable(tx, senderId, toId, inReplyTo);",
        replace:
          "const message = inReplyTo === '' ? await answerable(tx, senderId, toId, inReplyTo) : undefined;",
      },
    ],
  },
];
