import { agentById, type AgentRow } from "../agents/table.ts";
import { nameKey } from "../agents/agent.ts";
import { type Member, memberById } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import { append, system } from "../events/ledger.ts";
import { notify } from "../mail/operations.ts";
import { post, settleInbox } from "../mail/post.ts";
import { markAcknowledged, type MessageRow } from "../mail/table.ts";
import { query } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { usageIn } from "./processes.ts";
import type { SessionRow } from "./sessions.ts";

/**
 * What a session says last. If its first line is `@somebody`, the rest goes to that inbox, where the agent may write
 * there; with autoReply, words without an address answer the message that woke the session. So an agent needs no tools to
 * take part. What may not be sent goes to its boss instead of nowhere. A chain of such replies without a person in it
 * ends after a few turns, and the board is told.
 */
const mostTurns = 5;

interface Words {
  /** Null: no address. */
  readonly to: string | null;
  readonly body: string;
}

export async function routeWords(
  tx: Tx,
  session: SessionRow,
  said: string,
  newId: () => string,
): Promise<void> {
  const agent = await agentById(tx, session.agent_id);
  const words = wordsIn(said);
  if (words.body === "" || session.ended_at !== null) return;
  if (words.to === null && agent.auto_reply === 0) return;
  const woken = await tx.first(wokenBy, { agentId: agent.id, started: session.started_at });
  const target = await targetOf(tx, agent, words, woken);
  const call = { tx, companyId: agent.company_id, newId };
  const turn = (woken?.auto_turn ?? 0) + 1;
  const isPerson = target === null || target?.brain_type === "human";
  if (target === undefined) {
    // A notice of the system needs no answer; an address that leads nowhere does.
    if (words.to !== null) await toBoss(call, agent, words, `there is no ${words.to}`);
  } else if (!isPerson && turn > mostTurns) {
    const names = `${agent.name} and ${target.name}`;
    await record(tx, agent, session, { to: target.id, stopped: turn });
    await notify(
      call,
      null,
      `${names} have answered each other ${mostTurns} times without a person, so it was stopped. The last words of ${agent.name}, which were not sent:\n\n${words.body}`,
    );
  } else if (await holds(tx, agent.id, target === null ? "mail:board" : `mail:${target.id}`, "send")) {
    const id = newId();
    await record(tx, agent, session, { to: target?.id ?? null, message: id, turn });
    await post(
      tx,
      {
        id,
        companyId: agent.company_id,
        from: agent.id,
        to: target?.id ?? null,
        content: { fileId: newId(), text: words.body },
        deliverAt: tx.now,
        autoTurn: turn,
      },
      newId,
    );
  } else await toBoss(call, agent, words, `it may not write to ${target?.name ?? "the board"}`);
  // A brain without tools cannot say that it is done with the message; its answer says so.
  if (agent.auto_reply === 1 && woken?.acknowledged_at === null) {
    await tx.run(markAcknowledged, { id: woken.id, result: "answered", now: tx.now });
    await append(tx, {
      companyId: agent.company_id,
      actor: { kind: "agent", agentId: agent.id, sessionId: session.id },
      operation: "mail.acknowledge",
      subject: agent.id,
      data: { message: woken.id, result: "answered" },
    });
    await settleInbox(tx, agent.company_id, agent.id);
  }
}

/** The address is the whole first line after the @; what is left of a line with more words on it is part of the text. */
export function wordsIn(said: string): Words {
  const lines = said.split("\n").filter((line) => usageIn(line) === undefined);
  const text = lines.join("\n").trim();
  const match = /^@([^\n]+)(?:\n([\s\S]*))?$/.exec(text);
  if (match === null) return { to: null, body: text };
  return { to: (match[1] ?? "").trim(), body: (match[2] ?? "").trim() };
}

type Target = (Member & { brain_type: string }) | null | undefined;

/** Null: the board. Undefined: nobody. */
async function targetOf(
  tx: ReadTx,
  agent: AgentRow,
  words: Words,
  woken: MessageRow | undefined,
): Promise<Target> {
  if (words.to === null) {
    if (woken === undefined || woken.from_system === 1) return undefined;
    return woken.from_id === null ? null : withBrain(tx, await memberById(tx, woken.from_id));
  }
  const key = nameKey(words.to.replace(/[,:;.!]+$/, ""));
  if (["human", "user", "board"].includes(key)) return null;
  if (key === "boss")
    return agent.boss_id === null ? null : withBrain(tx, await memberById(tx, agent.boss_id));
  const found = await tx.first(addressed, { companyId: agent.company_id, key });
  return found === undefined || found.id === agent.id
    ? undefined
    : withBrain(tx, await memberById(tx, found.id));
}

async function withBrain(tx: ReadTx, member: Member | undefined): Promise<Target> {
  return member === undefined
    ? undefined
    : { ...member, brain_type: (await agentById(tx, member.id)).brain_type };
}

async function toBoss(
  call: { tx: Tx; companyId: string; newId: () => string },
  agent: AgentRow,
  words: Words,
  why: string,
): Promise<void> {
  await notify(
    call,
    agent.boss_id,
    `${agent.name} said this to @${words.to ?? ""}, but ${why}:\n\n${words.body}`,
  );
}

async function record(
  tx: Tx,
  agent: AgentRow,
  session: SessionRow,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  await append(tx, {
    companyId: agent.company_id,
    actor: { ...system, agentId: null },
    operation: "mail.reply",
    subject: agent.id,
    data: { session: session.id, ...data },
  });
}

/** The first message that waited when the session began, also if the session dealt with it meanwhile. */
const wokenBy = query((db, p: { agentId: string; started: number }) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("to_id", "=", p.agentId)
    .where("delivered_at", "<=", p.started)
    .where((eb) => eb.or([eb("acknowledged_at", "is", null), eb("acknowledged_at", ">=", p.started)]))
    .orderBy("num")
    .limit(1),
);

const addressed = query((db, p: { companyId: string; key: string }) =>
  db
    .selectFrom("agents")
    .select("id")
    .where("company_id", "=", p.companyId)
    .where("status", "in", ["idle", "paused"])
    .where((eb) => eb.or([eb("id", "=", p.key), eb("slug", "=", p.key), eb("name_key", "=", p.key)]))
    .orderBy("created_at")
    .limit(1),
);
