import assert from "node:assert/strict";
import {
  applyReorganization,
  type Change,
  planReorganization,
  type Reorganization,
  undoReorganization,
} from "../../src/contract/reorganization.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import type { Value } from "../../src/store/columns.ts";
import type { Store } from "../../src/store/store.ts";
import { type Chance, chanceFor, idFor } from "../model/chance.ts";
import {
  createOrganization,
  openTestStore,
  type Organization,
  type StoreKind,
} from "../../src/testing/organization.ts";
import { activeIn, deedsOf, isLive, Life, rowsIn, text } from "./life.ts";
import { demandNotNarrower, demandNotWider, demandSound, demandWithin, rightsOf } from "./rules.ts";
import { type Dump, dump, notRestored, revivedCredentials } from "../../src/simulator/restored.ts";
import { demandTold } from "./reorganizing.ts";

/**
 * Plays an organization that grows and works. The board and bosses reorganize it at random, and sometimes undo a change. After
 * each change, the plan must have described it, no work may be stranded, and no agent may have more rights than before. A
 * change that is undone at once must leave every row as it was.
 */
export interface Played {
  readonly applied: number;
  readonly undone: number;
  readonly refused: number;
}

export async function playReorganizations(kind: StoreKind, seed: number, steps: number): Promise<Played> {
  const opened = await openTestStore(kind, { fast: true });
  let count = 0;
  let step = 0;
  const ids = { newId: () => idFor(seed, step, count++), newSecret: () => `secret ${seed} ${count++}` };
  try {
    const org = await createOrganization(opened.store, { ids });
    const player = new Player(org, opened.store, ids.newId, seed);
    await player.begin();
    for (step = 1; step <= steps; step++) {
      try {
        await player.step(chanceFor(seed, step));
      } catch (error) {
        throw new Error(`seed ${seed}, step ${step}: ${player.last}\n${String(error)}`, { cause: error });
      }
    }
    await demandSound(opened.store, ["bytes"]);
    return player.played;
  } finally {
    await opened.close();
  }
}

type Row = Readonly<Record<string, Value>>;

class Player {
  readonly played = { applied: 0, undone: 0, refused: 0 };
  last = "";
  readonly #org: Organization;
  readonly #store: Store;
  readonly #life: Life;
  readonly #deeds: ReturnType<typeof deedsOf>;
  readonly #done: Reorganization[] = [];

  constructor(org: Organization, store: Store, newId: () => string, seed: number) {
    this.#org = org;
    this.#store = store;
    this.#deeds = deedsOf(seed);
    this.#life = new Life(org, store, newId);
  }

  async begin(): Promise<void> {
    for (let number = 0; number < 4; number++) await this.#life.join(this.#org.rootId);
  }

  async step(chance: Chance): Promise<void> {
    const all = await dump(this.#store);
    const deed = chance.weighted(this.#deeds);
    this.last = deed;
    if (deed === "change") return this.#change(chance, all);
    if (deed === "undo") return this.#undo(chance, all);
    try {
      await this.#life.go(deed, chance, all);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  async #change(chance: Chance, seen: Dump): Promise<void> {
    const agents = activeIn(seen);
    const actor = chance.percent(60) ? null : text(chance.pick(agents)?.["id"]);
    const call = actor === null ? this.#org.board : await this.#life.as(actor);
    // The rows are read again, because the actor may just have got a key.
    const all = await dump(this.#store);
    const change = this.#draw(chance, agents, all);
    this.last = `${actor ?? "the board"}: ${JSON.stringify(change)}`;
    const input = { companyId: this.#org.companyId, change };
    const rights = await rightsOf(this.#store, all);
    let done: Reorganization;
    try {
      const plan = await call(planReorganization, input);
      demandUnchanged(all, await dump(this.#store));
      done = await call(applyReorganization, { ...input, hash: plan.hash });
      assert.equal(done.moves.length, plan.moves.length);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.played.refused++;
      return demandUnchanged(all, await dump(this.#store));
    }
    this.played.applied++;
    const after = await dump(this.#store);
    await demandSound(this.#store);
    demandTold(done, all, after);
    if (actor !== null)
      demandWithin(
        all,
        actor,
        done.moves.filter(({ kind }) => kind === "agent").map(({ id }) => id),
      );
    const now = await rightsOf(this.#store, after);
    demandNotWider(rights, now);
    if (change.kind === "insert_layer") demandNotNarrower(rights, now);
    if (!chance.percent(40)) return void this.#done.push(done);
    this.last += ", and back";
    await call(undoReorganization, { id: done.id });
    this.played.undone++;
    const back = await dump(this.#store);
    assert.deepEqual(notRestored(all, back), []);
    assert.deepEqual(revivedCredentials(after, back), []);
    await demandSound(this.#store);
  }

  /** Undoes an earlier change. If a later change prevents that, the whole call is refused. */
  async #undo(chance: Chance, all: Dump): Promise<void> {
    const done = chance.percent(60) ? this.#done.at(-1) : chance.pick(this.#done);
    if (done === undefined) return;
    this.last = `undo ${done.kind}: ${done.summary}`;
    try {
      await this.#org.board(undoReorganization, { id: done.id });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      assert.equal(error.code, "conflict");
      return demandUnchanged(all, await dump(this.#store));
    }
    this.played.undone++;
    assert.deepEqual(revivedCredentials(all, await dump(this.#store)), []);
    this.#done.splice(this.#done.indexOf(done), 1);
    await demandSound(this.#store);
  }

  #draw(chance: Chance, agents: readonly Row[], all: Dump): Change {
    const any = (): string => text(chance.pick(agents)?.["id"]);
    const newcomer = () => ({ name: this.#life.name("New"), role: "manager" });
    const reportsOf = (id: string) =>
      agents.filter((row) => row["boss_id"] === id).map((row) => text(row["id"]));
    const some = (ids: readonly string[]) => ids.filter(() => chance.percent(60));
    const agent = any();
    switch (
      chance.weighted({ move: 5, insert: 4, remove: 4, split: 4, merge: 4, fire: 3, shrink: 1, hand: 1 })
    ) {
      case "move":
        return { kind: "move_report", agent, to: any() };
      case "insert": {
        const reports = some(reportsOf(agent));
        return {
          kind: "insert_layer",
          boss: agent,
          manager: newcomer(),
          reports: reports.length === 0 ? [any()] : reports,
        };
      }
      case "remove":
        return { kind: "remove_layer", agent };
      case "split": {
        const outcomes = rowsIn(all, "outcomes").filter(
          (row) =>
            row["responsible_id"] === agent && isLive(row) && row["id"] !== agent && row["kind"] === "work",
        );
        const into = { agent: newcomer(), reports: some(reportsOf(agent)) };
        return {
          kind: "split",
          agent,
          into: [{ ...into, outcomes: some(outcomes.map((row) => text(row["id"]))) }, { agent: newcomer() }],
        };
      }
      case "merge": {
        const boss = text(agents.find((row) => row["id"] === agent)?.["boss_id"]);
        const beside = reportsOf(boss).filter((id) => id !== agent);
        return { kind: "merge", agents: [chance.pick(beside) ?? any()], into: agent };
      }
      case "fire":
        return { kind: "fire", agent };
      case "shrink":
        return { kind: "shrink", to: Math.max(1, agents.length - 1 - chance.int(3)) };
      case "hand":
        return { kind: "hand_over", agent, adapterType: chance.percent(50) ? "human" : "rehearsal" };
    }
  }
}

function demandUnchanged(before: Dump, after: Dump): void {
  assert.deepEqual(
    [...after].map(([table, rows]) => [table, rows.size]),
    [...before].map(([table, rows]) => [table, rows.size]),
  );
  for (const [table, rows] of after)
    for (const [key, row] of rows) assert.deepEqual(row, before.get(table)?.get(key));
}
