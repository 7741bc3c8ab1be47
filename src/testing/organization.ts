import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import pg from "pg";
import type { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import { createCompany, updateCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { createKey } from "../contract/agents.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { Refusal, type RefusalCode } from "../contract/refusal.ts";
import { admitBoard, type Core, createCore } from "../daemon/core.ts";
import type { BrainTesting } from "../daemon/brain-test.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import type { CodexLogins } from "../brains/codex/login.ts";
import { openSession } from "../runtime/sessions.ts";
import type { Transcripts } from "../runtime/operations.ts";
import { keepMirrors, type Mirrors } from "../repos/mirrors.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { openPostgres } from "../store/postgres.ts";
import { openSqlite } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { storeDatabase, testDatabase, testStores } from "./postgres.ts";

/** An organization for tests: the real core on a real store. Tests call dispatch directly, without HTTP or MCP. */
export type StoreKind = "sqlite" | "postgres";

/** The stores of this run. Suites loop over these if the code they test differs between the stores. */
export const bothStores: readonly StoreKind[] = (["sqlite", "postgres"] as const).filter((kind) =>
  testStores.has(kind),
);

/**
 * The stores of all other suites. The code they test is the same on both stores, and test/queries.db.test.ts prepares every
 * query on PostgreSQL in every run. So a whole run plays these suites only on SQLite, and a long run on both stores.
 */
export const storeKinds: readonly StoreKind[] =
  process.env["AGENCY_TEST_LEAN"] === "1" ? bothStores.filter((kind) => kind === "sqlite") : bothStores;

export interface TestStore {
  readonly store: Store;
  /** Changes the database behind the store's back, as a program with access to its files could. */
  readonly tamper: (sql: string) => Promise<void>;
  /** The folder of content on disk. Undefined if content is in the database. */
  readonly blobFolder?: string;
  readonly close: () => Promise<void>;
}

/** The audit key of test stores. */
export const testKey = "the audit key of the tests";

/**
 * Opens SQLite on a new file (in memory with `fast: true`), or a new PostgreSQL database, optionally with another locale.
 * close() deletes it.
 */
export async function openTestStore(
  kind: StoreKind,
  options: { fast?: boolean; locale?: string } = {},
): Promise<TestStore> {
  if (kind === "postgres") {
    const { locale } = options;
    const database = await (locale === undefined ? storeDatabase() : testDatabase({ locale }));
    const store = await openPostgres({ url: database.url, key: testKey });
    return {
      store,
      tamper: async (text) => {
        const client = new pg.Client({ connectionString: database.url });
        await client.connect();
        try {
          await client.query(text);
        } finally {
          await client.end();
        }
      },
      close: async () => {
        await store.close();
        await database.drop();
      },
    };
  }
  if (options.fast === true) {
    const store = openSqlite({ path: ":memory:", clock: Date.now, key: testKey });
    const tamper = () => Promise.reject(new Error("a database in memory has no files"));
    return { store, tamper, close: () => store.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), "agency-test-"));
  const path = join(folder, "agency.db");
  const blobFolder = join(folder, "knowledge");
  const store = openSqlite({ path, blobFolder, clock: Date.now, key: testKey });
  return {
    store,
    blobFolder,
    tamper: async (text) => {
      const db = new DatabaseSync(path, { timeout: 5000 });
      db.exec(`pragma synchronous = off; begin; ${text}; commit`);
      db.close();
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Calls operations as one actor: the board, an agent or a session. */
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
  /** Has the board hire an agent and give it a key. The agent reports to the root unless `reportsTo` names another. */
  agent(name: string, reportsTo?: string): Promise<{ id: string; call: TestCaller; token: string }>;
  /** Opens a session of an agent, as the scheduler does, but without a process. */
  session(agentId: string, workspace?: string): Promise<{ id: string; token: string; call: TestCaller }>;
  /** Has the board create an outcome below the parents, by default below the root outcome. */
  outcome(title: string, parents?: string[]): Promise<string>;
  /** Creates another company on the same store. */
  another(): Promise<Organization>;
  as(token: string): TestCaller;
}

/** Mirrors in a folder that is removed when the process of the test ends. */
function temporaryMirrors(): Mirrors {
  const folder = join(tmpdir(), `agency-mirrors-${randomUUID()}`);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return keepMirrors({ folder, enclose: () => undefined });
}

/**
 * With `approvals: true`, hires need the board's approval and the default limits apply, except the number of agents. By
 * default, neither is the case.
 */
export async function createOrganization(
  store: Store,
  options: {
    approvals?: boolean;
    ids?: { newId: () => string; newSecret: () => string };
    secrets?: SecretStore;
    logins?: CodexLogins;
    transcripts?: Transcripts;
    mirrors?: Mirrors;
    runTrial?: BrainTesting["runTrial"];
  } = {},
): Promise<Organization> {
  const ids = options.ids ?? { newId, newSecret };
  const { secrets, logins, transcripts, mirrors, runTrial } = options;
  const core = createCore({
    store,
    ...ids,
    ...(secrets && { secrets }),
    ...(logins && { logins }),
    ...(transcripts && { transcripts }),
    ...(runTrial && { runTrial }),
    mirrors: mirrors ?? temporaryMirrors(),
  });
  const boardToken = ids.newSecret();
  await admitBoard(store, boardToken, ids.newId);
  return organizationOn(core, boardToken, options);
}

/** One organization for all tests of a suite. Await it before you declare the tests. It is closed after the last. */
export async function sharedOrganization(
  kind: StoreKind,
  options: { fast?: boolean; approvals?: boolean } = {},
): Promise<{ org: Organization; store: Store }> {
  const opened = await openTestStore(kind, options);
  after(() => opened.close());
  return { org: await createOrganization(opened.store, options), store: opened.store };
}

/** Declares tests. Each of them gets a new organization, which is closed at its end. */
export const organizedOn =
  (kind: StoreKind, options: { fast?: boolean } & Parameters<typeof createOrganization>[1] = {}) =>
  (name: string, play: (org: Organization) => Promise<void>): void =>
    void test(name, async () => {
      const { store, close } = await openTestStore(kind, options);
      try {
        await play(await createOrganization(store, options));
      } finally {
        await close();
      }
    });

/** Makes teams below the root agent: root ← boss ← ann, ben; ann ← deep. Names such as "Ann 2" end in the team's number. */
export function teamsIn(org: Organization) {
  let made = 0;
  return async () => {
    const number = ++made;
    const boss = await org.agent(`Boss ${number}`);
    const ann = await org.agent(`Ann ${number}`, boss.id);
    const ben = await org.agent(`Ben ${number}`, boss.id);
    const deep = await org.agent(`Deep ${number}`, ann.id);
    return { number, boss, ann, ben, deep };
  };
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
  await board(updateCompany, {
    companyId: company.id,
    maxAgents: 1_000_000,
    ...(options.approvals !== true && {
      requireBoardApprovalForNewAgents: false,
      maxDelegations: 1000,
      maxDelegationDepth: 1000,
      maxOpenOutcomes: 100_000,
    }),
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

/** Demands that the call is refused with this code, and returns the refusal. */
export async function refusal(call: Promise<unknown>, code: RefusalCode): Promise<Refusal> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code !== code)
      throw new Error(`refused with ${error.code} instead of ${code}: ${error.message}`, { cause: error });
    if (error.message === "" || error.hint === "")
      throw new Error("a refusal needs a message and a hint, and one of them is empty", { cause: error });
    return error;
  }
  throw new Error(
    `expected the refusal ${code}, but the call succeeded with ${JSON.stringify(answer)?.slice(0, 200)}`,
  );
}
