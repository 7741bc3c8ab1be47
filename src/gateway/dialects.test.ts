import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointOf } from "./dialects.ts";

const outsideOf = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  endpointOf({ dialect: "openai" }, "POST", "/v1/responses")?.asks?.(body).outside ?? assert.fail();

test("a tool that runs at the provider is seen wherever a request of the Responses API carries it", () => {
  const search = { type: "web_search" };
  const own = [
    { type: "function", name: "shell" },
    { type: "custom", name: "apply_patch" },
  ];
  const inside = (...tools: readonly object[]) => ({ type: "namespace", name: "mcp__agency", tools });
  for (const tools of [own, [inside(...own)], [{ type: "tool_search", execution: "client" }]])
    assert.deepEqual(
      [outsideOf({ tools }), outsideOf({ input: [{ type: "additional_tools", tools }] })],
      [[], []],
    );
  for (const tools of [[search], [...own, inside(search)], [inside(inside(search))], [{ name: "none" }]])
    for (const body of [
      { tools },
      {
        input: [
          { type: "message", role: "user", content: "hi" },
          { type: "additional_tools", tools },
        ],
      },
      { input: [{ type: "tool_search_output", tools }] },
    ])
      assert.deepEqual(outsideOf(body), ["tools that run at the provider"], JSON.stringify(body));
});
