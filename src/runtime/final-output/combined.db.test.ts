import assert from "node:assert/strict";
import { describe } from "node:test";
import { listAgents } from "../../contract/agents.ts";
import { viewOutcome } from "../../contract/outcomes.ts";
import { planWork } from "../../contract/delegation.ts";
import { Chance } from "../../simulator/chance.ts";
import { storeKinds } from "../../testing/organization.ts";
import {
  byTitle,
  eventsOf,
  outcomes,
  printLines,
  report,
  stagedPrinters,
  told,
  work,
} from "../../testing/printers.ts";
import { byLength } from "../../testing/run-length.ts";
import { hang } from "../../testing/scripts.ts";
import type { Stage } from "../../testing/stage.ts";

const fence = (tasks: unknown, name = "plan"): string => `\`\`\`${name}\n${JSON.stringify(tasks)}\n\`\`\``;

async function rolesOf({ org }: Stage): Promise<string[]> {
  const { agents } = await org.board(listAgents, { companyId: org.companyId });
  return agents
    .filter(({ id }) => id !== org.rootId)
    .map(({ role }) => role)
    .toSorted();
}

for (const kind of storeKinds)
  describe(`several requests in one final output, on ${kind}`, () => {
    const staged = stagedPrinters(kind);

    // covers ORG-14, ORG-19, ORG-20
    for (let seed = 1; seed <= byLength({ quick: 4, whole: 8 }); seed++)
      staged(`hires, delegations and plans all count, in whatever order (${seed})`, async (stage) => {
        const { org } = stage;
        const chance = new Chance(seed, "combined");
        await report(stage, "Ann", "Writer");
        const whole = await work(stage);
        const pieces = [
          "HIRE[Editor]: Edits.",
          "DELEGATE[Editor]: Edit.",
          "DELEGATE[Writer]: Write.",
          fence([
            { title: "A", assignee: "self" },
            { title: "B", assignee: "Binder", dependsOn: [0] },
          ]),
          fence({
            tasks: [
              { title: "C", assignee: "editor" },
              { title: "D", assignee: "Writer", dependsOn: ["C"] },
            ],
          }),
        ];
        const places = new Map(pieces.map((piece) => [piece, chance.int(1_000_000)]));
        const shuffled = pieces.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0)).join("\n");
        await printLines(stage, chance.flip(0.5) ? shuffled.replaceAll("\n", "\r\n") : shuffled);
        const integration = await byTitle(stage, "Integrate: The whole");
        const parts = (await org.board(viewOutcome, { id: whole })).children.filter(
          ({ id }) => id !== integration.id,
        );
        const titles = new Set(parts.map(({ title }) => title));
        assert.deepEqual(titles, new Set(["A", "B", "C", "D", "Edit.", "Write."]));
        const ids = (rows: readonly { id: string }[]) => new Set(rows.map(({ id }) => id));
        assert.deepEqual(ids(integration.dependsOn), ids(parts));
        const awaited = async (title: string) =>
          (await byTitle(stage, title)).dependsOn.map((one) => one.title);
        assert.deepEqual(
          [await awaited("B"), await awaited("D"), await awaited("Edit.")],
          [["A"], ["C"], []],
        );
        assert.deepEqual(await rolesOf(stage), ["Binder", "Editor", "Writer"]);
        assert.equal((await eventsOf(stage, planWork.name)).length, 2);
        assert.equal(await told(stage, org.rootId), "");
      });

    staged("refused directives go back to their author, and the others take effect", async (stage) => {
      await report(stage, "Ann", "Writer");
      await work(stage);
      await printLines(
        stage,
        fence([{ title: "X", assignee: "Xylograph", dependsOn: ["X"] }]),
        "DELEGATE[Nobody]: Do it.",
        fence([{ title: "Print", assignee: "Printer" }]),
        "DELEGATE[Writer]: One.",
        "DELEGATE[Writer]: Two.",
        "DELEGATE[Writer]: Three.",
        "DELEGATE[Writer]: Four.",
      );
      const said = await told(stage, stage.org.rootId);
      assert.match(said, /a plan \(\[\{"title":"X"[\s\S]*wait for each other in a circle/);
      assert.match(said, /DELEGATE\[Nobody\][\s\S]*has no direct report called "Nobody"/);
      assert.match(said, /DELEGATE\[Writer\]: Four\.[\s\S]*at most 3 delegated parts/);
      assert.deepEqual(await rolesOf(stage), ["Printer", "Writer"], "the hire of the circular plan is gone");
      const integration = await byTitle(stage, "Integrate: The whole");
      const titles = new Set(integration.dependsOn.map(({ title }) => title));
      assert.deepEqual(titles, new Set(["One.", "Print", "Three.", "Two."]));
    });

    for (const [what, lines] of Object.entries({
      "a plan in a json fence": [fence([{ title: "A", assignee: "Writer" }], "json")],
      "a plan without a fence": ["Here is my plan:", '[{"title": "A", "assignee": "Writer"}]'],
      "a plan in YAML": ["~~~yaml", "- title: A", "  assignee: Writer", "~~~"],
      "an indented plan": ["    ```plan", '    [{"title": "A", "assignee": "Writer"}]', "    ```"],
    }))
      staged(`${what} is reported and does not become the result`, async (stage) => {
        await report(stage, "Ann", "Writer");
        const whole = await work(stage);
        await printLines(stage, ...lines);
        const { status, result, children } = await stage.org.board(viewOutcome, { id: whole });
        assert.deepEqual([status, result, children], ["open", null, []]);
        assert.match(await told(stage, stage.org.rootId), /in a code fence named plan \(```plan\)/);
      });

    staged(
      "a directive before the part that is read is reported, and directives in that part take effect",
      async (stage) => {
        const { org } = stage;
        await report(stage, "Ann", "Writer");
        const whole = await work(stage);
        const lost = { directives: ["HIRE[Editor]: Edits.", "a plan"], fence: null, line: "DELEGATE[Wri" };
        stage.runner.plan(org.rootId, async () => ({ output: "ter]: Write it.\nDone.", lost }));
        stage.runner.otherwise(hang);
        await stage.rest();
        const said = await told(stage, org.rootId);
        assert.match(said, /HIRE\[Editor\]: Edits\.\n.*it is before the last 64 kB of your output/);
        assert.match(said, /> a plan\n.*before the last 64 kB/);
        assert.equal((await byTitle(stage, "Write it.")).responsible?.name, "Ann");
        assert.equal((await org.board(viewOutcome, { id: whole })).result, null);
      },
    );

    staged("tasks that belong to the result can be printed in a fence named text", async (stage) => {
      const whole = await work(stage);
      await printLines(stage, "The tasks:", fence([{ title: "A", assignee: "Writer" }], "text"));
      const { status, result } = await stage.org.board(viewOutcome, { id: whole });
      assert.equal(status, "completed");
      assert.notEqual(result, null);
      assert.equal(
        (await outcomes(stage)).some(({ title }) => title === "A"),
        false,
      );
    });
  });
