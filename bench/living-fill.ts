import { newId } from "../src/daemon/ids.ts";
import { type Db, query } from "../src/store/query.ts";
import type { NewRow } from "../src/store/schema.ts";
import type { Store } from "../src/store/store.ts";
import { fillAgents, insertEdges, insertOutcomes, insertRows, outcomeRow, type Place } from "./fill.ts";

/** Fills a store with agents whose brain is a program, and with their finished and blocked work. */

const insertMessages = (db: Db, rows: NewRow<"messages">[]) => db.insertInto("messages").values(rows);

const setBrain = query((db, p: { id: string; type: string; config: string }) =>
  db.updateTable("agents").set({ brain_type: p.type, brain_config: p.config }).where("id", "=", p.id),
);

/**
 * Inserts a tree of agents below a root that is a person. Each agent runs `command` once it has work. None has work yet: half
 * of the outcomes are completed and half are blocked.
 */
export async function fillRestingAgents(
  store: Store,
  at: { companyId: string; rootAgentId: string },
  count: { agents: number; outcomes: number },
  command: (index: number) => readonly [string, ...string[]],
): Promise<Place[]> {
  const places = await fillAgents(store, at.companyId, at.rootAgentId, count.agents + 1, 6);
  const agents = places.slice(1);
  await store.write(async (tx) => {
    await tx.run(setBrain, { id: at.rootAgentId, type: "human", config: "{}" });
    for (const [index, { id }] of agents.entries()) {
      const [program, ...args] = command(index);
      await tx.run(setBrain, { id, type: "process", config: JSON.stringify({ command: program, args }) });
    }
  });
  const outcomes = Array.from({ length: count.outcomes }, (_, index) => {
    const owner = agents[index % agents.length]?.id ?? at.rootAgentId;
    const row = outcomeRow(at.companyId, newId(), `Outcome ${index}`, owner);
    return {
      owner,
      row:
        index % 2 === 0
          ? { ...row, status: "completed" as const }
          : { ...row, blocked_reason: "waits for an answer" },
    };
  });
  await insertRows(
    store,
    outcomes.map(({ row }) => row),
    insertOutcomes,
  );
  await insertRows(
    store,
    outcomes.map(({ row, owner }) => ({ parent_id: owner, child_id: row.id })),
    insertEdges,
  );
  return agents;
}

/** Inserts messages from managers to their reports. Those with a past delivery time are delivered and acknowledged. */
export async function fillMessages(
  store: Store,
  companyId: string,
  agents: readonly Place[],
  times: Iterable<number>,
): Promise<void> {
  const fileId = newId();
  const now = Date.now();
  function* rows(): Iterable<NewRow<"messages">> {
    let index = 0;
    for (const time of times) {
      const receiver = agents[index++ % agents.length];
      const past = time <= now ? time : null;
      yield {
        id: newId(),
        company_id: companyId,
        file_id: fileId,
        version: 1,
        from_id: receiver?.path.at(-2) ?? null,
        from_system: 0,
        to_id: receiver?.id ?? null,
        sent_at: now,
        deliver_at: time,
        delivered_at: past,
        read_at: past,
        acknowledged_at: past,
        result: null,
        failure: null,
        cancelled_at: null,
        auto_turn: 0,
        in_reply_to: null,
        by_answer: 0,
        topic: null,
        changes: null,
      };
    }
  }
  await insertRows(store, rows(), insertMessages);
}
