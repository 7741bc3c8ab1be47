// Mistakes that callers make. Each call is refused with advice on what to do next, and it changes nothing.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { z } from "zod";
import { explainAccess, grantPermission, requestPermission } from "../src/contract/capabilities.ts";
import { viewAttention } from "../src/contract/attention.ts";
import { listConfigurations, createAgent } from "../src/contract/hiring.ts";
import { requestAgent } from "../src/contract/create-agent.ts";
import { createFile, readFile, searchFiles, writeFile } from "../src/contract/knowledge.ts";
import type { Operation } from "../src/contract/operation.ts";
import { operations } from "../src/contract/operation-table.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { createKey, updateAgent } from "../src/contract/agents.ts";
import { createOutcome, updateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { delegateOutcome } from "../src/contract/delegation.ts";
import type { RefusalCode } from "../src/contract/refusal.ts";
import { ageEvents } from "../src/testing/old-events.ts";
import { refusal, sharedOrganization, storeKinds } from "../src/testing/organization.ts";
import { unchanged } from "./digest.ts";
import { allowed } from "../src/testing/allowed.ts";

type Input = Record<string, unknown>;

const lone = "\ud800";
const nul = "\u0000";

for (const kind of storeKinds)
  describe(`bad input on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind);
    const other = await org.another();
    const boss = await org.agent("Chief");

    /** Calls an operation with unchecked input, as HTTP and MCP do. */
    const call = (operation: Operation, input: Input, token = org.boardToken) =>
      org.core.dispatch({ operation, token, input });

    /** Demands that each call is refused with the code and changes nothing. */
    const refused = (code: RefusalCode, calls: readonly [Operation, Input][], token?: string) =>
      unchanged(store, async () => {
        for (const [operation, input] of calls) await refusal(call(operation, input, token), code);
      });

    const agent = (name: unknown): [Operation, Input] => [
      createAgent,
      { companyId: org.companyId, name, role: "worker" },
    ];

    test("a name has 1 to 64 characters of any script, counted as readers count them", async () => {
      for (const letter of ["a", "ж", "漢", "ก", "𠮷", "🚀", "e\u0301"]) {
        const { name } = await org.board(createAgent, {
          companyId: org.companyId,
          name: letter.repeat(64),
          role: "worker",
        });
        assert.equal(name, letter.repeat(64).normalize("NFC"));
        await refused("invalid", [agent(letter.repeat(65))]);
      }
      // These don't compose, which means that the letter and the accent count as one character each.
      await refused("invalid", [agent("x\u0301".repeat(33))]);
      const long = "n".repeat(10_000);
      await refused("invalid", [
        ...["", " ", "\u3000\t\n", long, `a${nul}b`, `a${lone}`, "a\u0007b", 7, null, ["a"]].map(agent),
        [createAgent, { companyId: org.companyId, name: "Fine", role: "" }],
        [createAgent, { companyId: org.companyId, name: "Fine", role: long }],
        [createAgent, { companyId: org.companyId, name: "Fine", role: "worker", title: long }],
        [updateAgent, { id: boss.id, name: "" }],
        [updateCompany, { companyId: org.companyId, name: long }],
        [createCompany, { name: "" }],
        [createKey, { id: boss.id, label: long }],
      ]);
    });

    test("names that look the same conflict, and reserved names are refused", async () => {
      await org.board(createAgent, { companyId: org.companyId, name: "Zoë 🚀", role: "worker" });
      await refused("conflict", ["Zoe\u0308 🚀", "ZOË  🚀", " zoë\t🚀 ", "Ｚoë 🚀"].map(agent));
      await refused("refused", ["human", "Board", "ＳＹＳＴＥＭ", " agency "].map(agent));
      await refused("conflict", [[updateAgent, { id: boss.id, name: "zoe\u0308 🚀" }]]);
    });

    test("an id is a UUID, in lower or upper case", async () => {
      const file = await boss.call(createFile, { description: "capitals", content: "c" });
      assert.equal((await boss.call(readFile, { id: file.id.toUpperCase() })).id, file.id);
      const report = await org.agent("Capitals", boss.id);
      const grant = await boss.call(grantPermission, {
        to: report.id.toUpperCase(),
        resource: `KB:${file.id.toUpperCase()}`,
        outcome: boss.id.toUpperCase(),
      });
      assert.equal(grant.resource, `kb:${file.id}`);
      const explained = await boss.call(explainAccess, {
        agent: report.id.toUpperCase(),
        resource: `kb:${file.id.toUpperCase()}`,
      });
      assert.equal(explained.allowed, true);
      const work = await boss.call(createOutcome, { title: "w", parents: [boss.id.toUpperCase(), boss.id] });
      assert.equal(work.parents.length, 1);
      const wrong = [
        "",
        "x",
        "../../etc/passwd",
        `${file.id}\n`,
        `{${file.id}}`,
        `${file.id}' or 1=1`,
        `${file.id}0`,
      ];
      await refused(
        "invalid",
        wrong.flatMap((id): [Operation, Input][] => [
          [readFile, { id }],
          [viewOutcome, { id }],
          [createOutcome, { companyId: org.companyId, title: "t", parents: [id] }],
          [createFile, { companyId: id, description: "d", content: "c" }],
          [grantPermission, { companyId: org.companyId, to: boss.id, resource: `kb:${id}` }],
        ]),
      );
      await refused("not_found", [
        [readFile, { id: "00000000-0000-0000-0000-000000000000" }],
        [viewOutcome, { id: randomUUID() }],
      ]);
    });

    test("every text must be valid Unicode without NUL", async () => {
      const work = await org.outcome("texts");
      const file = await org.board(createFile, { companyId: org.companyId, description: "d", content: "c" });
      const { companyId } = org;
      for (const bad of [`a${nul}b`, `a${lone}b`])
        await refused("invalid", [
          [createFile, { companyId, description: bad, content: "c" }],
          [createFile, { companyId, description: "d", content: "c", mediaType: `text/${bad}` }],
          [writeFile, { ...file, content: "c", description: bad }],
          [searchFiles, { companyId, query: bad }],
          [createOutcome, { companyId, title: bad, parents: [work] }],
          [createOutcome, { companyId, title: "t", description: bad, parents: [work] }],
          [createOutcome, { companyId, title: "t", acceptance: bad, parents: [work] }],
          [updateOutcome, { id: work, blocked: { reason: bad } }],
          [createAgent, { companyId, name: "Texts", role: "worker", mandate: bad }],
          [createAgent, { companyId, name: "Texts", role: "worker", capabilities: bad }],
          [grantPermission, { companyId, to: bad, resource: "org:hire" }],
          [explainAccess, { companyId, agent: bad, resource: "org:hire" }],
        ]);
      await refused("invalid", [[createFile, { companyId, description: "d", content: `a${lone}b` }]]);
      // The content of a file may be any bytes, NUL included.
      const bytes = await org.board(createFile, { companyId, description: "bytes", content: `a${nul}b` });
      assert.equal((await org.board(readFile, { id: bytes.id })).content, `a${nul}b`);
    });

    test("texts over the limit, unknown keys at any depth and deep structures are refused", async () => {
      const work = await org.outcome("shapes");
      const deep: unknown = JSON.parse(`${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`);
      const { companyId } = org;
      await refused("invalid", [
        [createOutcome, { companyId, title: "t".repeat(301), parents: [work] }],
        [createOutcome, { companyId, title: "  ", parents: [work] }],
        [createOutcome, { companyId, title: "t", description: "d".repeat(100_001), parents: [work] }],
        [createOutcome, { companyId, title: "t", parents: [] }],
        [createOutcome, { companyId, title: "t", parents: Array.from({ length: 101 }, () => work) }],
        [createFile, { companyId, description: "d".repeat(1001), content: "c" }],
        [createFile, { companyId, description: " \n ", content: "c" }],
        [createFile, { companyId, description: "d", content: "c", mediaType: "text" }],
        [createFile, { companyId, description: "d", content: "!!!", encoding: "base64" }],
        [createFile, { companyId, description: "d", content: "QUJDR", encoding: "base64" }],
        [createFile, { companyId, description: "d", content: "c", path: "p" }],
        [createFile, { companyId, description: "d" }],
        [updateOutcome, { id: work, blocked: { reason: "r", surprise: 1 } }],
        [updateOutcome, { id: work, blocked: { reason: "r", until: "tomorrow" } }],
        [updateOutcome, { id: work, blocked: deep }],
        [updateOutcome, { id: work, title: deep }],
        [createOutcome, { companyId, title: "t", parents: deep }],
        [delegateOutcome, { id: work, to: "chief", grants: [{ resource: "org:hire", surprise: 1 }] }],
        [grantPermission, { companyId, to: "chief", resource: "org:everything" }],
        [grantPermission, { companyId, to: "chief", resource: "org:hire", level: "write" }],
        [requestPermission, { resource: "kb:*", reason: "all of it" }],
        [updateCompany, { companyId, maxFileBytes: -1 }],
        [updateCompany, { companyId, maxFileBytes: 1.5 }],
        [updateCompany, { companyId, maxFileBytes: "1000" }],
      ]);
    });

    test("a file of 11 MB is too large, as text and as base64, new and overwritten", async () => {
      const file = await org.board(createFile, { companyId: org.companyId, description: "d", content: "c" });
      const text = "x".repeat(11 * 1024 * 1024);
      const base64 = Buffer.from(text).toString("base64");
      await refused("too_large", [
        [createFile, { companyId: org.companyId, description: "big", content: text }],
        [createFile, { companyId: org.companyId, description: "big", content: base64, encoding: "base64" }],
        [writeFile, { ...file, content: text }],
        [writeFile, { ...file, content: base64, encoding: "base64" }],
      ]);
    });

    test("invalid base64 is refused quickly, whatever it looks like", async () => {
      const started = performance.now();
      await refused(
        "invalid",
        [`${" ".repeat(500_000)}!`, `${"A".repeat(500_000)}!`, `${"= ".repeat(250_000)}!`].map((content) => [
          createFile,
          { companyId: org.companyId, description: "d", content, encoding: "base64" },
        ]),
      );
      // A pattern that backtracks takes minutes for these.
      assert.ok(performance.now() - started < allowed(2000));
    });

    // covers OUT-04
    test("an outcome can't wait for itself through parents, dependencies or both", async () => {
      const [a, b] = [await org.outcome("a"), await org.outcome("b")];
      const c = await org.outcome("c", [b]);
      const d = await org.outcome("d", [c]);
      const e = await org.outcome("e");
      await org.board(updateOutcome, { id: e, dependsOn: [a] });
      await org.board(updateOutcome, { id: a, dependsOn: [b] });
      await refused("refused", [
        [updateOutcome, { id: b, parents: [b] }],
        [updateOutcome, { id: b, parents: [d] }],
        [updateOutcome, { id: b, parents: [org.rootId, d] }],
        [updateOutcome, { id: a, dependsOn: [a] }],
        [updateOutcome, { id: b, dependsOn: [a] }],
        [updateOutcome, { id: b, dependsOn: [e] }],
        // d is below b. a waits for b, and e waits for a.
        [updateOutcome, { id: d, dependsOn: [b] }],
        [updateOutcome, { id: d, dependsOn: [e] }],
        [updateOutcome, { id: e, parents: [d] }],
        [updateOutcome, { id: e, parents: [org.rootId, b] }],
        [updateOutcome, { id: d, parents: [e], dependsOn: [e] }],
        [updateOutcome, { id: d, blocked: { reason: "r", on: d } }],
        [createOutcome, { companyId: org.companyId, title: "x", parents: [d], dependsOn: [d] }],
        [createOutcome, { companyId: org.companyId, title: "x", parents: [d], dependsOn: [c] }],
        [createOutcome, { companyId: org.companyId, title: "x", parents: [d], dependsOn: [e] }],
        [updateOutcome, { id: org.rootId, parents: [a] }],
      ]);
    });

    test("a parent or dependency named twice counts once", async () => {
      const [a, b] = [await org.outcome("first"), await org.outcome("second")];
      const links = { parents: [a, a, a.toUpperCase()], dependsOn: [b, b] };
      const twice = await org.board(createOutcome, { companyId: org.companyId, title: "twice", ...links });
      assert.deepEqual([twice.parents.length, twice.dependsOn.length], [1, 1]);
      const again = await org.board(updateOutcome, { id: twice.id, parents: [a, b, b], dependsOn: [] });
      assert.deepEqual([again.parents.length, again.dependsOn.length], [2, 0]);
    });

    // covers KB-11
    test("a stale version or hash is a conflict, and the refusal gives the current version and hash", async () => {
      const file = await boss.call(createFile, { description: "d", content: "one" });
      const now = await boss.call(writeFile, { ...file, content: "two" });
      await unchanged(store, async () => {
        for (const pair of [
          { version: file.version, hash: file.hash },
          { version: now.version, hash: file.hash },
          { version: file.version, hash: now.hash },
          { version: 99, hash: now.hash },
        ]) {
          const { details } = await refusal(
            boss.call(writeFile, { id: file.id, content: "x", ...pair }),
            "conflict",
          );
          assert.deepEqual(details, { version: now.version, hash: now.hash });
        }
      });
      await refused("invalid", [
        [writeFile, { ...now, content: "x", version: 0 }],
        [writeFile, { ...now, content: "x", hash: now.hash.toUpperCase() }],
        [writeFile, { ...now, content: "x", hash: "" }],
      ]);
    });

    test("even the board can't link objects of two companies", async () => {
      const mine = await org.outcome("mine");
      const theirs = await other.outcome("theirs");
      const theirAgent = await other.agent("Theirs");
      const theirFile = await theirAgent.call(createFile, { description: "theirs", content: "t" });
      const { companyId } = org;
      await refused("not_found", [
        [createOutcome, { companyId, title: "t", parents: [theirs] }],
        [createOutcome, { companyId, title: "t", parents: [mine, theirs] }],
        [createOutcome, { companyId, title: "t", parents: [mine], dependsOn: [theirs] }],
        [updateOutcome, { id: mine, parents: [theirs] }],
        [updateOutcome, { id: mine, dependsOn: [theirs] }],
        [updateOutcome, { id: mine, blocked: { reason: "r", on: theirs } }],
        [createAgent, { companyId, name: "Torn", role: "worker", reportsTo: theirAgent.id }],
        [grantPermission, { companyId, to: theirAgent.id, resource: "org:hire" }],
        [grantPermission, { companyId, to: boss.id, resource: `kb:${theirFile.id}` }],
        [grantPermission, { companyId, to: boss.id, resource: `outcome:${theirs}` }],
        [grantPermission, { companyId, to: boss.id, resource: `mail:${theirAgent.id}` }],
        [grantPermission, { companyId, to: boss.id, resource: "org:hire", outcome: theirs }],
      ]);
      await refused("refused", [[delegateOutcome, { id: mine, to: theirAgent.id }]]);
      const about = async (id: string) =>
        JSON.stringify(
          await org.board(explainAccess, { companyId, agent: boss.id, resource: `kb:${id}` }),
        ).replaceAll(id, "…");
      assert.equal(await about(theirFile.id), await about(randomUUID()));
    });

    test("every list refuses invalid limits and cursors", async () => {
      const lists = operations.filter(({ input }) => "limit" in input.shape || "cursor" in input.shape);
      assert.ok(lists.length >= 15);
      const file = await boss.call(createFile, { description: "d", content: "c" });
      const { requestId: approval } = await boss.call(requestAgent, { name: "Listed", waitSeconds: 0 });
      const ids: Input = { file: file.id, approval };
      await ageEvents(org.core.store, org.companyId);
      for (const operation of lists) {
        const { within } = operation;
        const noun = typeof within === "string" ? undefined : Object.keys(within)[0];
        const input: Input = {
          ...("companyId" in operation.input.shape ? { companyId: org.companyId } : {}),
          ...(noun === undefined ? {} : { id: ids[noun] ?? boss.id }),
          ...("query" in operation.input.shape ? { query: "d" } : {}),
          ...("resource" in operation.input.shape ? { resource: `kb:${file.id}` } : {}),
          ...("q" in operation.input.shape ? { q: "d" } : {}),
          ...("month" in operation.input.shape ? { month: "2020-01" } : {}),
        };
        const isBoards =
          operation.needs === "board" ||
          [listConfigurations.name, viewAttention.name].includes(operation.name);
        const token = isBoards ? org.boardToken : boss.token;
        const one = "limit" in operation.input.shape ? { ...input, limit: 1 } : input;
        const { nextCursor } = z
          .object({ nextCursor: z.string().nullish() })
          .parse(await call(operation, one, token));
        if (typeof nextCursor === "string" && "cursor" in operation.input.shape)
          await call(operation, { ...input, cursor: nextCursor }, token);
        if ("limit" in operation.input.shape)
          await refused(
            "invalid",
            [0, -1, 1.5, 1e9, Infinity, NaN, "ten", "1e999", "-5"].map((limit) => [
              operation,
              { ...input, limit },
            ]),
            token,
          );
        if ("cursor" in operation.input.shape)
          await refused(
            "invalid",
            ["x", "-1", "1.5", "", "' or 1=1", nul, `1 ${nul}`, lone, "9".repeat(30), "c".repeat(501)].map(
              (cursor) => [operation, { ...input, cursor }],
            ),
            token,
          );
      }
    });
  });
