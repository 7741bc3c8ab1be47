import { levelOf } from "../capabilities/table.ts";
import { tables } from "../store/schema.ts";
import { JsonObject } from "../contract/words.ts";
import type { Move } from "../contract/reorganization.ts";
import { isResource } from "../contract/resources.ts";
import { unknownValue, type Value } from "../store/columns.ts";
import { query } from "../store/query.ts";
import type { ImagedTable } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import { type Difference, type Images, type Image, rowAt } from "./images.ts";

/** Describes the difference between two states. `what` together with `to` reads as a sentence: "Ada reports to" + "Bob". */
export async function movesIn(
  tx: ReadTx,
  found: readonly Difference[],
  before: Images,
): Promise<{ moves: Move[]; warnings: string[] }> {
  const tell = new Telling(tx, before);
  for (const difference of found) await tell[tellers[difference.table]](difference);
  return { moves: tell.moves, warnings: tell.warnings };
}

const tellers = {
  agents: "agent",
  outcomes: "outcome",
  edges: "edge",
  dependencies: "dependency",
  grants: "grant",
  approvals: "approval",
  permission_requests: "request",
  credentials: "credential",
  messages: "message",
  // funding.ts describes these, because the tree decides which budget is part of which.
  budgets: "nothing",
  budget_pauses: "nothing",
  charges: "nothing",
} as const satisfies Readonly<Record<ImagedTable, string>>;

class Telling {
  readonly moves: Move[] = [];
  readonly warnings: string[] = [];
  readonly #tx: ReadTx;
  readonly #before: Images;
  readonly #leaving = new Set<string>();

  constructor(tx: ReadTx, before: Images) {
    this.#tx = tx;
    this.#before = before;
  }

  async nothing(): Promise<void> {}

  async agent({ key, before, after }: Difference): Promise<void> {
    const id = textIn(key["id"]);
    const now = await this.#row("agents", id);
    const name = textIn(now["name"]);
    const boss = async (of: Value | undefined) => (of === null ? "the board" : this.#agent(textIn(of)));
    if (before === null || after === null) {
      const to = await boss(now["boss_id"]);
      this.#move("agent", id, `${name} joins as ${textIn(now["role"])} and reports to`, null, to);
      this.#move("mail", id, mailRoute(name), null, to);
      return;
    }
    if (after["status"] === "terminated") {
      const was = { ...now, ...before };
      const from = await boss(was["boss_id"]);
      this.#leaving.add(id);
      this.#move("agent", id, `${name} leaves and is`, textIn(before["status"]), "terminated");
      this.#move("mail", id, mailRoute(name), from, null);
    } else if ("boss_id" in after) {
      const [from, to] = [await boss(before["boss_id"]), await boss(after["boss_id"])];
      this.#move("agent", id, `${name} reports to`, from, to);
      this.#move("mail", id, mailRoute(name), from, to);
    } else if ("status" in after)
      this.#move("agent", id, `${name} is`, textIn(before["status"]), textIn(after["status"]));
    if ("brain_type" in after || "brain_config" in after)
      this.#move(
        "agent",
        id,
        `The brain of ${name} is`,
        textIn(before["brain_type"] ?? now["brain_type"]),
        textIn(now["brain_type"]),
      );
  }

  async outcome({ key, before, after }: Difference): Promise<void> {
    const id = textIn(key["id"]);
    const now = await this.#row("outcomes", id);
    const title = `"${textIn(now["title"])}"`;
    if (before === null || after === null)
      return this.#move(
        "outcome",
        id,
        `${title} is created for`,
        null,
        await this.#who(now["responsible_id"]),
      );
    if ("responsible_id" in after)
      this.#move(
        "outcome",
        id,
        `${title} is the responsibility of`,
        await this.#who(before["responsible_id"]),
        await this.#who(after["responsible_id"]),
      );
    if ("delegated_by" in after)
      this.#move(
        "outcome",
        id,
        `${title} is verified by`,
        await this.#who(before["delegated_by"]),
        await this.#who(after["delegated_by"]),
      );
    if ("for_agent_id" in after)
      this.#move(
        "outcome",
        id,
        `${title} waits for the hire of`,
        await this.#who(before["for_agent_id"]),
        await this.#who(after["for_agent_id"]),
      );
    if ("status" in after)
      this.#move("outcome", id, `${title} is`, textIn(before["status"]), textIn(after["status"]));
  }

  async edge({ key, before, after }: Difference): Promise<void> {
    const [child, parent] = [textIn(key["child_id"]), await this.#title(key["parent_id"])];
    const what = `${await this.#title(child)} is a child of`;
    this.#move("outcome", child, what, before === null ? null : parent, after === null ? null : parent);
  }

  async dependency({ key, before, after }: Difference): Promise<void> {
    const [waiter, target] = [textIn(key["outcome_id"]), await this.#title(key["depends_on_id"])];
    const what = `${await this.#title(waiter)} depends on`;
    this.#move("outcome", waiter, what, before === null ? null : target, after === null ? null : target);
  }

  async grant({ key, before, after }: Difference): Promise<void> {
    const id = textIn(key["id"]);
    const now = await this.#row("grants", id);
    const was = before === null ? now : { ...now, ...before };
    const holder = await this.#agent(textIn(now["grantee_id"]));
    const resource = textIn(now["resource"]);
    if (!isResource(resource)) throw unknownValue("grants.resource", resource);
    const level = levelOf("grants", { resource, level: Number(now["level"]) });
    const what = `${holder} holds ${level} on ${resource}, granted by`;
    const giver = async (of: Value | undefined) =>
      of === null || of === undefined ? "the board" : this.#agent(textIn(of));
    if (before === null || after === null)
      return this.#move("grant", id, what, null, await giver(now["granted_by"]));
    const [stood, stands] = [was["broken"] === 0, now["broken"] === 0];
    if (stood && !stands) {
      const from = await giver(was["granted_by"]);
      this.#move("grant", id, what, from, null);
      if (!this.#leaving.has(textIn(now["grantee_id"])))
        this.warnings.push(
          `${holder} loses ${level ?? "a right"} on ${resource}, because its new manager doesn't hold it.`,
        );
    } else if ("granted_by" in after || "parent_id" in after)
      this.#move("grant", id, what, await giver(was["granted_by"]), await giver(now["granted_by"]));
    else if ("revoked_at" in after)
      this.#move("grant", id, `(not in force) ${what}`, await giver(was["granted_by"]), null);
  }

  async approval({ key, before, after }: Difference): Promise<void> {
    const now = await this.#row("approvals", textIn(key["id"]));
    const what = `The approval (${textIn(now["type"])})`;
    const id = textIn(key["id"]);
    if (after !== null && "status" in after)
      this.#move("approval", id, `${what} is`, textIn(before?.["status"]), textIn(after["status"]));
    if (after !== null && "payload" in after) {
      const [from, to] = [bossNamedIn(before?.["payload"]), bossNamedIn(after["payload"])];
      this.#move("approval", id, `${what} names as manager`, await this.#who(from), await this.#who(to));
    }
  }

  async request({ key }: Difference): Promise<void> {
    const now = await this.#row("permission_requests", textIn(key["id"]));
    this.#move(
      "approval",
      textIn(key["id"]),
      `The request for ${textIn(now["resource"])} is`,
      "open",
      "withdrawn",
    );
  }

  async credential({ key }: Difference): Promise<void> {
    const now = await this.#row("credentials", textIn(key["id"]));
    const whose = await this.#agent(textIn(now["agent_id"]));
    this.#move(
      "agent",
      textIn(now["agent_id"]),
      `The key "${textIn(now["label"])}" of ${whose} is`,
      "valid",
      null,
    );
  }

  async message({ key, before, after }: Difference): Promise<void> {
    if (before === null || after === null || !("to_id" in after)) return;
    const [from, to] = [await this.#who(before["to_id"]), await this.#who(after["to_id"])];
    this.#move("mail", textIn(key["id"]), "A message waits in the inbox of", from, to);
  }

  #move(kind: Move["kind"], id: string, what: string, from: string | null, to: string | null): void {
    this.moves.push({ kind, id, what, from, to });
  }

  async #row(table: ImagedTable, id: string): Promise<Image> {
    return (await rowAt(this.#tx, table, { id })) ?? this.#before[table].get(id) ?? {};
  }

  async #agent(id: string): Promise<string> {
    return (await this.#tx.first(agentName, { id }))?.name ?? "no one";
  }

  async #who(id: Value | undefined): Promise<string | null> {
    return typeof id === "string" ? this.#agent(id) : null;
  }

  async #title(id: Value | undefined): Promise<string> {
    return `"${(await this.#tx.first(outcomeTitle, { id: textIn(id) }))?.title ?? ""}"`;
  }
}

/** The manager that the payload of a hire names. */
function bossNamedIn(payload: Value | undefined): string {
  const { requestedConfigurationSnapshot: asked } = tables.approvals.payload.parse(textIn(payload));
  return String(JsonObject.parse(asked)["reportsTo"]);
}

const mailRoute = (name: string): string => `Mail route: ${name} ↔`;

function textIn(value: Value | undefined): string {
  return typeof value === "string" ? value : String(value ?? "");
}

const agentName = query((db, p: { id: string }) =>
  db.selectFrom("agents").select("name").where("id", "=", p.id),
);
const outcomeTitle = query((db, p: { id: string }) =>
  db.selectFrom("outcomes").select("title").where("id", "=", p.id),
);
