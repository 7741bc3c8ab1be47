import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";

describe("agency reorg and agency fire", () => {
  let line: CommandLine;
  before(async () => (line = await openCommandLine()));
  after(() => line.close());
  const agency = (...args: string[]) => line.agency(...args);
  const json = (...args: string[]) => line.json(...args);

  test("the commands plan, apply and undo changes of reporting lines", async () => {
    const chart = async (): Promise<string> => {
      const { agents } = await json("agents", "roster");
      return (Array.isArray(agents) ? agents : [])
        .map(
          ({ name, boss, adapterType }) =>
            `${name} < ${boss?.name ?? "board"}${adapterType === "human" ? " (human)" : ""}`,
        )
        .toSorted()
        .join(", ");
    };
    for (const name of ["Ann", "Bob", "Cid", "Dan"]) await json("agents", "create", name, "--role", "worker");
    const flat = "Ann < Root, Bob < Root, Cid < Root, Dan < Root, Root < board";
    for (const [words, after] of [
      ["move bob ann", "Ann < Root, Bob < Ann, Cid < Root, Dan < Root, Root < board"],
      [
        "insert root Eve --role lead --reports bob,cid",
        "Ann < Root, Bob < Eve, Cid < Eve, Dan < Root, Eve < Root, Root < board",
      ],
      ["split root Fay --role chief", "Fay"],
      ["merge cid dan --into bob", "Ann < Root, Bob < Root, Root < board"],
      ["hand-over dan human", "Ann < Root, Bob < Root, Cid < Root, Dan < Root (human), Root < board"],
      ["remove dan --reason enough", "Ann < Root, Bob < Root, Cid < Root, Root < board"],
      ["shrink ann bob", "Cid < Root, Dan < Root, Root < board"],
      ["shrink --to 4", "four"],
    ] as const) {
      const args = ["reorg", ...words.split(" ")];
      const plan = await agency(...args, "--plan");
      assert.equal(await chart(), flat, words);
      if (words.startsWith("split")) {
        // No agent can have the same level as the root agent, and the refusal says so.
        assert.equal(plan.code, 1);
        continue;
      }
      assert.match(
        plan.out,
        /^ {2}.*(?:reports to|↔|granted by|leaves and is|brain of \S+ is|is the responsibility of) /m,
        words,
      );
      const done = await agency(...args);
      assert.equal(done.code, 0, done.err);
      if (after === "four") assert.equal((await chart()).split(", ").length, 4);
      else assert.equal(await chart(), after, words);
      const undo = /agency (reorg undo R\d+)$/m.exec(done.out)?.[1]?.split(" ") ?? [];
      assert.equal((await agency(...undo)).code, 0);
      assert.equal(await chart(), flat, words);
    }
    const split = await json("reorg", "split", "ann", "Gus", "--role", "worker", "--mandate", "Half of it.");
    assert.equal(
      await chart(),
      flat.replace("Root <", "Gus < Root, Root <").split(", ").toSorted().join(", "),
    );
    await json("reorg", "undo", String(split["id"]));
    assert.equal((await agency("reorg", "hand-over", "ann", "process", "--adapter-config", "{")).code, 2);
    assert.equal((await agency("reorg", "insert", "root", "Eve", "--role", "lead")).code, 2);
    for (const name of ["ann", "bob", "cid", "dan"]) await json("fire", name);
  });
});
