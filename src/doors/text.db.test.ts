import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { brainIndex, brainPage, createAgent } from "../contract/hiring.ts";
import { createCompany } from "../contract/companies.ts";
import { createKey } from "../contract/agents.ts";
import { refusal } from "../testing/organization.ts";
import { sharedDaemon } from "../testing/daemons.ts";

describe("text at the HTTP door", async () => {
  const daemon = await sharedDaemon();

  const get = (path: string, token?: string): Promise<Response> =>
    fetch(new URL(path, daemon.url), {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });

  test("an operation that answers text is plain text, and the page that it names is there", async () => {
    const index = await get("/llms/agent-configuration.txt", daemon.token);
    assert.equal(index.status, 200);
    assert.equal(index.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(index.headers.get("x-content-type-options"), "nosniff");
    assert.equal(index.headers.get("cache-control"), "no-store");
    const pages = [...(await index.text()).matchAll(/^- \w+: (\/llms\S+\.txt)/gm)].map(
      ([, path = ""]) => path,
    );
    assert.ok(pages.length >= 3);
    for (const path of pages) {
      const page = await get(path, daemon.token);
      assert.equal(page.headers.get("content-type"), "text/plain; charset=utf-8");
      assert.match(await page.text(), /^# \w+\n/);
    }
  });

  test("a refusal stays JSON, whatever the answer would have been", async () => {
    const client = createClient({ url: daemon.url, token: daemon.token });
    const { id: companyId } = await client.call(createCompany, { name: "Text" });
    const { id } = await client.call(createAgent, { companyId, name: "Plain", role: "x" });
    const { key } = await client.call(createKey, { id });
    for (const [path, token, status] of [
      ["/llms/agent-configuration.txt", undefined, 401],
      ["/llms/agent-configuration/process.txt", undefined, 401],
      ["/llms/agent-configuration.txt", key, 403],
      ["/llms/agent-configuration/process.txt", key, 403],
      ["/llms/agent-configuration/telepathy.txt", daemon.token, 400],
      ["/llms/agent-configuration/%2e%2e.txt", daemon.token, 400],
      ["/llms/agent-configuration/process", daemon.token, 404],
      ["/llms/agent-configuration/.txt", daemon.token, 404],
      ["/llms/agent-configuration/process.txt.txt", daemon.token, 400],
      ["/llms/agent-configuration.txt?surprise=1", daemon.token, 400],
    ] as const) {
      const answer = await get(path, token);
      assert.equal(answer.status, status, path);
      assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8", path);
      assert.notEqual(Refused.parse(await answer.json()).error.hint, "", path);
    }
  });

  test("the typed client answers it like any other operation, and refuses like any other", async () => {
    const client = createClient({ url: daemon.url, token: daemon.token });
    assert.match((await client.call(brainIndex, {})).text, /How to hire/);
    assert.match((await client.call(brainPage, { adapterType: "human" })).text, /^# human\n/);
    await refusal(client.call(brainPage, { adapterType: "telepathy" }), "invalid");
  });

  test("the OpenAPI page says that it is text, and names the parameter without its ending", async () => {
    const { paths } = OpenApi.parse(await (await get("/api/openapi.json", daemon.token)).json());
    for (const path of ["/llms/agent-configuration.txt", "/llms/agent-configuration/{adapterType}.txt"])
      assert.deepEqual(paths[path]?.["get"]?.responses["2XX"]?.content, {
        "text/plain": { schema: { type: "string" } },
      });
    const page = paths["/llms/agent-configuration/{adapterType}.txt"]?.["get"];
    assert.deepEqual(
      page?.parameters.map(({ name, in: where }) => [name, where]),
      [["adapterType", "path"]],
    );
  });
});

const Refused = z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string() }) });
const OpenApi = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).default([]),
        responses: z.record(
          z.string(),
          z.looseObject({ content: z.record(z.string(), z.unknown()).optional() }),
        ),
      }),
    ),
  ),
});
