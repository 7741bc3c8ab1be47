import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { answerPermission, type SessionRights } from "./permission.ts";

type Asked = Partial<RequestPermissionRequest["toolCall"]>;

const options: RequestPermissionRequest["options"] = [
  { optionId: "always", name: "Always", kind: "allow_always" },
  { optionId: "yes", name: "Once", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const rights: SessionRights = {
  denied: ["Task", "Agent"],
  servers: ["agency", "google-drive"],
  workspace: "/w/1",
  home: "/homes/ann",
  mayReach: async (host) => host === "docs.example.com",
};
const everywhere: SessionRights = { ...rights, denied: [], mayReach: async () => true };

const answer = async (asked: Asked, of = rights, offered = options) => {
  const { refusal, response } = await answerPermission(
    { toolCall: { toolCallId: "1", ...asked }, options: offered },
    of,
  );
  const selected = z.object({ outcome: z.object({ optionId: z.string() }) }).safeParse(response).data;
  const chosen = selected?.outcome.optionId ?? "cancelled";
  assert.equal(chosen === "yes" || chosen === "always", refusal === undefined, `${chosen}: ${refusal}`);
  return chosen;
};
const at = (...paths: string[]) => ({ locations: paths.map((path) => ({ path })) });
const url = (address: string): Asked => ({ title: "WebFetch", rawInput: { url: address } });

/** For every kind of the protocol: requests that are allowed, and requests that are refused. */
const table: Readonly<Record<string, { readonly yes: readonly Asked[]; readonly no: readonly Asked[] }>> = {
  read: {
    yes: [{}, at("/w/1/a.txt"), at("a.txt"), at("/homes/ann/.gemini/x"), at("/usr/lib/node/index.js")],
    no: [at("/w/2/a.txt"), at("/w/1/../2/a.txt"), at("/other/.ssh/id"), at("/w/1/a.txt", "/homes/ben/x")],
  },
  search: { yes: [{}, at("/w/1"), at("/etc/hosts")], no: [at("/other/eva")] },
  edit: {
    yes: [
      {},
      at("/w/1/a.txt"),
      at("/homes/ann/x"),
      { content: [{ type: "diff", path: "/w/1/b", newText: "" }] },
    ],
    no: [
      at("/etc/hosts"),
      at("/w/1/../../etc/hosts"),
      at("/w/10/a.txt"),
      { content: [{ type: "diff", path: "/usr/b", newText: "" }] },
    ],
  },
  delete: { yes: [at("/w/1/a.txt")], no: [at("/usr/bin/node")] },
  move: { yes: [at("/w/1/a.txt", "/w/1/b.txt")], no: [at("/w/1/a.txt", "/homes/ben/b.txt")] },
  execute: {
    yes: [{ title: "npm test" }, { title: "ls", rawInput: { command: "ls", cwd: "/w/1/src" } }],
    no: [{ title: "Task runner" }, { title: "ls", rawInput: { command: "ls", cwd: "/other" } }],
  },
  think: {
    yes: [{ title: "Plan" }],
    no: [{ title: "Ask", name: "Agent" }, { title: "Task: ask a colleague" }],
  },
  fetch: {
    yes: [url("https://docs.example.com/a"), { title: "Fetch https://docs.example.com/" }],
    no: [
      url("https://example.com/"),
      url("https://docs.example.com.evil.net/"),
      url("https://docs.example.com@evil.net/"),
      { title: "https://docs.example.com/", rawInput: { urls: ["http://10.0.0.7/"] } },
      { title: "WebSearch", rawInput: { query: "agency" } },
    ],
  },
  switch_mode: { yes: [], no: [{ title: "Leave the plan mode" }] },
  other: {
    yes: [
      { name: "mcp__agency__read_inbox" },
      { title: "agency_read_inbox" },
      { title: "mcp.google-drive.search" },
      { title: "read_inbox (agency MCP Server)" },
    ],
    no: [{ title: "Launch" }, { title: "mcp__agencyx__read_inbox" }, { name: "Agent", title: "agency" }],
  },
};

// covers SES-11
test("every kind of tool is decided from the agent's rights", async () => {
  for (const [kind, { yes, no }] of Object.entries(table)) {
    const asking = (asked: Asked) => Object.assign({ kind }, asked);
    for (const asked of yes)
      assert.equal(await answer(asking(asked)), "yes", `${kind} ${JSON.stringify(asked)}`);
    for (const asked of no)
      assert.equal(await answer(asking(asked)), "no", `${kind} ${JSON.stringify(asked)}`);
  }
});

test("with the rights to consult and to reach every host, sub-agents and searches are allowed", async () => {
  assert.equal(await answer({ kind: "think", title: "Ask", name: "Agent" }, everywhere), "yes");
  assert.equal(await answer({ kind: "fetch", title: "WebSearch" }, everywhere), "yes");
  assert.equal(await answer({ kind: "switch_mode", title: "Plan" }, everywhere), "no");
});

test("an unknown kind of tool is refused, and so is a tool that names no kind and no server", async () => {
  for (const kind of ["teleport", "toString", "__proto__"])
    assert.equal(
      await answer({ title: "Go", ...JSON.parse(JSON.stringify({ kind })) }, everywhere),
      "no",
      kind,
    );
  assert.equal(await answer({ title: "Go" }, everywhere), "no");
  assert.equal(await answer({ title: "mcp__agency__read_inbox" }), "yes");
  // Gemini names only the tool, and offers to allow its server.
  const ofServer = [
    { optionId: "always", name: "Allow all server tools for this session", kind: "allow_always" as const },
    ...options.slice(1),
  ];
  assert.equal(await answer({ kind: "other", title: "Read your inbox" }, rights, ofServer), "yes");
});

test("permission is given once rather than for ever, and a program that offers no answer is cancelled", async () => {
  assert.equal(await answer({ kind: "think", title: "x" }, rights, options.slice(0, 1)), "always");
  assert.equal(await answer({ kind: "think", title: "x" }, rights, []), "cancelled");
  assert.equal(await answer({ kind: "fetch", title: "x" }, rights, options.slice(0, 2)), "cancelled");
});
