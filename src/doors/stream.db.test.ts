import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "../client/client.ts";
import { createKey } from "../contract/agents.ts";
import { createCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { createFile } from "../contract/knowledge.ts";
import { sendMessage } from "../contract/mail.ts";
import { sharedDaemon } from "../testing/daemons.ts";

describe("reading and then following at the HTTP door", async () => {
  const daemon = await sharedDaemon();

  test("a person's read returns its ledger number, an agent's doesn't, and a stream can start at it", async () => {
    const client = createClient({ url: daemon.url, token: daemon.token });
    const { id: companyId } = await client.call(createCompany, { name: "Stream" });
    const { id } = await client.call(createAgent, { companyId, name: "Ann", role: "x" });
    const { key } = await client.call(createKey, { id, label: "test" });
    const get = (path: string, credential = daemon.token): Promise<Response> =>
      fetch(new URL(path, daemon.url), { headers: { authorization: `Bearer ${credential}` } });
    const seqOf = async (): Promise<number> =>
      Number((await get(`/api/companies/${companyId}/outcomes`)).headers.get("x-agency-seq"));
    const seq = await seqOf();
    assert.ok(seq > 0);
    // A recorded read reports the number too. The installation has other numbers than a company.
    const file = await client.call(createFile, { companyId, description: "f", content: "x" });
    assert.equal(Number((await get(`/api/kb/${file.id}`)).headers.get("x-agency-seq")), seq + 1);
    assert.equal((await get("/api/companies")).headers.get("x-agency-seq"), null);
    const own = await get("/api/outcomes", key);
    assert.deepEqual([own.status, own.headers.get("x-agency-seq")], [200, null]);

    const now = await seqOf();
    const stream = await get(`/api/events?company=${companyId}&after=now`);
    const reader = stream.body?.getReader();
    assert.ok(reader !== undefined);
    await client.call(sendMessage, { companyId, to: id, body: "hello" });
    let heard = "";
    while (!heard.includes("data: "))
      heard += Buffer.from((await reader.read()).value ?? new Uint8Array()).toString();
    await reader.cancel();
    // Events without an SSE name reach a browser's onmessage. The first event is the one after "now".
    assert.ok(!/^event:/m.test(heard));
    assert.match(heard, new RegExp(`^id: ${now + 1}\\ndata: .*"operation":"`, "m"));
    assert.ok((await seqOf()) > seq);
    assert.equal((await get(`/api/events?company=${companyId}&after=soon`)).status, 400);
  });
});
