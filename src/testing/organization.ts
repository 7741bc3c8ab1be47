import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import { createCompany, updateCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { createKey } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { Refusal, type RefusalCode } from "../contract/refusal.ts";
import { admitBoard, type Core, createCore } from "../daemon/core.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { openSession } from "../runtime/sessions.ts";
import { openPostgres } from "../store/postgres.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { storeDatabase, testStores } from "./postgres.ts";

/** An organization for tests: the real program on a real store, without its doors. */
export type StoreKind = "sqlite" | "postgres";

/** The stores of this run. A suite of code that works differently on each store loops over these. */
export const bothStores: readonly StoreKind[] = (["sqlite", "postgres"] as const).filter((kind) =>
  testStores.has(kind),
);

/**
 * The stores of every other suite. What it tests is the same code on both stores, over queries that are prepared on
 * PostgreSQL in every run (store/queries.db.test.ts), so a whole run plays it on SQLite and a long run on both.
 */
export const storeKinds: readonly StoreKind[] =
  process.env["AGENCY_TEST_LEAN"] === "1" ? bothStores.filter((kind) => kind === "sqlite") : bothStores;

export interface TestStore {
  readonly store: Store;
  readonly close: () => Promise<void>;
}

/** SQLite in a file of its own (fast: true keeps it in memory), or a fresh PostgreSQL database. */
export async function openTestStore(kind: StoreKind, options: { fast?: boolean } = {}): Promise<TestStore> {
  if (kind === "postgres") {
    const database = await storeDatabase();
    const store = await openPostgres({ url: database.url });
    return {
      store,
      close: async () => {
        await store.close();
        await database.drop();
      },
    };
  }
  if (options.fast === true) {
    const store = openSqlite({ path: ":memory:", clock: Date.now });
    return { store, close: () => store.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), "agency-test-"));
  const store = openSqlite({
    path: join(folder, "agency.db"),
    blobFolder: join(folder, "knowledge"),
    clock: Date.now,
  });
  return {
    store,
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Calls operations as one actor. */
export type TestCaller = <I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  input: z.input<I>,
  options?: { key?: string },
) => Promise<z.infer<O>>;

export interface Organization {
  readonly core: Core;
  readonly board: TestCaller;
  readonly boardToken: string;
  readonly companyId: string;
  readonly rootId: string;
  readonly root: TestCaller;
  /** An agent made by the board, with a key; below the root unless another boss is named. */
  agent(name: string, reportsTo?: string): Promise<{ id: string; call: TestCaller; token: string }>;
  /** A session of an agent, as the scheduler opens them. */
  session(agentId: string, workspace?: string): Promise<{ id: string; token: string; call: TestCaller }>;
  /** An outcome made by the board below a parent (default the root). */
  outcome(title: string, parents?: string[]): Promise<string>;
  /** Another company on the same store. */
  another(): Promise<Organization>;
  as(token: string): TestCaller;
}

/** Hires need no approval here and nothing is limited, unless a test wants it. */
export async function createOrganization(
  store: Store,
  options: { approvals?: boolean; ids?: { newId: () => string; newSecret: () => string } } = {},
): Promise<Organization> {
  const ids = options.ids ?? { newId, newSecret };
  const core = createCore({ store, ...ids });
  const boardToken = ids.newSecret();
  await admitBoard(store, boardToken, ids.newId());
  return organizationOn(core, boardToken, options);
}

/** For all tests of a suite, which awaits it before it declares them: closed after the last. */
export async function sharedOrganization(
  kind: StoreKind,
  options: { fast?: boolean; approvals?: boolean } = {},
): Promise<{ org: Organization; store: Store }> {
  const opened = await openTestStore(kind, options);
  after(() => opened.close());
  return { org: await createOrganization(opened.store, options), store: opened.store };
}

async function organizationOn(
  core: Core,
  boardToken: string,
  options: { approvals?: boolean },
): Promise<Organization> {
  const as =
    (token: string): TestCaller =>
    async (operation, input, options = {}) =>
      operation.output.parse(await core.dispatch({ operation, token, input, key: options.key }));
  const board = as(boardToken);
  const company = await board(createCompany, { name: `Company ${randomUUID().slice(0, 8)}` });
  if (options.approvals !== true)
    await board(updateCompany, {
      companyId: company.id,
      requireBoardApprovalForNewAgents: false,
      maxAgents: 1_000_000,
      maxDelegations: 1000,
      maxDelegationDepth: 1000,
      maxOpenOutcomes: 100_000,
    });
  const keyFor = async (id: string): Promise<string> => (await board(createKey, { id })).key;
  return {
    core,
    board,
    boardToken,
    companyId: company.id,
    rootId: company.rootAgentId,
    root: as(await keyFor(company.rootAgentId)),
    as,
    agent: async (name, reportsTo) => {
      const { id } = await board(createAgent, {
        companyId: company.id,
        name,
        role: "worker",
        ...(reportsTo === undefined ? {} : { reportsTo }),
      });
      const token = await keyFor(id);
      return { id, token, call: as(token) };
    },
    session: async (agentId, workspace) => {
      const id = newId();
      const token = newSecret();
      await core.store.write((tx) =>
        openSession(tx, { id, agentId, credentialId: newId(), token, workspace: workspace ?? null }),
      );
      return { id, token, call: as(token) };
    },
    outcome: async (title, parents) =>
      (
        await board(createOutcome, {
          companyId: company.id,
          title,
          parents: parents ?? [company.rootOutcomeId],
        })
      ).id,
    another: () => organizationOn(core, boardToken, options),
  };
}

/** Resolves to the refusal of a call that must be refused with this code. */
export async function refusal(call: Promise<unknown>, code: RefusalCode): Promise<Refusal> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code !== code)
      throw new Error(`refused with ${error.code} instead of ${code}: ${error.message}`, { cause: error });
    if (error.message === "" || error.hint === "")
      throw new Error("a refusal says what happened and what to do next", { cause: error });
    return error;
  }
  throw new Error(`not refused, answered ${JSON.stringify(answer)?.slice(0, 200)}`);
}
