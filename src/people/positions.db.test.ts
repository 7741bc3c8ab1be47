// People over MCP: a person works from a position with the tools of its agent, and with no other tools.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { updateAgent, viewAgent } from "../contract/agents.ts";
import { createCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { listEvents } from "../contract/ledger.ts";
import * as contract from "../contract/people.ts";
import { newId } from "../daemon/ids.ts";
import { listAfter, system } from "../events/ledger.ts";
import { storeKinds, refusal } from "../testing/organization.ts";
import { sharedDaemon } from "../testing/daemons.ts";
import { addPerson } from "./table.ts";

const Answer = z.object({
  result: z.looseObject({
    isError: z.boolean().optional(),
    structuredContent: z.record(z.string(), z.unknown()).optional(),
    tools: z.array(z.looseObject({ name: z.string() })).optional(),
  }),
});

for (const kind of storeKinds)
  describe(`people over MCP on ${kind}`, async () => {
    const daemon = await sharedDaemon(kind, { log: (line) => assert.fail(JSON.stringify(line)) });
    const { id: companyId } = await createClient(daemon).call(createCompany, { name: "Mill" });

    const add = async (name: string, role: contract.Role): Promise<{ id: string; token: string }> => {
      const { id, signIn } = await createClient(daemon).call(contract.createPerson, { name, role });
      const stranger = createClient({ url: daemon.url, token: undefined });
      const { code } = signIn;
      const { token = "" } = await stranger.call(contract.signIn, { code, kind: "program" });
      return { id, token };
    };
    const seat = async (name: string, person: string, reportsTo?: string) =>
      createClient(daemon).call(createAgent, {
        companyId,
        name,
        role: "lead",
        adapterType: "human",
        person,
        ...(reportsTo && { reportsTo }),
      });

    /** The answer to a request over MCP. If the door itself refuses, the answer is the HTTP status. */
    const ask = async (
      token: string,
      as: string | undefined,
      server: string,
      method: string,
      params: object,
    ) => {
      const response = await fetch(new URL(`/mcp/${server}`, daemon.url), {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-06-18",
          ...(as !== undefined && { "x-agency-as": as }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      const text = await response.text();
      if (!response.ok) return { status: response.status };
      const line = text.startsWith("{") ? text : (/^data: ?(.*)$/m.exec(text)?.[1] ?? "{}");
      return { status: 200, ...Answer.parse(JSON.parse(line)).result };
    };
    /** The answer of a tool, or the code of its refusal. */
    const tool = async (
      token: string,
      as: string | undefined,
      server: string,
      name: string,
      args: object = {},
    ) => {
      const { status, isError, structuredContent } = await ask(token, as, server, "tools/call", {
        name,
        arguments: args,
      });
      if (status !== 200) return `HTTP ${status}`;
      if (isError === true) return String(Object(structuredContent?.["error"])["code"]);
      return structuredContent ?? {};
    };

    test("a member calls tools as the agent of its position, and events name both", async () => {
      const ann = await add("Ann", "member");
      assert.equal(await tool(ann.token, undefined, "mail", "read_inbox"), "forbidden");
      const mill = await seat("Mill", "Ann");
      assert.deepEqual(await tool(ann.token, undefined, "mail", "read_inbox"), {
        messages: [],
        waiting: 0,
        nextCursor: null,
      });
      await tool(ann.token, undefined, "mail", "send_message", { to: "boss", body: "On it." });
      const { events } = await createClient(daemon).call(listEvents, { companyId, limit: 1000 });
      const { actor } = events.findLast(({ operation }) => operation === "mail.send") ?? {};
      assert.deepEqual([actor?.kind, actor?.agentId, actor?.personId], ["agent", mill.id, ann.id]);
      // A person with two positions has to name one, and can use only their own positions.
      await seat("Weir", "Ann", mill.id);
      assert.equal(await tool(ann.token, undefined, "mail", "read_inbox"), "invalid");
      const sent = await tool(ann.token, "weir", "mail", "send_message", { to: "boss", body: "From below." });
      assert.equal(Object(Object(sent)["from"])["name"], "Weir");
      const inbox = await tool(ann.token, "mill", "mail", "read_inbox");
      assert.equal(Object(inbox)["waiting"], 1);
      for (const name of ["root", "board", "nothing", "%F0%9F", ""])
        assert.match(
          JSON.stringify(await tool(ann.token, name, "mail", "read_inbox")),
          /forbidden|invalid/,
          name,
        );
    });

    test("a viewer changes nothing, a board person acts from a named position, and a removed person is a stranger", async () => {
      const vera = await add("Vera", "viewer");
      assert.equal(
        await tool(vera.token, undefined, "kb", "create_file", { description: "x", content: "x" }),
        "forbidden",
      );
      const cy = await add("Cy", "board");
      await seat("Sluice", "Cy");
      assert.equal(await tool(cy.token, undefined, "mail", "read_inbox"), "refused");
      assert.equal(Object(await tool(cy.token, "sluice", "mail", "read_inbox"))["waiting"], 0);
      assert.equal(await tool(cy.token, "mill", "mail", "read_inbox"), "forbidden");
      const { tools = [] } = await ask(cy.token, "sluice", "mail", "tools/list", {});
      assert.ok(tools.some(({ name }) => name === "read_inbox"));
      await createClient(daemon).call(contract.removePerson, { id: "Cy" });
      for (const as of [undefined, "sluice"])
        assert.equal(await tool(cy.token, as, "mail", "read_inbox"), "HTTP 401");
    });

    test("a person who becomes a viewer, and an agent that gets a brain, leave the position vacant", async () => {
      const board = createClient(daemon);
      const dan = await add("Dan", "member");
      const lock = await seat("Lock", "Dan");
      await board.call(contract.updatePerson, { id: "Dan", role: "viewer" });
      assert.equal((await board.call(viewAgent, { id: lock.id })).person, null);
      const asDan = createClient({ url: daemon.url, token: dan.token });
      assert.deepEqual((await asDan.call(contract.viewMe, {})).positions, []);
      assert.equal(await tool(dan.token, "lock", "mail", "read_inbox"), "forbidden");
      const { events } = await board.call(listEvents, { companyId, limit: 1000 });
      const vacated = events.findLast(({ operation }) => operation === "agent.vacate");
      assert.deepEqual([vacated?.subject, vacated?.data["name"]], [lock.id, "Dan"]);
      const ledger = await daemon.store.read((tx) =>
        tx.all(listAfter, { companyId: "", after: 0, limit: 1000 }),
      );
      const changed = ledger.findLast(({ operation }) => operation === "person.update");
      assert.deepEqual(JSON.parse(changed?.data ?? ""), {
        before: { name: "Dan", role: "member" },
        after: { name: "Dan", role: "viewer" },
      });
      // As a member again, the person holds the position again. Giving the agent a brain ends it for good.
      await board.call(contract.updatePerson, { id: "Dan", role: "member" });
      assert.equal(Object(await tool(dan.token, "lock", "mail", "read_inbox"))["waiting"], 0);
      await board.call(updateAgent, { id: lock.id, adapterType: "rehearsal" });
      assert.equal(await tool(dan.token, "lock", "mail", "read_inbox"), "forbidden");
      await board.call(updateAgent, { id: lock.id, adapterType: "human" });
      assert.equal((await board.call(viewAgent, { id: lock.id })).person, null);
      assert.equal(await tool(dan.token, "lock", "mail", "read_inbox"), "forbidden");
    });

    test("a person can't take another's name, a look-alike name finds no person, and 1,000 people are the maximum", async () => {
      const board = createClient(daemon);
      await add("Mira", "viewer");
      const { id } = await add("Nina", "member");
      for (const name of ["Mira", "M1RA"])
        await refusal(board.call(contract.updatePerson, { id, name }), "conflict");
      await refusal(board.call(contract.updatePerson, { id, name: "me" }), "refused");
      assert.equal((await board.call(contract.updatePerson, { id, name: "NINA" })).name, "NINA");
      const pond = await seat("Pond", "nina");
      for (const person of ["N1na", "Nlna", "nobody"])
        await refusal(board.call(updateAgent, { id: pond.id, person }), "not_found");
      const { length } = (await board.call(contract.listPeople, {})).people;
      await daemon.store.write(async (tx) => {
        for (let number = length; number < 999; number++)
          await addPerson(tx, system, { id: newId(), name: `Person ${number}`, role: "viewer" });
      });
      await board.call(contract.createPerson, { name: "The thousandth" });
      const { message } = await refusal(board.call(contract.createPerson, { name: "One more" }), "limited");
      assert.match(message, /There are 1000 people here, the maximum/);
    });
  });
