import { plantRepo } from "../../src/testing/repos.ts";
import { inspect } from "node:util";
import { listAgentGrants } from "../../src/contract/capabilities.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { operations } from "../../src/contract/operation-table.ts";
import { createCompany, updateCompany } from "../../src/contract/companies.ts";
import { putMcpServer } from "../../src/contract/servers.ts";
import { createKey, viewAgent } from "../../src/contract/agents.ts";
import { listOutcomes } from "../../src/contract/outcomes.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import type { Core } from "../../src/daemon/core.ts";
import type { ReadTx } from "../../src/store/store.ts";
import { emptyWorld, type Grant, holds, type rankOf, worthOf, type World } from "./model.ts";
import { checkAnswer, checkRefusal, type Refused } from "./answers.ts";
import { type Carried, companyOf, foreignIdsIn, type ModelCall } from "./calls.ts";
import { type Chance, chanceFor, idFor, missingId } from "./chance.ts";
import {
  checkVersions,
  compareAllRights,
  compareLevel,
  compareRight,
  compareRows,
  compareWorkable,
  demandInvariants,
  levelsFor,
  resourcesOf,
  same,
  Violation,
} from "./check.ts";
import type { Step } from "./generate.ts";
import { predict } from "./operations.ts";
import { asGrant, type Rows, rowsOf } from "./rows.ts";

/** The product, and the source of its ids, which encode the seed and step set here. */
export interface Bench {
  readonly core: Core;
  readonly boardToken: string;
  readonly ids: { seed: number; step: number; count: number };
}

type Answer = { readonly code: "ok"; readonly answer: Record<string, unknown> } | Refused;

/**
 * Plays the same steps in the product and in the model. After each step both must have given the same answer and be in the
 * same state.
 */
export class Play {
  world: World = emptyWorld();
  readonly #bench: Bench;
  readonly #seed: number;
  readonly #tokens = new Map<string, string>();

  constructor(bench: Bench, seed: number) {
    this.#bench = bench;
    this.#seed = seed;
    this.#tokens.set("board", bench.boardToken);
  }

  /** Two companies, each with its root agent. */
  async begin(): Promise<void> {
    this.#at(beginning);
    for (const name of ["One", "Other"]) {
      const company = await this.#ask("board", createCompany, { name });
      if (!("answer" in company)) throw new Violation(`no company: ${company.message}`);
      const id = String(company.answer["id"]);
      await this.#ask("board", updateCompany, {
        companyId: id,
        maxDelegations: 1000,
        maxDelegationDepth: 1000,
        maxOpenOutcomes: 100_000,
      });
      await this.#ask("board", putMcpServer, {
        companyId: id,
        name: "chat",
        config: { command: "chat-mcp" },
      });
      await plantRepo(this.#bench.core.store, id, "main");
      const rootId = String(company.answer["rootAgentId"]);
      const rows = await this.#bench.core.store.read((tx) => rowsOf(tx, id));
      const stateFileId = rows.agents[0]?.state_file_id ?? "";
      this.world.companies.set(id, { id, rootId });
      this.world.agents.set(rootId, {
        id: rootId,
        companyId: id,
        name: "Root",
        bossId: null,
        active: true,
        stateFileId,
      });
      this.world.outcomes.set(rootId, {
        id: rootId,
        companyId: id,
        kind: "perpetual",
        status: "open",
        responsibleId: rootId,
        handedDown: true,
        handedDownBy: null,
        parents: new Set(),
        dependsOn: new Set(),
        blocked: null,
      });
      const file = { companyId: id, deleted: false };
      this.world.files.set(rootId, { ...file, id: rootId, kind: "outcome", ownerId: null, hashes: [] });
      const hashes = [hashIn([rows], stateFileId)];
      this.world.files.set(stateFileId, {
        ...file,
        id: stateFileId,
        kind: "state",
        ownerId: rootId,
        hashes,
        mailedTo: new Set(),
      });
      for (const row of rows.grants) this.world.grants.set(row.id, asGrant(row));
      same(
        "what the root agent is granted",
        rows.grants.map(({ resource }) => resource).join(" "),
        "org:hire",
      );
      compareRows(this.world, id, rows);
      await this.#keyFor(rootId);
    }
  }

  async step(step: Step, index: number): Promise<void> {
    this.#at(index);
    const chance = chanceFor(this.#seed ^ 0x5eed, index);
    const [call, ...others] = step.calls;
    if (call === undefined) return;
    if (others.length > 0) await this.#race(step.calls);
    else {
      const result = await this.#one(call, chance);
      if (step.thenFix && "answer" in result && call.operation === "permission.explain")
        await this.#fix(call, result.answer, chance);
    }
  }

  /** Compares everything in both companies, and on request also the lists that show it. */
  async checkAll(options: { lists: boolean }): Promise<void> {
    for (const companyId of this.world.companies.keys()) {
      await this.#bench.core.store.read(async (tx) => {
        const rows = await rowsOf(tx, companyId);
        compareRows(this.world, companyId, rows);
        await demandInvariants(tx, ["organization", "work", "history", "bytes"], companyId);
        await checkVersions(tx, this.world, companyId);
        await compareAllRights(tx, this.world, companyId);
      });
      if (options.lists) await this.#checkLists(companyId);
    }
  }

  /** Compares what the lists show: which outcomes are workable and which grants are valid. */
  async #checkLists(companyId: string): Promise<void> {
    const outcomes = await this.#ask("board", listOutcomes, { companyId, limit: 1000 });
    if (!("answer" in outcomes)) throw new Violation(`no list of outcomes: ${outcomes.message}`);
    const listed = outcomes.answer["outcomes"] as { id: string; kind: string; workable: boolean }[];
    for (const { id, kind, workable } of listed) {
      if (kind === "inbox") continue;
      const outcome = this.world.outcomes.get(id);
      if (outcome === undefined) throw new Violation(`${id} is listed`);
      compareWorkable(this.world, outcome, workable, Date.now());
    }
    for (const agent of this.world.agents.values()) {
      if (agent.companyId !== companyId) continue;
      const grants = await this.#ask("board", listAgentGrants, { id: agent.id, limit: 1000 });
      if (!("answer" in grants)) throw new Violation(`no list of grants: ${grants.message}`);
      for (const { id, stands } of grants.answer["grants"] as { id: string; stands: boolean }[]) {
        const grant = this.world.grants.get(id);
        if (grant === undefined) throw new Violation(`grant ${id} is listed`);
        same(`grant ${id} is listed as standing`, stands, worthOf(this.world, grant) === grant.rank);
      }
    }
  }

  async #one(call: ModelCall, chance: Chance): Promise<Answer> {
    const predicted = predict(this.world, call);
    const foreign = foreignIdsIn(this.world, call);
    const result = await this.#call(call);
    if (result.code !== predicted.code)
      throw new Violation(
        `${call.operation}: the product says ${result.code}${"message" in result ? ` (${result.message})` : ""}, the model ${predicted.code}`,
      );
    if (foreign.length > 0) await this.#twin(call, foreign, result);
    const isChange = predicted.code === "ok" && !isReading(call);
    await this.#bench.core.store.read(async (tx) => {
      if (isChange && "answer" in result) {
        const companyId = companyOf(this.world, call) ?? "";
        const rows = await rowsOf(tx, companyId);
        predicted.commit(this.#carried(result.answer, [rows]));
        compareRows(this.world, companyId, rows);
        await demandInvariants(tx, ["organization"], companyId);
      }
      await this.#sample(tx, chance);
    });
    if (!("answer" in result)) checkRefusal(this.world, call, result);
    else {
      checkAnswer(this.world, call, result.answer);
      if (call.operation === "agent.create") await this.#keyFor(String(result.answer["id"]));
    }
    return result;
  }

  /** Makes calls at the same time. The result must be the same as if they had come one after another, in some order. */
  async #race(calls: readonly ModelCall[]): Promise<void> {
    const results = await Promise.all(calls.map((call) => this.#call(call)));
    const all: [string, Rows][] = [];
    for (const companyId of this.world.companies.keys())
      await this.#bench.core.store.read(async (tx) => {
        all.push([companyId, await rowsOf(tx, companyId)]);
        await demandInvariants(tx, ["organization"], companyId);
      });
    const objections: string[] = [];
    for (const order of orders(calls.length)) {
      try {
        this.world = this.#inOrder(calls, results, order, all);
        for (const [index, call] of calls.entries())
          if (call.operation === "agent.create" && results[index]?.code === "ok")
            await this.#keyFor(String((results[index] as { answer: Record<string, unknown> }).answer["id"]));
        return;
      } catch (error) {
        objections.push(`${order.join(",")}: ${error instanceof Error ? error.message : inspect(error)}`);
      }
    }
    throw new Violation(
      `at once: answered ${results.map(({ code }) => code).join(", ")}, which no order explains:\n${objections.join("\n")}`,
    );
  }

  #inOrder(
    calls: readonly ModelCall[],
    results: readonly Answer[],
    order: readonly number[],
    all: readonly [string, Rows][],
  ): World {
    const before = this.world;
    const world = structuredClone(before);
    try {
      this.world = world;
      const carried = this.#carried(
        {},
        all.map(([, rows]) => rows),
      );
      for (const index of order) {
        const [call, result] = [calls[index], results[index]];
        if (call === undefined || result === undefined) continue;
        const predicted = predict(world, call);
        same(`${call.operation} (${index})`, result.code, predicted.code);
        if (predicted.code === "ok" && "answer" in result)
          predicted.commit({ ...carried, answer: result.answer });
      }
      for (const [companyId, rows] of all) compareRows(world, companyId, rows);
      return world;
    } finally {
      this.world = before;
    }
  }

  /** Demands that an id of another company gets exactly the same answer as an id that does not exist. */
  async #twin(call: ModelCall, foreign: readonly string[], result: Answer): Promise<void> {
    let asked = JSON.stringify(call.input);
    const missing = foreign.map((id, index) => ({ id, instead: missingId(this.#seed, twins, index) }));
    for (const { id, instead } of missing) asked = asked.replaceAll(id, instead);
    const twin = await this.#call({ ...call, input: JSON.parse(asked) });
    let answered = JSON.stringify(twin);
    for (const { id, instead } of missing) answered = answered.replaceAll(instead, id);
    same(
      `${call.operation} with a foreign id, compared with a missing one`,
      JSON.stringify(result),
      answered,
    );
  }

  /** Executes the fix that explain_access suggests, and demands that it reverses the answer. */
  async #fix(
    call: ModelCall & { operation: "permission.explain" },
    answer: Record<string, unknown>,
    chance: Chance,
  ): Promise<void> {
    const fix = answer["fix"] as { by: string; operation: string; input: Record<string, unknown> }[];
    if (fix.length === 0) return;
    const agentId = (answer["agent"] as { id: string }).id;
    for (const { by, operation, input } of fix) {
      const result = await this.#one({ actor: by, operation, input } as ModelCall, chance);
      if ("message" in result)
        throw new Violation(`the fix ${operation} by ${by} is refused: ${result.code} ${result.message}`);
    }
    const level = answer["level"] as keyof typeof rankOf;
    await this.#bench.core.store.read(async (tx) => {
      await compareLevel(tx, this.world, agentId, call.input.resource, level);
    });
    same(
      `the fix flips the access of ${agentId} to ${call.input.resource}`,
      answer["allowed"],
      !holds(this.world, agentId, call.input.resource, level),
    );
  }

  /** Compares a few rights after each step: a random one, one with a grant, and one on a file of the other company. */
  async #sample(tx: ReadTx, chance: Chance): Promise<void> {
    const agent = chance.pick([...this.world.agents.values()].filter(({ active }) => active));
    const grant = chance.pick([...this.world.grants.values()]);
    if (agent !== undefined) {
      const resource = chance.pick(resourcesOf(this.world, agent.companyId)) ?? "org:hire";
      await compareLevel(tx, this.world, agent.id, resource, chance.pick(levelsFor(resource)) ?? "use");
    }
    if (grant !== undefined) await compareRight(tx, this.world, grant.holderId, grant.resource);
    const others = [...this.world.files.values()].filter((file) => file.companyId !== agent?.companyId);
    if (agent !== undefined)
      await compareRight(tx, this.world, agent.id, `kb:${chance.pick(others)?.id ?? agent.id}`);
  }

  #carried(answer: Record<string, unknown>, all: readonly Rows[]): Carried {
    const newGrants: Grant[] = all
      .flatMap(({ grants }) => grants)
      .filter(({ id }) => !this.world.grants.has(id))
      .map(asGrant);
    return { answer, newGrants, hashOf: (fileId) => hashIn(all, fileId) };
  }

  async #keyFor(agentId: string): Promise<void> {
    const key = await this.#ask("board", createKey, { id: agentId });
    if (!("answer" in key)) {
      // A call at the same time may have ended the new agent. Whether it should have is compared row by row.
      const agent = await this.#ask("board", viewAgent, { id: agentId });
      if ("answer" in agent && agent.answer["status"] === "terminated") return;
      throw new Violation(`no key: ${key.message}`);
    }
    this.#tokens.set(agentId, String(key.answer["key"]));
  }

  async #call(call: ModelCall): Promise<Answer> {
    const operation = byName.get(call.operation);
    if (operation === undefined) throw new Error(`there is no operation ${call.operation}`);
    return this.#ask(call.actor, operation, call.input);
  }

  async #ask(actor: string, operation: unknown, input: object): Promise<Answer> {
    const token = this.#tokens.get(actor) ?? "of nobody";
    try {
      const answer = await this.#bench.core.dispatch({ operation: operation as Operation, token, input });
      return { code: "ok", answer: answer as Record<string, unknown> };
    } catch (error) {
      if (!(error instanceof Refusal))
        throw new Violation(`the product broke: ${inspect(error)}`, { cause: error });
      const { code, message, hint, details } = error;
      return { code, message, hint, details };
    }
  }

  #at(step: number): void {
    Object.assign(this.#bench.ids, { seed: this.#seed, step, count: 0 });
  }
}

/** Numbers outside the steps, for ids that must differ from those of every step. */
const beginning = 0xfffe;
const twins = 0xfffd;

export function newIdFrom(ids: Bench["ids"]): () => string {
  return () => idFor(ids.seed, ids.step, ids.count++);
}

const byName = new Map(operations.map((operation) => [operation.name, operation]));

function isReading({ operation }: ModelCall): boolean {
  return operation === "outcome.view" || operation === "permission.explain" || operation === "knowledge.read";
}

function hashIn(all: readonly Rows[], fileId: string): string {
  for (const { files } of all) for (const { id, hash } of files) if (id === fileId) return hash;
  throw new Violation(`file ${fileId} was not stored`);
}

function orders(count: number): number[][] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, place) => order.toSpliced(place, 0, count - 1)),
  );
}
