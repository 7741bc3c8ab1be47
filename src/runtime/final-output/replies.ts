import { sql } from "kysely";
import { bySystem, type CallContext, type Writing } from "../../dispatch/context.ts";
import { nameKey } from "../../contract/names.ts";
import { refusalOf } from "../../contract/refusal.ts";
import { agentById, type AgentRow } from "../../agents/table.ts";
import { isActive, type Member, memberById, memberCalled } from "../../capabilities/members.ts";
import { holds } from "../../capabilities/rights.ts";
import { tellOfLimit, tellOnce } from "../../mail/notices.ts";
import { acknowledge, notify } from "../../mail/operations.ts";
import { post } from "../../mail/post.ts";
import type { MessageRow } from "../../mail/table.ts";
import { selection } from "../../store/query.ts";
import type { ReadTx } from "../../store/store.ts";
import { usageIn } from "../../processes/processes.ts";
import type { SessionRow } from "../sessions.ts";
import { chainStopped, misaddressed, unknownReceiver, withoutRoute } from "./texts.ts";

/**
 * Messages in a session's final output. If its first line is `@<name>`, the rest goes to that inbox, if the agent has a mail
 * route there. With autoReply, an output without an address answers the message that woke the session. So an agent needs
 * no tools to take part. A message that may not be sent goes to the agent's manager. A chain of such replies without a
 * person in it ends after `mostTurns` turns, and the board is told.
 */
export const mostTurns = 5;

interface Words {
  /** Null: no address. */
  readonly to: string | null;
  readonly body: string;
}

export async function routeWords(
  call: CallContext,
  agent: AgentRow,
  session: SessionRow,
  words: Words,
  /** For a brain without tools: the messages it was shown. Its reply acknowledges one of them. */
  shown: readonly MessageRow[],
): Promise<void> {
  const { tx, companyId, newId } = call;
  if (words.to === null && (words.body === "" || agent.auto_reply === 0)) return;
  const woken = await tx.first(wokenBy, { to_id: agent.id, started: session.started_at });
  const { target, body } = await addressIn(tx, agent, words, woken);
  if (body === "") return;
  const turn = (woken?.auto_turn ?? 0) + 1;
  const reply = { call: bySystem(tx, companyId, newId), agent, session, words: { ...words, body }, turn };
  if (target === undefined) {
    // An output without an address after a notice of the system is dropped. An unknown address is reported.
    if (words.to !== null) await toBoss(reply, unknownReceiver(nameIn(words.to)), nameIn(words.to));
  } else if (!(await mayWrite(tx, agent, words, target))) {
    const name = target?.name ?? "the board";
    await toBoss(reply, withoutRoute(agent.name, name), name);
  } else if (isProgram(target) && turn > mostTurns) await stop(reply, target);
  else {
    const [id, to] = [newId(), target?.id ?? null];
    const letter = { id, from: agent.id, to, content: { text: body }, autoTurn: turn };
    const refusal = await refusalOf(
      tx.attempt(async () => {
        await recordReply(reply, { to, message: id, turn });
        await post(call, letter);
      }),
    );
    if (refusal !== undefined) await tellOfLimit(reply.call, agent.id, refusal);
  }
  // A brain without tools can't acknowledge a message. Its reply does that.
  const written = shown.filter(({ from_system }) => from_system === 0);
  const from = target?.id ?? null;
  const settled =
    agent.auto_reply === 1 ? woken : (written.find(({ from_id }) => from_id === from) ?? written[0]);
  if (settled?.acknowledged_at === null) await acknowledge(call, settled, "answered");
}

/** Takes the whole first line after the @ as the address; addressIn() finds where it ends. NUL can't be stored. */
export function wordsIn(said: string): Words {
  const lines = said.split("\n").filter((line) => usageIn(line) === undefined);
  const text = lines.join("\n").replaceAll("\u0000", "").trim();
  const match = /^@([^\n]+)(?:\n([\s\S]*))?$/.exec(text);
  if (match === null) return { to: null, body: text };
  return { to: (match[1] ?? "").trim(), body: (match[2] ?? "").trim() };
}

/** Answering the board needs no right, because the board wrote first. */
async function mayWrite(
  tx: ReadTx,
  agent: AgentRow,
  words: Pick<Words, "to">,
  target: Pick<Member, "id"> | null,
): Promise<boolean> {
  if (target === null && words.to === null) return true;
  return holds(tx, agent.id, target === null ? "mail:board" : `mail:${target.id}`, "send");
}

/** Null: the board. Undefined: no such agent. */
type Target = (Member & { brain_type: string }) | null | undefined;

/**
 * A name may contain spaces, and text may follow it on the same line. The longest beginning of the line that names an agent
 * is the address; the rest of the line belongs to the text.
 */
async function addressIn(
  tx: ReadTx,
  agent: AgentRow,
  words: Words,
  woken: MessageRow | undefined,
): Promise<{ target: Target; body: string }> {
  const { to, body } = words;
  if (to === null) {
    const isAnswerable = woken !== undefined && woken.from_system === 0;
    return { target: isAnswerable ? await memberOrBoard(tx, woken.from_id) : undefined, body };
  }
  const ends = [...to.matchAll(/\S+/g)].slice(0, mostWords).map((word) => word.index + word[0].length);
  for (const end of ends.toReversed()) {
    const target = await called(tx, agent, to.slice(0, end));
    if (target !== undefined)
      return { target, body: [to.slice(end).trim(), body].filter((part) => part !== "").join("\n") };
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

async function toBoss(reply: Reply, why: string, to: string): Promise<void> {
  const { call, agent, words, turn } = reply;
  const boss = await memberOrBoard(call.tx, agent.boss_id);
  if (isProgram(boss) && turn > mostTurns) return stop(reply, boss);
  const text = misaddressed(agent.name, to, why, words.body);
  if (agent.boss_id !== null) await notify(call, agent.boss_id, text, turn);
  else await tellOnce(call, { about: agent.id, kind: `misaddressed ${to}`, to: null, text });
}

async function stop(reply: Reply, target: Member): Promise<void> {
  const { call, agent, words, turn } = reply;
  await recordReply(reply, { to: target.id, stopped: turn });
  await tellOnce(call, {
    about: agent.id,
    kind: `chain with ${target.id}`,
    to: null,
    text: chainStopped(agent.name, target.name, mostTurns, words.body),
  });
}

function isProgram(target: Target): target is Member & { brain_type: string } {
  return target !== null && target !== undefined && target.brain_type !== "human";
}

/** The text in place of a name can be long. */
const nameIn = (to: string): string => (to.length > 80 ? `${to.slice(0, 80).toWellFormed()}…` : to);

async function recordReply(
  { call, agent, session }: Reply,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  await call.record(agent.id, { session: session.id, ...data }, "mail.reply");
}

/**
 * The oldest message that was waiting when the session started, even if the session acknowledged it since. A message that
 * the previous session acknowledged in that same millisecond does not count.
 */
const wokenBy = selection(
  "messages",
  ["to_id"],
  (p: { started: number }) => sql`and delivered_at <= ${p.started}
    and (acknowledged_at is null or acknowledged_at > ${p.started}) order by num limit 1`,
);
