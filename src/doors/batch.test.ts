// Several reads in one request. Each is answered like a separate request, and none can see more.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { z } from "zod";
import { viewAttention } from "../contract/attention.ts";
import { listCompanies } from "../contract/companies.ts";
import { Limits } from "../contract/limits.ts";
import { isBatched } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { listPeople, viewMe } from "../contract/people.ts";
import { tokenOf, urlOf } from "../cli/where.ts";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";
import { batchDoor } from "./batch.ts";
import { Callers } from "./callers.ts";

interface Call {
  readonly operation: string;
  readonly input?: Readonly<Record<string, unknown>>;
}

const Line = z.looseObject({
  at: z.number(),
  status: z.number(),
  seq: z.number().optional(),
  output: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

const linesOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Line.parse(JSON.parse(line)))
    .toSorted((a, b) => a.at - b.at);

describe("a batch", () => {
  let line: CommandLine;
  before(async () => (line = await openCommandLine()));
  after(() => line.close());

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(new URL("/api/batch", urlOf(line.env)), {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokenOf(line.env) ?? ""}`,
        "content-type": "application/json",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const ask = async (calls: readonly Call[], headers?: Record<string, string>) => {
    const response = await post({ calls }, headers);
    assert.equal(response.status, 200);
    return linesOf(await response.text());
  };
  const get = async (path: string) => {
    const response = await fetch(new URL(path, urlOf(line.env)), {
      headers: { authorization: `Bearer ${tokenOf(line.env) ?? ""}` },
    });
    return { output: await response.json(), seq: Number(response.headers.get("x-agency-seq")) };
  };
  const companyOf = async (): Promise<string> => {
    const { companies } = listCompanies.output.parse((await get("/api/companies")).output);
    return companies[0]?.id ?? "";
  };

  test("gets the answers that its calls would get separately, with the ledger number they reflect", async () => {
    const companyId = await companyOf();
    const calls = [
      { operation: viewAttention.name, input: { companyId } },
      { operation: "agent.list", input: { companyId, limit: 5 } },
      { operation: "outcome.view", input: { id: companyId } },
      { operation: listCompanies.name },
    ];
    const attention = await get(`/api/companies/${companyId}/attention`);
    for (const headers of [{}, { "accept-encoding": "identity" }]) {
      const answers = await ask(calls, headers);
      assert.deepEqual(
        answers.map(({ at, status }) => [at, status]),
        [
          [0, 200],
          [1, 200],
          [2, 404],
          [3, 200],
        ],
      );
      assert.deepEqual([answers[0]?.output, answers[0]?.seq], [attention.output, attention.seq]);
      assert.deepEqual(answers[1]?.output, (await get(`/api/companies/${companyId}/agents?limit=5`)).output);
      assert.equal(answers[2]?.error?.code, "not_found");
      // Each company numbers its own events. The list of all companies reports the number of the company that the caller
      // follows.
      assert.equal(answers[3]?.seq, undefined);
    }
    const [followed] = await ask([{ operation: listCompanies.name }], { "x-agency-company": companyId });
    assert.equal(followed?.seq, attention.seq);
    const [other] = await ask([{ operation: listCompanies.name }], { "x-agency-company": "nothing" });
    assert.equal(other?.seq, 0);
  });

  test("takes only operations that read JSON: no changes, texts or secrets", async () => {
    for (const operation of operations.filter((one) => !isBatched(one))) {
      const [answer] = await ask([{ operation: operation.name }]);
      assert.deepEqual([answer?.status, answer?.error?.code], [400, "invalid"], operation.name);
      assert.match(answer?.error?.message ?? "", /can't be part of a batch/, operation.name);
    }
    for (const operation of ["nothing", "constructor", "__proto__", ""])
      assert.equal((await ask([{ operation }]))[0]?.status, 404);
    // The refused request does not delay the answer to the other one.
    const both = await ask([
      { operation: "company.create", input: { name: "More" } },
      { operation: viewMe.name },
    ]);
    assert.deepEqual(
      both.map(({ status }) => status),
      [400, 200],
    );
    assert.equal(listCompanies.output.parse((await get("/api/companies")).output).companies.length, 1);
  });

  test("of the wrong form is refused as a whole", async () => {
    const call = { operation: viewMe.name };
    for (const body of [
      {},
      { calls: [] },
      { calls: {} },
      [call],
      { calls: [call], more: 1 },
      { calls: [{ ...call, token: "x" }] },
      { calls: [{ ...call, input: [] }] },
      { calls: Array.from({ length: 21 }, () => call) },
      "{",
      "",
    ])
      assert.equal((await post(body)).status, 400, JSON.stringify(body).slice(0, 60));
    assert.equal((await post({ calls: [call] }, { "content-type": "text/plain" })).status, 400);
    assert.equal((await post({ calls: [call] }, { authorization: "Bearer none" })).status, 401);
    assert.equal((await fetch(new URL("/api/batch", urlOf(line.env)))).status, 401);
    assert.equal((await ask(Array.from({ length: 20 }, () => call))).length, 20);
  });

  test("shows an agent no more than its own calls would", async () => {
    const { id } = await line
      .json("agents", "create", "Ada", "--role", "writer", "--adapter-type", "human")
      .then((hired) => z.object({ id: z.string() }).parse(hired));
    const { key } = z.object({ key: z.string() }).parse(await line.json("agents", "key", id));
    const authorization = `Bearer ${key}`;
    const answers = await ask([{ operation: listPeople.name }, { operation: "agent.view", input: { id } }], {
      authorization,
      "x-agency-company": await companyOf(),
    });
    assert.deepEqual(
      answers.map(({ status, seq }) => [status, seq]),
      [
        [403, undefined],
        [200, undefined],
      ],
    );
  });
});

test("every call of a batch counts for the rate, and a slow one holds up no other", async () => {
  const slow = Promise.withResolvers<void>();
  const callers = new Callers({
    limits: Limits.parse({ boardCallsPerSecond: 1 }),
    authenticate: async () => ({
      actor: { kind: "board", agentId: null, sessionId: null, personId: null },
      companyId: null,
      workspace: null,
    }),
    clock: () => 0,
    sleep: async () => undefined,
    closing: AbortSignal.abort(),
  });
  const admit = callers.admit.bind(callers);
  const door = batchDoor({
    admit,
    authenticate: async () => undefined,
    dispatch: async ({ operation }) => {
      if (operation.name === viewMe.name) await slow.promise;
      return { name: operation.name };
    },
    reportBug: (error) => assert.fail(String(error)),
    version: "1",
    limits: Limits.parse({}),
  });
  const server = createServer((request, response) => {
    void admit("agk_one", request.socket).then(
      (account) => door.handle(request, response, new URL(request.url ?? "", "http://localhost"), account),
      () => response.writeHead(429).end(),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const post = (calls: readonly Call[]) =>
    fetch(`http://127.0.0.1:${port}/api/batch`, {
      method: "POST",
      headers: { authorization: "Bearer agk_one", "content-type": "application/json" },
      body: JSON.stringify({ calls }),
    });
  try {
    const response = await post([{ operation: viewMe.name }, { operation: listCompanies.name }]);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader?.read();
    assert.equal(linesOf(first?.value ?? "")[0]?.at, 1);
    slow.resolve();
    assert.equal(linesOf((await reader?.read())?.value ?? "")[0]?.at, 0);
    // At this rate, 25 calls may come at once. Two were made.
    const more = linesOf(
      await (await post(Array.from({ length: 20 }, () => ({ operation: "company.list" })))).text(),
    );
    assert.equal(more.filter(({ status }) => status === 200).length, 20);
    const last = linesOf(
      await (await post(Array.from({ length: 20 }, () => ({ operation: "company.list" })))).text(),
    );
    assert.deepEqual(
      [
        last.filter(({ status }) => status === 200).length,
        last.filter(({ status }) => status === 429).length,
      ],
      [3, 17],
    );
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
