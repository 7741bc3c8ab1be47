// The tools as models see them: which agents find which tools, how much the tools cost, and their form.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mcpServers, type Audience } from "../contract/operation.ts";
import { tokensIn } from "../testing/tokens.ts";
import { audiencesOfAgents, isListed, toolsOf } from "./mcp.ts";
import { instructionsOf } from "./texts.ts";

const all = toolsOf("");
const listFor = (...audiences: Audience[]) =>
  all.flatMap(({ operation, tool }) => (isListed(operation, new Set(audiences)) ? [tool] : []));
const namesFor = (...audiences: Audience[]): string[] => listFor(...audiences).map(({ name }) => name);

const leaf = [
  ..."list_files browse_files search_files read_file write_file create_file view_history read_version".split(
    " ",
  ),
  ..."view_outcome view_ancestors view_subtree my_outcomes create_outcome update_outcome submit_outcome".split(
    " ",
  ),
  ..."complete_outcome close_outcome reopen_outcome".split(" "),
  ..."send_message send_deferred_message cancel_message read_inbox acknowledge_message".split(" "),
  ..."list_permissions request_permission explain_access read_audit_log submit_summary".split(" "),
  ..."list_roster create_agent wait_for_approval".split(" "),
];

// covers CAP-17
test("an agent without reports and rights finds the base tools and create_agent", () => {
  assert.deepEqual(namesFor().toSorted(), leaf.toSorted());
});

test("reports, the right to hire, open requests and the top place each add their tools", () => {
  const added = (audiences: Audience): string[] => namesFor(audiences).filter((name) => !leaf.includes(name));
  assert.deepEqual(added("hirer").toSorted(), [
    "delegate_outcome",
    "hire_agent",
    "plan_work",
    "view_configurations",
  ]);
  for (const name of [
    "delegate_outcome",
    "decide_outcome",
    "grant_permission",
    "pause_agent",
    "plan_reorganization",
  ])
    assert.ok(added("manager").includes(name), name);
  assert.ok(!added("manager").includes("hire_agent"));
  assert.deepEqual(added("root").toSorted(), ["request_approval", "view_configurations"]);
  for (const name of added("requester")) assert.match(name, /approval|comments/);
});

/** Every set of audiences that one agent can belong to. An agent that may push to a repository may also read it. */
const possible = audiencesOfAgents
  .reduce<Audience[][]>((sets, one) => sets.flatMap((set) => [set, [...set, one]]), [[]])
  .filter((set) => !set.includes("pusher") || set.includes("developer"));
const isLeaf = (set: readonly Audience[]): boolean =>
  !set.some((one) => ["manager", "hirer", "root"].includes(one));
const costOf = (set: readonly Audience[]): number => tokensIn(JSON.stringify({ tools: listFor(...set) }));

describe("tools cost a model at most", () => {
  for (const [who, most, sets] of [
    ["an agent that neither leads nor may hire", 3500, possible.filter(isLeaf)],
    ["any other agent", 7000, possible.filter((set) => !isLeaf(set))],
  ] as const)
    test(`${most} tokens for ${who}`, (t) => {
      assert.ok(sets.length >= 3);
      for (const set of sets) {
        t.diagnostic(`${set.join(", ") || "no right"}: ${costOf(set)} tokens`);
        assert.ok(costOf(set) <= most, `${set.join(", ")}: ${costOf(set)} tokens`);
      }
    });
});

interface Schema {
  readonly [key: string]: unknown;
}

/** Every schema inside a schema, with its path. */
function* schemasIn(schema: Schema, path: string): Generator<readonly [string, Schema]> {
  yield [path, schema];
  for (const [key, part] of Object.entries(Object(schema["properties"])))
    yield* schemasIn(Object(part), `${path}.${key}`);
  for (const key of ["anyOf", "oneOf", "items"])
    for (const part of [schema[key]].flat())
      if (part !== undefined) yield* schemasIn(Object(part), `${path}[]`);
}

test("schemas have types, enums and descriptions, and nothing that models can't use", () => {
  const allowed = ["type", "description", "enum", "required", "properties", "items"];
  for (const { tool } of all)
    for (const [path, schema] of schemasIn(tool.inputSchema, tool.name)) {
      assert.deepEqual(
        Object.keys(schema).filter((key) => !allowed.includes(key)),
        [],
        path,
      );
      const types = [schema["type"]].flat().filter((type) => type !== "null");
      assert.ok(types.length === 1, `${path} has the types ${types.join(", ")}`);
      if (path.includes(".") && !path.endsWith("[]"))
        assert.match(JSON.stringify(schema["description"] ?? ""), /^".{4,}\."$/, `${path} is not described`);
    }
});

test("agents differ by reports, requests, repositories, the right to hire and the top place", () => {
  assert.deepEqual(audiencesOfAgents.toSorted(), [
    "developer",
    "hirer",
    "manager",
    "pusher",
    "requester",
    "root",
  ]);
});

test("required arguments stay required", () => {
  const required = Object.fromEntries(
    all.map(({ tool }) => [tool.name, Object(tool.inputSchema)["required"] ?? []]),
  );
  assert.deepEqual(required["create_agent"], ["name"]);
  assert.deepEqual(required["write_file"], ["id", "version", "hash"]);
  assert.deepEqual(required["my_outcomes"], []);
});

test("tools with a resource argument describe its form, or name a tool of every agent that does", () => {
  const descriptions = new Map<string, string>();
  for (const { tool } of all) {
    const { resource } = Object(Object(tool.inputSchema).properties);
    if (resource !== undefined) descriptions.set(tool.name, resource.description);
  }
  assert.ok(descriptions.size >= 3);
  const full = "request_permission";
  assert.ok(leaf.includes(full));
  for (const form of ["kb:<file id>", "outcome:<id>", "mail:<agent id>", "mcp:<server>", "org:hire"])
    assert.ok(descriptions.get(full)?.includes(form), form);
  for (const [tool, description] of descriptions)
    if (tool !== full) assert.ok(description.includes(full), tool);
});

test("every server has instructions, and those of the one door name only tools that all agents find", () => {
  for (const server of ["", ...mcpServers]) assert.ok(instructionsOf(server).length > 150, server);
  for (const [name] of instructionsOf("").matchAll(/\b[a-z]+_[a-z_]+\b/g))
    assert.ok(leaf.includes(name), name);
});
