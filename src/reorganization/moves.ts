import { levelOf } from "../capabilities/table.ts";
import { memberById } from "../capabilities/members.ts";
import { outcomeById } from "../outcomes/table.ts";
import { tables } from "../store/schema.ts";
import { JsonObject } from "../contract/words.ts";
import type { Move } from "../contract/reorganization.ts";
import { isResource } from "../contract/resources.ts";
import { unknownValue, type Value } from "../store/columns.ts";
import type { ImagedTable } from "../store/row-keys.ts";
import type { ReadTx } from "../store/store.ts";
import { type Difference, type Image, rowAt, textIn } from "./images.ts";
import { keyEnds } from "./texts.ts";

/** Describes the difference between two states. `what` together with `to` reads as a sentence: "Ada reports to" + "Bob". */
export async function movesIn(
  tx: ReadTx,
  found: readonly Difference[],
): Promise<{ readonly moves: Move[]; readonly warnings: string[] }> {
  const telling = new Telling(tx);
  for (const { table, key, before, after } of found) {
    const now = (await rowAt(tx, table, key)) ?? before ?? {};
    const was = { ...now, ...before };
    await tellers[table]?.(telling, { id: textIn(key["id"]), key, before, after, now, was });
  }
  return telling;
}

/** One changed row, with all its columns before and now. */
interface Changed extends Omit<Difference, "table"> {
  readonly id: string;
  readonly was: Image;
  readonly now: Image;
}

class Telling {
  readonly moves: Move[] = [];
  readonly warnings: string[] = [];
  readonly leaving = new Set<string>();
  readonly #tx: ReadTx;

  constructor(tx: ReadTx) {
    this.#tx = tx;
  }

  move(kind: Move["kind"], id: string, what: string, from: string | null, to: string | null): void {
    this.moves.push({ kind, id, what, from, to });
  }

  /** Describes a link that was made, or one that has ended. */
  link(id: string, what: string, to: string, { before, after }: Changed): void {
    this.move("outcome", id, what, before === null ? null : to, after === null ? null : to);
  }

  async who<N extends string | null>(id: Value | undefined, none: N): Promise<string | N> {
    return typeof id === "string" ? ((await memberById(this.#tx, id))?.name ?? "no one") : none;
  }

  async title(id: Value | undefined): Promise<string> {
    return `"${(await outcomeById(this.#tx, textIn(id))).title}"`;
  }
}

/** Budgets are described in effects.ts, because the tree decides which budget is part of which. */
const tellers: { [table in ImagedTable]?: (tell: Telling, changed: Changed) => Promise<void> } = {
  agents: async (tell, { id, before, after, was, now }) => {
    const name = textIn(now["name"]);
    const from = await tell.who(was["boss_id"], "the board");
    const to = await tell.who(now["boss_id"], "the board");
    const reports = (what: string, manager: string | null): void => {
      tell.move("agent", id, `${name} ${what}`, manager, to);
      tell.move("mail", id, `Mail route: ${name} ↔`, manager, to);
    };
    if (before === null || after === null)
      return reports(`joins as ${textIn(now["role"])} and reports to`, null);
    if (after["status"] === "terminated") {
      tell.leaving.add(id);
      tell.move("agent", id, `${name} leaves and is`, textIn(before["status"]), "terminated");
      tell.move("mail", id, `Mail route: ${name} ↔`, from, null);
    } else if ("boss_id" in after) reports("reports to", from);
    else if ("status" in after)
      tell.move("agent", id, `${name} is`, textIn(before["status"]), textIn(after["status"]));
    if ("brain_type" in after || "brain_config" in after)
      tell.move("agent", id, `The brain of ${name} is`, textIn(was["brain_type"]), textIn(now["brain_type"]));
  },
  outcomes: async (tell, { id, before, after, now }) => {
    const title = `"${textIn(now["title"])}"`;
    if (before === null || after === null)
      return tell.move(
        "outcome",
        id,
        `${title} is created for`,
        null,
        await tell.who(now["responsible_id"], null),
      );
    for (const [column, role] of Object.entries(roles))
      if (column in after) {
        const [from, to] = [await tell.who(before[column], null), await tell.who(after[column], null)];
        tell.move("outcome", id, `${title} ${role}`, from, to);
      }
    if ("status" in after)
      tell.move("outcome", id, `${title} is`, textIn(before["status"]), textIn(after["status"]));
  },
  edges: async (tell, changed) => {
    const { child_id: child, parent_id: parent } = changed.key;
    const what = `${await tell.title(child)} is a child of`;
    tell.link(textIn(child), what, await tell.title(parent), changed);
  },
  dependencies: async (tell, changed) => {
    const { outcome_id: waiter, depends_on_id: target } = changed.key;
    tell.link(textIn(waiter), `${await tell.title(waiter)} depends on`, await tell.title(target), changed);
  },
  grants: async (tell, { id, before, after, was, now }) => {
    const holder = await tell.who(now["grantee_id"], "");
    const resource = textIn(now["resource"]);
    if (!isResource(resource)) throw unknownValue("grants.resource", resource);
    const level = levelOf("grants", { resource, level: Number(now["level"]) });
    const what = `${holder} holds ${level} on ${resource}, granted by`;
    const from = await tell.who(was["granted_by"], "the board");
    const to = await tell.who(now["granted_by"], "the board");
    if (before === null || after === null) return tell.move("grant", id, what, null, to);
    if (was["broken"] === 0 && now["broken"] !== 0) {
      tell.move("grant", id, what, from, null);
      if (!tell.leaving.has(textIn(now["grantee_id"])))
        tell.warnings.push(
          `${holder} loses ${level} on ${resource}, because its new manager doesn't hold it.`,
        );
    } else if ("granted_by" in after || "parent_id" in after) tell.move("grant", id, what, from, to);
    else if ("revoked_at" in after) tell.move("grant", id, `(not in force) ${what}`, from, null);
  },
  approvals: async (tell, { id, before, after, now }) => {
    const what = `The approval (${textIn(now["type"])})`;
    if (before === null || after === null) return;
    if ("status" in after)
      tell.move("approval", id, `${what} is`, textIn(before["status"]), textIn(after["status"]));
    if ("payload" in after) {
      const from = await tell.who(bossNamedIn(before["payload"]), null);
      tell.move(
        "approval",
        id,
        `${what} names as manager`,
        from,
        await tell.who(bossNamedIn(after["payload"]), null),
      );
    }
  },
  permission_requests: async (tell, { id, now }) =>
    tell.move("approval", id, `The request for ${textIn(now["resource"])} is`, "open", "withdrawn"),
  credentials: async (tell, { now }) => {
    tell.warnings.push(keyEnds(textIn(now["label"]), await tell.who(now["agent_id"], "")));
  },
  messages: async (tell, { id, before, after }) => {
    if (before === null || after === null || !("to_id" in after)) return;
    const from = await tell.who(before["to_id"], null);
    tell.move("mail", id, "A message waits in the inbox of", from, await tell.who(after["to_id"], null));
  },
};

/** The role of the agent in a column of an outcome. */
const roles = {
  responsible_id: "is the responsibility of",
  delegated_by: "is verified by",
  for_agent_id: "waits for the hire of",
};

/** The manager that the payload of a hire names. */
function bossNamedIn(payload: Value | undefined): string {
  const { requestedConfigurationSnapshot: asked } = tables.approvals.payload.parse(textIn(payload));
  return String(JsonObject.parse(asked)["reportsTo"]);
}
