import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { brain } from "./brain.ts";
import { indexText, pageText } from "./documentation.ts";
import { brains, checkBrainConfig } from "./registry.ts";

const invented = brain({
  type: "invented",
  runsPrograms: false,
  config: z.strictObject({
    endpoint: z.string().describe("Where it thinks."),
    patience: z.number().default(7).describe("How long it thinks."),
  }),
  documentation: "It is made up.",
  safety: ["Do not believe it."],
  examples: [{ endpoint: "here" }],
  probe: async () => ({ available: true, version: null, says: "here" }),
  launch: () => null,
});

// covers GOV-40
test("the index names every installed brain, its page, and how to hire", () => {
  const text = indexText([...brains, invented], ["rehearsal"]);
  for (const { type } of [...brains, invented])
    assert.ok(text.includes(`/llms/agent-configuration/${type}.txt`), type);
  assert.match(text, /- process: .* \(only the board may hire with it/);
  assert.doesNotMatch(text, /- rehearsal: .*only the board/);
  for (const step of ["agent-configurations", "agent-hires", "pending_approval", "comments", "resubmit"])
    assert.ok(text.includes(step), step);
});

// covers GOV-41, GOV-43
test("a page is made from the module: keys, defaults, safety and an example hire", () => {
  const text = pageText(invented);
  assert.match(
    text,
    /## Required keys of adapterConfig\n\n- endpoint \(string, no default\): Where it thinks\./,
  );
  assert.match(text, /## Optional keys\n\n- patience \(number, default 7\): How long it thinks\./);
  assert.match(text, /- Do not believe it\./);
  assert.match(text, /"adapterType": "invented"/);
});

test("every installed brain explains each of its keys, and its examples fit its schema", () => {
  for (const { type, config, safety, examples } of brains) {
    const text = pageText(brains.find((candidate) => candidate.type === type) ?? invented);
    for (const key of Object.keys(config.shape)) assert.match(text, new RegExp(`- ${key} \\(.*\\): .+`));
    assert.ok(safety.length > 0 && examples.length > 0, type);
    for (const example of examples) checkBrainConfig(type, example);
  }
});
