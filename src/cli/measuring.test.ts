import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { z } from "zod";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";

const Measured = z.object({
  store: z.literal("sqlite"),
  machine: z.object({
    cpu: z.string().min(1),
    cores: z.number().positive(),
    memoryGb: z.number(),
    node: z.string(),
  }),
  figures: z.array(
    z.object({
      what: z.string(),
      unit: z.enum(["/s", "ms", "MB"]),
      value: z.number().positive(),
      ratio: z.number().positive(),
      raw: z.object({ what: z.string(), value: z.number().positive() }),
    }),
  ),
});

let line: CommandLine;
before(async () => (line = await openCommandLine()));
after(() => line.close());

test("agency bench measures every figure beside a raw loop, and leaves the installation as it was", async () => {
  const home = line.env["AGENCY_HOME"] ?? "";
  const found = async () => [await line.json("outcomes", "list"), await line.json("agents", "list")];
  const scratches = () => readdirSync(home).filter((name) => name.startsWith("bench-"));
  const before = await found();
  const { figures } = Measured.parse(await line.json("bench", "--seconds", "0.05"));
  assert.deepEqual(
    figures.map(({ what, raw }) => `${what} | ${raw.what}`),
    [
      "create an outcome, 1 client | commits of one row",
      "create an outcome, 16 clients | commits of one row",
      "send a message, 16 clients | commits of one row",
      "hire an agent and approve it, 16 clients | commits of one row",
      "list 1,000 outcomes, 16 clients | select + JSON",
      "start | a Node that only listens",
      "memory after the start | a Node that only listens",
    ],
  );
  for (const { unit, value, raw, ratio } of figures)
    assert.equal(ratio, unit === "ms" ? raw.value / value : value / raw.value);
  assert.deepEqual(scratches(), []);
  assert.deepEqual(await found(), before);
});

test("agency bench prints a table for people", async () => {
  const { code, out, err } = await line.agency("bench", "--seconds", "0.05");
  assert.equal(code, 0, err);
  assert.match(out, /^Agency \S+ with SQLite, Node \S+, .+, \d+ cores, \d+ GB$/m);
  assert.match(out, /^create an outcome, 16 clients +[\d,.]+\/s +[\d,.]+\/s commits of one row +\d+\.\d\d$/m);
  assert.match(out, /^start +[\d,.]+ ms +[\d,.]+ ms a Node that only listens +\d+\.\d\d$/m);
  assert.match(err, /^Round 3 of 3\.$/m);
});

test("agency bench refuses an invalid number of seconds", async () => {
  for (const seconds of ["0", "soon", "601"])
    assert.match(
      (await line.agency("bench", "--seconds", seconds)).err,
      /^--seconds is not a number between 0 and 600\./,
    );
});
