// Calls every operation as every caller that must be refused, in process, over HTTP and over MCP. Each refusal says what to do
// next, and the call changes nothing.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { JsonObject } from "../src/contract/words.ts";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { requestFor } from "../src/client/client.ts";
import { inputSchema } from "../src/contract/json-schema.ts";
import { myOutcomes } from "../src/contract/outcomes.ts";
import type { Operation } from "../src/contract/operation.ts";
import { operations } from "../src/contract/operation-table.ts";
import { createKey, revokeKey, terminateAgent } from "../src/contract/agents.ts";
import { Refusal, refusalCodes, type RefusalBody, type RefusalCode } from "../src/contract/refusal.ts";
import { type Daemon, startDaemon } from "../src/daemon/daemon.ts";
import { newId } from "../src/daemon/ids.ts";
import { endSession } from "../src/runtime/sessions.ts";
import { query } from "../src/store/query.ts";
import { bothStores, type StoreKind } from "../src/testing/organization.ts";
import { runLength } from "../src/testing/run-length.ts";
import { thirdOf } from "../src/testing/seeds.ts";
import { storeDatabase } from "../src/testing/postgres.ts";
import { watchStatements } from "../src/testing/statements.ts";
import { newEvents, seenSoFar } from "../src/events/ledger.ts";
import { sealOperation } from "../src/events/verify.ts";
import { digestOf, unchanged } from "./digest.ts";
import type { Row, World } from "./walk-row.ts";
import { keepMirrors } from "../src/repos/mirrors.ts";
import { createWorld } from "./walk-world.ts";
import { table } from "./walk-table.ts";

type Input = Readonly<Record<string, unknown>>;
type Answer = { readonly output: unknown } | RefusalBody;
type Door = (operation: Operation, token: string | undefined, input: unknown) => Promise<Answer>;

/** The texts that this database does not prepare. */
async function refusedBy(url: string, texts: ReadonlySet<string>): Promise<string[]> {
  assert.ok(texts.size > 50, `only ${texts.size} reads`);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const problems: string[] = [];
    for (const [number, text] of [...texts].entries())
      await client
        .query(`prepare read_${number} as ${text}`)
        .catch((error: unknown) => problems.push(`${String(error)}\n${text}`));
    return problems;
  } finally {
    await client.end();
  }
}

/** Credentials that are invalid or have expired, by description. Every call with one of them is answered with 401. */
type Nobodies = Readonly<Record<string, string | undefined>>;

test("the table has every operation exactly once", () => {
  const walked = table.map(({ operation }) => operation.name).toSorted();
  assert.deepEqual(walked, operations.map(({ name }) => name).toSorted());
});

/**
 * HTTP and MCP work the same on both stores, so a shorter run uses them on SQLite only. They also work the same for all
 * operations, so a quick run uses them for some.
 */
const throughDoors = new Set(thirdOf(table));
const usesDoors = (kind: StoreKind, row: Row): boolean =>
  runLength === "long" || (kind === "sqlite" && throughDoors.has(row));

/** Each part has a separate store: comparing a whole store takes longer the more earlier rows have left in it. */
const rowsPerPart = 30;
const parts = Array.from({ length: Math.ceil(table.length / rowsPerPart) }, (_, part) =>
  table.slice(part * rowsPerPart, (part + 1) * rowsPerPart),
);

for (const kind of bothStores) for (const [part, rows] of parts.entries()) testRows(kind, part + 1, rows);

function testRows(kind: StoreKind, part: number, rows: readonly Row[]): void {
  describe(`the walk on ${kind}, part ${part} of ${parts.length}`, () => {
    const home = mkdtempSync(join(tmpdir(), "agency-walk-"));
    const bugs: unknown[] = [];
    let database: Awaited<ReturnType<typeof storeDatabase>> | undefined;
    let daemon: Daemon;
    let world: World;
    let nobodies: Nobodies;
    let foreign: string;
    let dispatch: Door;
    let http: Door;
    let mcp: ReturnType<typeof mcpDoor>;
    const watched = kind === "postgres" ? watchStatements() : undefined;

    before(async () => {
      database = kind === "postgres" ? await storeDatabase() : undefined;
      daemon = await startDaemon({
        home,
        port: 0,
        databaseUrl: database?.url,
        // Only the calls of the walk may change the store.
        schedule: false,
        log: (line) => bugs.push(line),
      });
      world = await createWorld(
        daemon.store,
        keepMirrors({ folder: join(home, "repos"), enclose: () => undefined }),
      );
      nobodies = await createNobodies(world);
      const other = await world.org.another();
      foreign = (await other.board(createKey, { id: other.rootId })).key;
      dispatch = dispatchDoor(world);
      http = httpDoor(daemon.url);
      mcp = mcpDoor(daemon.url);
    });
    after(async () => {
      await mcp.close();
      await daemon.stop();
      watched?.stop();
      const unusable = database && (await refusedBy(database.url, watched?.together ?? new Set()));
      await database?.drop();
      rmSync(home, { recursive: true, force: true });
      assert.deepEqual(bugs, [], "no call may be answered with an internal error");
      assert.deepEqual(unusable ?? [], [], "every read can be made together with others like it");
    });

    for (const row of rows) {
      const { operation } = row;
      const hasDoors = usesDoors(kind, row);
      // A refused call changes nothing, so its input is used again. A successful call uses up its input.
      let unused: Promise<Input> | undefined;
      const unusedInput = (): Promise<Input> => (unused ??= row.input(world));
      const inputToUse = (): Promise<Input> => {
        const input = unusedInput();
        unused = undefined;
        return input;
      };

      // covers CAP-01
      test(`${operation.name} is refused to every caller that may not call it`, async () => {
        const input = await unusedInput();
        await unchanged(daemon.store, async () => {
          for (const [what, token] of Object.entries(nobodies)) {
            const given = withCredential(operation, token, input);
            demandRefusal(await dispatch(operation, token, given), "unauthenticated", what);
            if (!hasDoors) continue;
            demandRefusal(await http(operation, token, given), "unauthenticated", `${what}, http`);
            if (operation.mcp !== undefined)
              demandRefusal(await mcp.call(operation, token, input), "unauthenticated", `${what}, mcp`);
          }
          if (!("none" in row.denied))
            for (const [who, code] of Object.entries(row.denied)) {
              const token = world.tokens[who as keyof World["tokens"]];
              demandRefusal(await dispatch(operation, token, input), code, who);
              if (!hasDoors) continue;
              demandRefusal(await http(operation, token, input), code, `${who}, http`);
              if (operation.mcp !== undefined)
                demandRefusal(await mcp.call(operation, token, input), code, `${who}, mcp`);
            }
          if (row.elsewhere === "not_found" || row.elsewhere === "missing")
            for (const given of asSeenFromElsewhere(operation, input)) {
              const answer = await dispatch(operation, foreign, given);
              if (row.elsewhere === "missing") assert.deepEqual(answer, allMissing(given));
              else demandRefusal(answer, "not_found", "another company");
              // An id of another company gets the same answer as an id that does not exist.
              const nothing = withIds(given, () => randomUUID());
              assert.deepEqual(
                withIds(answer, () => "…"),
                withIds(await dispatch(operation, foreign, nothing), () => "…"),
              );
              if (operation.mcp !== undefined && hasDoors)
                demandRefusal(await mcp.call(operation, foreign, given), "not_found", "another company, mcp");
            }
          if (!hasDoors) return;
          if (row.elsewhere === "missing")
            assert.deepEqual(await http(operation, foreign, input), allMissing(input));
          if (row.elsewhere === "not_found")
            demandRefusal(await http(operation, foreign, input), "not_found", "another company, http");
        });
      });

      test(`${operation.name} refuses malformed input, and without a credential does not say why`, async () => {
        const input = await unusedInput();
        const token = world.tokens[row.actor];
        await unchanged(daemon.store, async () => {
          for (const [what, malformed] of malformedInputs(operation, input)) {
            demandMalformed(row, malformed, await dispatch(operation, token, malformed), what);
            const given = withCredential(operation, undefined, malformed);
            demandRefusal(await dispatch(operation, undefined, given), "unauthenticated", what);
          }
          if (!hasDoors) return;
          const surprise = { ...input, surprise: "1" };
          demandMalformed(row, surprise, await http(operation, token, surprise), "unknown key, http");
          const bare = withCredential(operation, undefined, surprise);
          demandRefusal(await http(operation, undefined, bare), "unauthenticated", "unknown key, http");
          if (operation.mcp !== undefined)
            demandMalformed(row, surprise, await mcp.call(operation, token, surprise), "unknown key, mcp");
        });
      });

      test(`${operation.name} succeeds for an allowed caller and is recorded`, async () => {
        const token = world.tokens[row.actor];
        const doors = hasDoors ? { dispatch, http, mcp: mcp.call } : { dispatch };
        for (const [name, door] of Object.entries(doors)) {
          if (name === "mcp" && operation.mcp === undefined) continue;
          const input = await inputToUse();
          // Notices of earlier rows come with the next result of a tool and then count as read.
          if (name === "mcp") await mcp.call(myOutcomes, token, {});
          const digest = await digestOf(daemon.store);
          const seen = await daemon.store.read(seenSoFar);
          const answer = await door(operation, token, input);
          assert.ok("output" in answer, `${name}: ${JSON.stringify(answer)}`);
          operation.output.parse(answer.output);
          const news = () => daemon.store.read((tx) => newEvents(tx, seen));
          const hasEnded = async () =>
            row.endsWith === undefined || (await news()).some(({ operation }) => operation === row.endsWith);
          while (!(await hasEnded())) await sleep(20);
          const events = await news();
          // The ledger seals itself from time to time.
          const added = events.map(({ operation }) => operation).filter((name) => name !== sealOperation);
          if (operation.effect === "write")
            assert.ok(added.includes(row.recordedAs ?? operation.name), `${name}: ${added.join()}`);
          else assert.deepEqual(await digestOf(daemon.store), digest, name);
          if (operation.effect === "read") assert.deepEqual(added, [], name);
        }
      });
    }
  });
}

function demandRefusal(answer: Answer, code: RefusalCode, what: string): void {
  assert.ok("error" in answer, `${what}: not refused, answered ${JSON.stringify(answer).slice(0, 200)}`);
  assert.equal(answer.error.code, code, `${what}: ${answer.error.message}`);
  assert.ok(answer.error.message.length > 0 && answer.error.hint.length > 0, what);
}

/** The answer about several ids of which the caller can read none. */
function allMissing({ ids }: Input): Answer {
  return { output: { answers: [], missing: ids } };
}

/** If an argument is the credential, the token replaces the valid one. */
function withCredential({ credentialIn }: Operation, token: string | undefined, input: unknown): unknown {
  if (credentialIn === undefined || !JsonObject.safeParse(input).success) return input;
  return { ...JsonObject.parse(input), [credentialIn]: token };
}

/** Demands a refusal, unless the operation answers malformed input with its usual result. */
function demandMalformed(
  { operation, saysMalformed }: Row,
  input: unknown,
  answer: Answer,
  what: string,
): void {
  const { credentialIn } = operation;
  if (credentialIn !== undefined && typeof Object(input)[credentialIn] !== "string")
    return demandRefusal(answer, "unauthenticated", what);
  if (saysMalformed === undefined || !operation.input.safeParse(input).success)
    return demandRefusal(answer, "invalid", what);
  assert.ok("output" in answer && saysMalformed(answer.output), `${what}: ${JSON.stringify(answer)}`);
}

/**
 * The whole input. If it names the company and an object in it, also the input that names only the object. For operations of
 * the board, the second is left out, because they are refused before the object is looked up.
 */
function asSeenFromElsewhere({ needs }: Operation, input: Input): Input[] {
  const { companyId, ...rest } = input;
  const namesMore = companyId !== undefined && needs !== "board" && uuids.test(JSON.stringify(rest));
  return namesMore ? [input, rest] : [input];
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

function withIds<T>(value: T, replace: () => string): T {
  return JSON.parse(JSON.stringify(value).replace(new RegExp(uuids, "g"), replace)) as T;
}

function malformedInputs(operation: Operation, valid: Input): [string, unknown][] {
  const { required, properties } = inputSchema(operation.input);
  const declared = z.record(z.string(), z.object({ type: z.unknown().optional() })).parse(properties ?? {});
  const without = (key: string): Input =>
    Object.fromEntries(Object.entries(valid).filter(([other]) => other !== key));
  return [
    ...[null, [], "text", 7, true].map((value): [string, unknown] => [
      `input ${JSON.stringify(value)}`,
      value,
    ]),
    ["an unknown key", { ...valid, surprise: 1 }],
    // Schemas that pass unknown keys on to their handler drop this key.
    ...(operation.input.safeParse({ ...valid, surprise: 1 }).success ? [] : [prototypeKey(valid)]),
    // Few keys accept an empty object. Those that do refuse a number, unless the handler checks the value.
    ...Object.keys(operation.input.shape).map((key): [string, unknown] => {
      const isSimple = ["string", "number", "boolean"].includes(String(declared[key]?.type));
      const takesObjects = !isSimple && operation.input.shape[key]?.safeParse({}).success === true;
      return [`wrong type of ${key}`, { ...valid, [key]: takesObjects ? 7 : {} }];
    }),
    ...(Array.isArray(required) ? required.map(String) : []).map((key): [string, unknown] => [
      `without ${key}`,
      without(key),
    ]),
  ];
}

function prototypeKey(valid: Input): [string, unknown] {
  return ["a key of the prototype", Object.fromEntries([...Object.entries(valid), ["__proto__", { id: 1 }]])];
}

function dispatchDoor({ org }: World): Door {
  return async (operation, token, input) => {
    try {
      return { output: await org.core.dispatch({ operation, token, input }) };
    } catch (error) {
      if (error instanceof Refusal) return error.toBody();
      throw error;
    }
  };
}

function httpDoor(url: string): Door {
  return async (operation, token, input) => {
    const { path, body } = requestFor(operation, input as Input);
    const response = await fetch(new URL(path, url), {
      method: operation.http.method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
    });
    return answerOf(response);
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const isText = response.headers.get("content-type") === "text/plain; charset=utf-8";
  const output: unknown = isText ? { text: await response.text() } : await response.json();
  if (response.ok) return { output };
  assert.ok(!isText, "a refusal must be JSON");
  const answer = refusalIn(output);
  assert.equal(response.status, refusalCodes[answer.error.code as RefusalCode]?.http, answer.error.code);
  return answer;
}

function refusalIn(output: unknown): RefusalBody {
  const shape = { code: z.string(), message: z.string(), hint: z.string() };
  return z.object({ error: z.object(shape) }).parse(output);
}

/** One client for each credential and server. An invalid credential is refused before the protocol starts. */
function mcpDoor(url: string): { call: Door; close: () => Promise<void> } {
  const clients = new Map<string, Client>();
  const connect = async (server: string, token: string): Promise<Client> => {
    const known = clients.get(`${server} ${token}`);
    if (known !== undefined) return known;
    const client = new Client({ name: "walk", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`/mcp/${server}`, url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    await client.connect(transport);
    clients.set(`${server} ${token}`, client);
    return client;
  };
  return {
    call: async (operation, token, input) => {
      const { server = "", tool = "" } = operation.mcp ?? {};
      const call = { name: tool, arguments: { ...(input as Input) } };
      const response = await fetch(new URL(`/mcp/${server}`, url), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
      if (response.status === 401) return answerOf(response);
      await response.body?.cancel();
      const result = await (await connect(server, token ?? "")).callTool(call);
      const [content] = result.content;
      assert.ok(content?.type === "text");
      const { notices: _, ...answer } = Object(result.structuredContent);
      assert.deepEqual(JSON.parse(content.text), answer, "the text must be the same JSON");
      return result.isError === true ? refusalIn(answer) : { output: answer };
    },
    close: async () => {
      for (const client of clients.values()) await client.close();
    },
  };
}

async function createNobodies({ org }: World): Promise<Nobodies> {
  const { store } = org.core;
  const terminated = await org.agent("Terminated");
  const terminatedSession = await org.session(terminated.id);
  await org.board(terminateAgent, { id: terminated.id });

  const keyless = await org.agent("Keyless");
  const revoked = await org.board(createKey, { id: keyless.id });
  await org.board(revokeKey, { id: keyless.id, keyId: revoked.id });

  const sleeper = await org.agent("Sleeper");
  const ended = await org.session(sleeper.id);
  const end = (id: string) =>
    store.write((tx) => endSession(tx, id, { reason: "the end", exitCode: 0 }, newId));
  await end(ended.id);

  // Only its epoch is old: the session has not noticed that another session took over.
  const replaced = await org.agent("Replaced");
  const old = await org.session(replaced.id);
  await end((await org.session(replaced.id)).id);
  await store.write((tx) => tx.run(revive, { id: old.id }));
  return {
    "no credential": undefined,
    "a garbage credential": "garbage",
    "a well-formed key of no agent": `agk_${"0".repeat(43)}`,
    "a terminated agent's key": terminated.token,
    "a terminated agent's session": terminatedSession.token,
    "a revoked key": revoked.key,
    "an ended session": ended.token,
    "a session of an old epoch": old.token,
  };
}

const revive = query((db, p: { id: string }) =>
  db.updateTable("sessions").set({ ended_at: null }).where("id", "=", p.id),
);
