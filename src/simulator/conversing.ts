import { grantPermission, revokePermission } from "../contract/capabilities.ts";
import { cancelMessage, type Message, sendMessage } from "../contract/mail.ts";
import { query } from "../store/query.ts";
import { Broken } from "./broken.ts";
import { call, isOpenTo, type Player, type SimulatedCaller } from "./calling.ts";
import { standingRoute } from "./mail-rules.ts";
import { look } from "./view.ts";
import type { AnswerOf, World } from "./world.ts";

/** Answers to messages, and deferred messages that are cancelled before they are delivered. */

/** Answers a received message, most often from a writer without a mail route. */
export async function answer(actor: Player): Promise<unknown> {
  const { world, me } = actor;
  const received = await world.store.read((tx) => tx.all(receivedMail, { agentId: me.id }));
  const far = received.filter(({ from_id }) => !isNear(actor, from_id));
  const message = world.chance.pick(far.length > 0 && world.chance.flip(0.8) ? far : received);
  return message === undefined ? undefined : answerTo(actor, message);
}

/** Without a mail route to the writer, one answer is allowed, and none to an answer. */
async function answerTo(actor: Player, message: Received): Promise<AnswerOf<Message>> {
  const { world, me, view, who } = actor;
  const { id, from_id: writer, by_answer } = message;
  const answers = await world.store.read((tx) => tx.all(answersTo, { id, agentId: me.id }));
  const routed = await world.store.read((tx) =>
    tx.first(standingRoute, { agentId: me.id, resource: `mail:${writer ?? "board"}` }),
  );
  const hasRoute = isNear(actor, writer) || routed !== undefined;
  const status = writer === null ? "idle" : view.agents.find((one) => one.id === writer)?.status;
  const isThere = status === "idle" || status === "paused";
  const mayAnswer = hasRoute || (by_answer === 0 && answers.length === 0);
  const isAble = isOpenTo(world, who);
  const sent = await call(actor, sendMessage, { inReplyTo: id, body: world.newKey() });
  if (!actor.alone || sent.kind === "lost") return sent;
  const name = `${who.label} to ${world.trace.name("agent", writer)}, ${answers.length} answers before`;
  if (sent.kind === "ok" && !mayAnswer)
    throw new Broken("a message is answered once without a mail route", name);
  if (sent.kind === "refused" && mayAnswer && isThere && isAble && sent.refusal.code !== "limited")
    throw new Broken("an agent can answer everyone who wrote to it", `${name}: ${sent.refusal.message}`);
  return sent;
}

/**
 * An agent writes to another over a mail route that ends right after. The other may answer once, and the first can't answer
 * that. Programs with the keys of both agents do it in one go, because chance seldom leads there.
 */
export async function correspond(world: World): Promise<void> {
  const { chance, company, watch } = world;
  const view = await look(world.store, company.id);
  const keys = world.keys.filter((who) => watch.accepts(who));
  const sides = [chance.pick(keys), chance.pick(keys)].flatMap((who) => {
    const me = view.agents.find(({ id }) => id === who?.agentId);
    return who === undefined || me === undefined ? [] : [{ world, who, view, me, alone: true }];
  });
  const [writer, reader] = sides;
  if (writer === undefined || reader === undefined || writer.me.id === reader.me.id) return;
  if (isNear(writer, reader.me.id)) return;
  const board: SimulatedCaller = { world, who: world.board, view, alone: true };
  const route = { companyId: company.id, to: writer.me.id, resource: `mail:${reader.me.id}` as const };
  const opened = await call(board, grantPermission, route);
  const sent = await call(writer, sendMessage, { to: reader.me.id, body: world.newKey() });
  if (opened.kind === "ok") await call(board, revokePermission, { id: opened.value.id });
  if (sent.kind !== "ok") return;
  // If the route was not opened, the message may itself be an answer to an earlier one.
  const message = await messageOf(world, sent.value.id);
  if (message === undefined) return;
  const first = await answerTo(reader, message);
  await answerTo(reader, message);
  const back = first.kind === "ok" ? await messageOf(world, first.value.id) : undefined;
  if (back !== undefined) await answerTo(writer, back);
}

const messageOf = (world: World, id: string): Promise<Received | undefined> =>
  world.store.read((tx) => tx.first(messageNow, { id }));

interface Received {
  readonly id: string;
  readonly from_id: string | null;
  readonly by_answer: number;
}

/** Whether the reporting line alone is a mail route. */
function isNear({ me, view }: Player, otherId: string | null): boolean {
  if (otherId === null) return me.boss_id === null;
  return me.boss_id === otherId || view.agents.some(({ id, boss_id }) => id === otherId && boss_id === me.id);
}

/** Cancels a deferred message, mostly one's own. Only the board can cancel that of another sender. */
export async function cancel(caller: SimulatedCaller): Promise<unknown> {
  const { world, who } = caller;
  const pending = await world.store.read((tx) => tx.all(undelivered, { companyId: world.company.id }));
  const own = pending.filter(({ from_id }) => from_id === who.agentId);
  const message = world.chance.pick(world.chance.flip(0.85) && who.agentId !== null ? own : pending);
  if (message === undefined) return;
  const isAllowed = who.agentId === null || message.from_id === who.agentId;
  const isAble = isOpenTo(world, who);
  const cancelled = await call(caller, cancelMessage, { id: message.id });
  if (!caller.alone || cancelled.kind === "lost") return cancelled;
  const name = `${who.label} ${world.trace.name("message", message.id)}`;
  if (cancelled.kind === "ok" && !isAllowed)
    throw new Broken("only its sender or the board cancels a message", name);
  if (cancelled.kind === "refused" && isAllowed && isAble)
    throw new Broken(
      "a message can be cancelled until it is delivered",
      `${name}: ${cancelled.refusal.message}`,
    );
  return cancelled;
}

const receivedMail = query((db, p: { agentId: string }) =>
  db
    .selectFrom("messages")
    .select(["id", "from_id", "by_answer"])
    .where("to_id", "=", p.agentId)
    .where("from_system", "=", 0)
    .where((eb) => eb.or([eb("from_id", "is", null), eb("from_id", "<>", p.agentId)]))
    .where("delivered_at", "is not", null)
    .orderBy("num", "desc")
    .limit(20),
);

const messageNow = query((db, p: { id: string }) =>
  db.selectFrom("messages").select(["id", "from_id", "by_answer"]).where("id", "=", p.id),
);

const answersTo = query((db, p: { id: string; agentId: string }) =>
  db
    .selectFrom("messages")
    .select("id")
    .where("in_reply_to", "=", p.id)
    .where("from_id", "=", p.agentId)
    .where("failure", "is", null),
);

const undelivered = query((db, p: { companyId: string }) =>
  db
    .selectFrom("messages")
    .select(["id", "from_id"])
    .where("company_id", "=", p.companyId)
    .where("delivered_at", "is", null)
    .where("failure", "is", null)
    .where("from_system", "=", 0)
    .orderBy("num")
    .limit(50),
);
