import { sql } from "kysely";
import { bySystem, type CallContext, type Writing } from "../../dispatch/context.ts";
import { lookOf, nameKey } from "../../contract/names.ts";
import { refusalOf } from "../../contract/refusal.ts";
import { agentById, type AgentRow } from "../../agents/table.ts";
import { isActive, type Member, memberById, memberCalled } from "../../capabilities/members.ts";
import { tellOfLimit, tellOnce } from "../../mail/notices.ts";
import { acknowledge } from "../../mail/operations.ts";
import { notify } from "../../mail/notices.ts";
import { type Letter, post, wayTo } from "../../mail/post.ts";
import type { MessageRow } from "../../mail/table.ts";
import { selection } from "../../store/query.ts";
import type { ReadTx } from "../../store/store.ts";
import { usageIn } from "../../processes/usage-line.ts";
import type { SessionRow } from "../sessions.ts";
import {
  asClause,
  chainEnded,
  chainStopped,
  receiverLeft,
  keepsWriting,
  misaddressed,
  unknownReceiver,
  withoutRoute,
} from "./texts.ts";

/**
 * Messages in a session's final output. If its first line is `@<name>`, the rest goes to that inbox, if the agent may write
 * there. With autoReply, an output without an address answers the message that woke the session. So an agent needs no tools to
 * take part. A text that can't be sent goes back to its author alone. A chain of such replies without a person in it ends after
 * `mostTurns` turns, and the board is told.
 */
export const mostTurns = 5;

interface Words {
  /** Null if there is no address. */
  readonly to: string | null;
  readonly body: string;
}

export async function routeWords(
  call: CallContext,
  agent: AgentRow,
  session: SessionRow,
  words: Words,
  /** Whether the session was started for the inbox. Only then was it woken by a message. */
  isTriage: boolean,
  /** The messages that a brain without tools was shown. Its reply acknowledges one of them. */
  shown: readonly MessageRow[],
): Promise<void> {
  const { tx, companyId, newId } = call;
  if (words.to === null && (words.body === "" || agent.auto_reply === 0 || !isTriage)) return;
  const woken = await tx.first(wokenBy, { to_id: agent.id, started: session.started_at });
  const { target, body, gone } = await addressIn(tx, agent, words, woken);
  if (body === "") return;
  const turn = (woken?.auto_turn ?? 0) + 1;
  const reply = { call: bySystem(tx, companyId, newId), agent, session, words: { ...words, body }, turn };
  const isSent = await sendWords(call, reply, target, woken, gone);
  // A brain without tools can't acknowledge a message, so its reply counts as acknowledgement.
  const written = shown.filter(({ from_system }) => from_system === 0);
  const from = target?.id ?? null;
  const settled =
    agent.auto_reply === 1 && isTriage
      ? woken
      : (written.find(({ from_id }) => from_id === from) ?? written[0]);
  if (settled?.acknowledged_at !== null) return;
  await acknowledge(
    call,
    settled,
    settled.from_system === 1 ? "shown" : isSent ? "answered" : "no answer was sent",
  );
}

/** Sends the text, or returns it to its author. */
async function sendWords(
  call: CallContext,
  reply: Reply,
  target: Target,
  woken: MessageRow | undefined,
  gone: string | undefined,
): Promise<boolean> {
  const { agent, words, turn } = reply;
  const { tx } = call;
  if (target === undefined) {
    // An output without an address after a notice of the system is dropped. An unknown address is reported.
    if (words.to === null) return false;
    const name = nameIn(gone ?? words.to);
    return giveBack(reply, name, gone === undefined ? unknownReceiver(name) : receiverLeft(name));
  }
  const to = target?.id ?? null;
  const name = target?.name ?? "the board";
  if (target !== null && !isActive(target)) return giveBack(reply, name, receiverLeft(name));
  const asked = woken?.from_id === to && woken.from_system === 0 ? woken.id : undefined;
  const way = await wayTo(tx, agent.id, to, asked);
  // A session that answered the message itself need not answer it again.
  if (way === undefined) return words.to === null ? false : giveBack(reply, name, withoutRoute(name));
  const letter = {
    id: call.newId(),
    from: agent.id,
    to,
    content: { text: words.body },
    autoTurn: turn,
    inReplyTo: way.by === "answer" ? way.inReplyTo : (asked ?? null),
    byAnswer: way.by === "answer",
  };
  if (isProgram(target) && turn > mostTurns) return stop(reply, target, letter);
  const refusal = await refusalOf(
    tx.attempt(async () => {
      await recordReply(reply, { to, message: letter.id, turn });
      await post(call, letter);
    }),
  );
  if (refusal === undefined) return true;
  await tellOfLimit(reply.call, agent.id, refusal);
  return giveBack(reply, name, asClause(refusal.message));
}

/** The address is the whole first line after the @. addressIn() finds where it ends. */
export function wordsIn(said: string): Words {
  const lines = said.split("\n").filter((line) => usageIn(line) === undefined);
  const text = lines.join("\n").trim();
  const match = /^@([^\n]+)(?:\n([\s\S]*))?$/.exec(text);
  if (match === null) return { to: null, body: text };
  return { to: (match[1] ?? "").trim(), body: (match[2] ?? "").trim() };
}

/** Null is the board. Undefined means that there is no such agent. */
type Target = (Member & { brain_type: string }) | null | undefined;

/**
 * A name may contain spaces, and text may follow it on the same line. The longest beginning of the line that names an agent is
 * the address. The rest of the line belongs to the text.
 */
async function addressIn(
  tx: ReadTx,
  agent: AgentRow,
  words: Words,
  woken: MessageRow | undefined,
): Promise<{ target: Target; body: string; gone?: string }> {
  const { to, body } = words;
  if (to === null) {
    const isAnswerable = woken !== undefined && woken.from_system === 0;
    return { target: isAnswerable ? await memberOrBoard(tx, woken.from_id) : undefined, body };
  }
  const ends = [...to.matchAll(/\S+/g)].slice(0, mostWords).map((word) => word.index + word[0].length);
  for (const end of ends.toReversed()) {
    const target = await called(tx, agent, to.slice(0, end));
    const rest = [to.slice(end).trim(), body].filter((part) => part !== "").join("\n");
    if (target !== undefined) return { target, body: rest };
    // "@Ann Smith" does not address Ann, even after Ann Smith has left.
    const gone = await departedCalled(tx, agent.company_id, to.slice(0, end));
    if (gone !== undefined) return { target, body: rest, gone };
  }
  return { target: undefined, body: body === "" ? `@${to}` : body };
}

/** A name has at most 64 characters, so at most 32 words. */
const mostWords = 32;

async function called(tx: ReadTx, agent: AgentRow, name: string): Promise<Target> {
  for (const spelling of new Set([name, name.replace(/[,:;.!]+$/, "")])) {
    const key = nameKey(spelling);
    if (["human", "user", "board"].includes(key)) return null;
    if (key === "boss") return memberOrBoard(tx, agent.boss_id);
    const found = await memberCalled(tx, agent.company_id, spelling);
    if (found !== undefined && found.id !== agent.id && isActive(found)) return memberOrBoard(tx, found.id);
  }
  return undefined;
}

async function memberOrBoard(tx: ReadTx, id: string | null): Promise<Target> {
  if (id === null) return null;
  const member = await memberById(tx, id);
  return member === undefined
    ? undefined
    : { ...member, brain_type: (await agentById(tx, member.id)).brain_type };
}

interface Reply {
  readonly call: Writing;
  readonly agent: AgentRow;
  readonly session: SessionRow;
  readonly words: Words;
  readonly turn: number;
}

/** Returns the text to its author, with the reason. After a few turns only the board is told, without the text. */
async function giveBack({ call, agent, words, turn }: Reply, to: string, why: string): Promise<false> {
  if (turn <= mostTurns) await notify(call, agent.id, misaddressed(to, why, words.body), turn);
  else
    await tellOnce(call, {
      about: agent.id,
      kind: "misaddressed",
      to: null,
      text: keepsWriting(agent, to),
    });
  return false;
}

/**
 * Stops the chain. The text stays with its author, as a message that was not delivered, because a notice would wake the author
 * once more.
 */
async function stop(reply: Reply, target: Member, letter: Letter): Promise<false> {
  const { call, agent, turn } = reply;
  await recordReply(reply, { to: target.id, stopped: turn });
  const { id } = await post(call, { ...letter, failure: chainEnded(mostTurns) });
  await tellOnce(call, {
    about: agent.id,
    kind: `chain with ${target.id}`,
    to: null,
    text: chainStopped(agent.name, target.name, mostTurns, id),
  });
  return false;
}

function isProgram(target: Target): target is Member & { brain_type: string } {
  return target !== null && target !== undefined && target.brain_type !== "human";
}

/** The author may have put a long text in place of the name. */
const nameIn = (to: string): string => (to.length > 80 ? `${to.slice(0, 80).toWellFormed()}…` : to);

async function recordReply(
  { call, agent, session }: Reply,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  await call.record(agent.id, { session: session.id, ...data }, "mail.reply");
}

/**
 * The oldest message that was waiting when the session started, even if the session acknowledged it since. A message of an
 * agent or a person comes before notices. A message that the previous session acknowledged in the same millisecond does not
 * count.
 */
const wokenBy = selection(
  "messages",
  ["to_id"],
  (p: { started: number }) => sql`and delivered_at <= ${p.started}
    and (acknowledged_at is null or acknowledged_at > ${p.started}) order by from_system, num limit 1`,
);

/** The name of a departed agent that this word means, unless an employed agent has the name. */
async function departedCalled(tx: ReadTx, companyId: string, name: string): Promise<string | undefined> {
  for (const spelling of new Set([name, name.replace(/[,:;.!]+$/, "")])) {
    const key = nameKey(spelling);
    const found = await tx.first(departed, { company_id: companyId, key, look: lookOf(spelling) });
    if (found !== undefined) return found.name;
  }
  return undefined;
}

const departed = selection(
  "agents",
  ["company_id"],
  (p: { key: string; look: string }) =>
    sql`and status = 'terminated' and (slug = ${p.key} or name_key = ${p.look}) limit 1`,
);
