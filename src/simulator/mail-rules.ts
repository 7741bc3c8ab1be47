import { sql } from "kysely";
import { query } from "../store/query.ts";
import type { ReadTx } from "../store/store.ts";
import { Broken } from "./broken.ts";
import type { EventRow, ShownEvent, WatchedMember } from "./ledger-rules.ts";

/**
 * Follows messages in the ledger:
 *
 *   sent ─▶ delivered, failed, cancelled        failed, cancelled: its writer may answer the same message again
 *
 * The rules of mail routes and answers are repeated here on purpose, so a bug in the product can't hide itself.
 */
type End = "delivered" | "failed" | "cancelled";

/** The facts about agents that the mail model needs from the ledger. */
interface Around {
  readonly members: ReadonlyMap<string, WatchedMember>;
  /** Whether the agent is approved later in the same step. */
  readonly isApproved: (agentId: string) => boolean;
  readonly name: (kind: string, id: string | null) => string;
}

export class MailModel {
  /** Mail routes that the board opened, as `from to`. */
  readonly routes = new Set<string>();
  readonly ends = new Map<string, End>();
  /** Messages sent by the right to answer. */
  readonly #answers = new Set<string>();
  /** The answers to each message by each agent, as `message agent`. */
  readonly #answered = new Map<string, string>();

  async see(...[tx, row, data, batch, around]: [...ShownEvent, Around]): Promise<void> {
    const id = String(data["message"]);
    switch (row.operation) {
      case "mail.send":
      case "mail.send_deferred":
        if (data["byAnswer"] === true) await this.#answer(tx, row, id, String(data["inReplyTo"]));
        return;
      case "mail.cancel":
        return this.#cancel(row, id, data["from"], around);
      case "mail.deliver":
      case "mail.fail":
        return this.#end(tx, row, id, batch, around);
      case "permission.grant":
        if (String(data["resource"]).startsWith("mail:")) this.routes.add(routeIn(row, data));
        return;
      case "permission.revoke":
        this.routes.delete(routeIn(row, data));
        return;
      default:
    }
  }

  /** Checks an answer of an agent without a mail route: one for each message, and none to an answer. */
  async #answer(tx: ReadTx, row: EventRow, id: string, asked: string): Promise<void> {
    this.#answers.add(id);
    const key = `${asked} ${row.agent_id}`;
    const earlier = this.#answered.get(key);
    const isOver = earlier === undefined ? undefined : this.ends.get(earlier);
    if (earlier !== undefined && isOver !== "failed" && isOver !== "cancelled")
      throw new Broken("a message is answered once without a mail route", `${id} after ${earlier}`);
    this.#answered.set(key, id);
    if (this.#answers.has(asked))
      throw new Broken("an answer gives no right to answer it", `${id} to ${asked}`);
    const message = await tx.first(messageRow, { id: asked });
    const isWriters =
      message?.from_system === 0 && message.from_id === (await tx.first(messageRow, { id }))?.to_id;
    if (this.ends.get(asked) !== "delivered" || !isWriters)
      throw new Broken("only the writer of a delivered message gets the answer", `${id} to ${asked}`);
  }

  #cancel(row: EventRow, id: string, from: unknown, { name }: Around): void {
    if (row.actor_kind === "agent" && row.agent_id !== from)
      throw new Broken("only its sender or the board cancels a message", name("message", id));
    if (this.ends.has(id))
      throw new Broken("a message is cancelled only before it is delivered", name("message", id));
    this.ends.set(id, "cancelled");
  }

  async #end(
    tx: ReadTx,
    row: EventRow,
    id: string,
    batch: readonly EventRow[],
    { members, isApproved, name: called }: Around,
  ): Promise<void> {
    const message = await tx.first(messageRow, { id });
    const name = called("message", id);
    if (message === undefined) throw new Broken("an event matches what happened", `${name} is missing`);
    const opened = `mail:${message.to_id ?? "board"}` as const;
    const grant = await tx.first(standingRoute, { agentId: message.from_id ?? "", resource: opened });
    // If a later event of the same step changed the right, its present state says nothing about this moment.
    const changed = batch.some(({ seq, operation }) => seq > row.seq && changesRights.test(operation));
    // No mail reaches a pending agent. The approval that makes it active is recorded after the mail that comes with it.
    const to = message.to_id ?? "";
    const isPending = members.get(to)?.status === "pending" && !isApproved(to);
    const line = isPending ? false : routeAllows(members, message);
    // The receiver wrote first, so this answer needs no route.
    const isAnswer = message.by_answer === 1 && (await tx.first(answered, { id })) !== undefined;
    const allowed = isAnswer
      ? undefined
      : line === "with a grant"
        ? grant !== undefined
          ? true
          : changed
            ? undefined
            : false
        : line;
    const end = this.ends.get(id);
    if (end !== undefined)
      throw new Broken("a message is delivered, fails or is cancelled, once", `${name}: ${end}`);
    this.ends.set(id, row.operation === "mail.deliver" ? "delivered" : "failed");
    if (row.at < message.deliver_at)
      throw new Broken("no message is delivered early", `${name}, by ${message.deliver_at - row.at} ms`);
    const route = `${name} from ${called("agent", message.from_id)} to ${called("agent", message.to_id)}`;
    if (row.operation === "mail.deliver" && allowed === false)
      throw new Broken("mail is delivered only along allowed routes", route);
    if (row.operation === "mail.fail" && allowed === true)
      throw new Broken("mail on an allowed route does not fail", route);
  }
}

const routeIn = ({ subject }: EventRow, data: Readonly<Record<string, unknown>>): string =>
  `${subject ?? ""} ${String(data["resource"]).slice("mail:".length)}`;

/** Whether the reporting lines in the ledger allow this message. "with a grant" means that it needs a mail route. */
function routeAllows(
  members: ReadonlyMap<string, WatchedMember>,
  message: { from_id: string | null; from_system: number; to_id: string | null },
): boolean | "with a grant" {
  const receiver = message.to_id === null ? null : members.get(message.to_id);
  if (receiver === undefined || receiver?.status === "terminated") return false;
  if (message.from_id === null || message.from_system === 1) return true;
  const sender = members.get(message.from_id);
  if (sender === undefined || sender.status === "terminated") return false;
  const neighbours =
    receiver === null
      ? sender.boss === null
      : receiver.id === sender.id || receiver.boss === sender.id || sender.boss === receiver.id;
  return neighbours || "with a grant";
}

const changesRights = /^(?:permission|agent)\.|^outcome\.(?:complete|close|reopen|delegate|reclaim)$/;

/** The grant that allows an agent to write to another. */
export const standingRoute = query((db, p: { agentId: string; resource: `mail:${string}` }) =>
  db
    .selectFrom("grants")
    .select("id")
    .where("grantee_id", "=", p.agentId)
    .where("resource", "=", p.resource)
    .where("broken", "=", 0)
    .limit(1),
);
/** The message that this one answers: delivered, and written by its receiver. */
const answered = query((db, p: { id: string }) =>
  db
    .selectFrom("messages as a")
    .innerJoin("messages as m", "m.id", "a.in_reply_to")
    .select("m.id")
    .where("a.id", "=", p.id)
    .where("m.delivered_at", "is not", null)
    .where("m.from_system", "=", 0)
    .where("m.by_answer", "=", 0)
    .where(sql<boolean>`coalesce(m.from_id, '') = coalesce(a.to_id, '')`),
);
const messageRow = query((db, p: { id: string }) =>
  db
    .selectFrom("messages")
    .select(["from_id", "from_system", "to_id", "deliver_at", "by_answer"])
    .where("id", "=", p.id),
);
