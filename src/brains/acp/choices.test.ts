import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import { chooseIn } from "./choices.ts";

/** The values that a program with these models is asked to set. */
async function asked(values: readonly string[], model: string): Promise<unknown[]> {
  const options = values.map((value) => ({ value, name: value }));
  const offered = (currentValue: string): SessionConfigOption[] => [
    { type: "select", id: "model", name: "Model", category: "model", currentValue, options },
  ];
  const requests: unknown[] = [];
  const agent = {
    request: async (_: string, given: unknown) => {
      const { value } = Object(given);
      requests.push(value);
      return { configOptions: offered(value) };
    },
  };
  const problems = await chooseIn(agent, {
    command: "sage",
    sessionId: "1",
    offered: offered(""),
    model,
    effort: null,
  });
  return [...requests, ...problems];
}

test("a model is set by its value, and by its name without the provider if only one provider has it", async () => {
  assert.deepEqual(await asked(["small", "large"], "large"), ["large"]);
  assert.deepEqual(await asked(["one/small", "one/large"], "large"), ["one/large"]);
  assert.deepEqual(await asked(["one/large", "large"], "large"), ["large"]);
  // A program may know more models than it lists. If two providers offer the model, the program is not asked to choose one.
  assert.deepEqual(await asked(["one/large", "two/large"], "large"), ["large"]);
});
