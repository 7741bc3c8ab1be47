import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { flagOf } from "../contract/operation.ts";
import { operations } from "../contract/operation-table.ts";
import { type CommandLine, openCommandLine } from "../testing/command-line.ts";
import { run } from "./run.ts";

describe("the command line", () => {
  let line: CommandLine;
  before(async () => (line = await openCommandLine()));
  after(() => line.close());
  const agency = (...args: string[]) => line.agency(...args);
  const json = (...args: string[]) => line.json(...args);

  // covers CLI-04
  test("every operation that declares a command has that command, with help that names its input", async () => {
    for (const { cli, input } of operations) {
      if (cli === undefined) continue;
      const { code, out } = await agency(...cli.command.split(" "), "--help");
      assert.equal(code, 0, cli.command);
      assert.ok(out.startsWith(`Usage: agency ${cli.command}`), cli.command);
      for (const key of Object.keys(input.shape)) {
        if (key === "companyId" || key === "path") continue;
        const flag = flagOf(key);
        assert.doesNotMatch(flag, /-[a-z]-/, "a flag has whole words");
        assert.ok(
          out.includes(flag) || out.includes(`<${key}>`) || out.includes(`[${key}]`),
          `${cli.command} ${key}`,
        );
      }
    }
  });

  test("every command has a description", async () => {
    const { out } = await line.agency("--help");
    const listed = out.slice(out.indexOf("Commands:"), out.indexOf("Examples:"));
    const commands = listed.matchAll(/^ {2}([a-z-]+)\b.*?(?: {2,}(\S)|$)/gm);
    const silent = [...commands].filter(([, , says]) => says === undefined).map(([, name]) => name);
    assert.deepEqual(silent, []);
  });

  test("the first screen lists the commands", async () => {
    const { code, out } = await agency("--help");
    assert.equal(code, 0);
    for (const word of ["up", "doctor", "kb", "outcomes", "tree", "access", "audit", "agents"])
      assert.match(out, new RegExp(`^ {2}${word}\\b`, "m"));
  });

  test("knowledge is written from a file or standard input and read by id", async () => {
    const path = join(line.folder, "notes.md");
    writeFileSync(path, "the notes");
    const made = await json("kb", "create", "Notes", "--file", path);
    const { out } = await agency("kb", "read", String(made["id"]));
    assert.match(out, /^the notes\n-- version 1, hash [0-9a-f]{64}$/);
    await json(
      "kb",
      "write",
      String(made["id"]),
      "--file",
      "-",
      "--version",
      "1",
      "--hash",
      String(made["hash"]),
    );
    assert.equal((await json("kb", "read", String(made["id"])))["content"], "from standard input");
    writeFileSync(path, Buffer.from([0xff, 0x00, 0xfe]));
    const binary = await json("kb", "create", "Bytes", "--file", path);
    assert.equal((await json("kb", "read", String(binary["id"])))["encoding"], "base64");
    assert.match((await agency("kb", "search", "standard")).out, /Notes/);
    const log = await agency("kb", "access-log", String(made["id"]));
    assert.match(log.out, /^board +knowledge\.create +1 /m, "who did what is in the table");
  });

  test("outcomes are made, changed and drawn as a tree", async () => {
    const { companies } = await json("companies", "list");
    assert.ok(Array.isArray(companies));
    const root = String(companies[0].rootOutcomeId);
    const top = await json("outcomes", "create", "Top", "--parents", root, "--urgent");
    const low = await json(
      "outcomes",
      "create",
      "Low",
      "--parents",
      String(top["id"]),
      "--depends-on",
      root,
    ).catch(() => undefined);
    assert.equal(low, undefined, "a part cannot wait for the whole");
    // A list can be several values, or one value of JSON.
    await json("outcomes", "create", "Low", "--parents", JSON.stringify([top["id"], root]));
    await json("outcomes", "update", String(top["id"]), "--blocked", '{"reason":"no key"}', "--important");
    const { out } = await agency("tree");
    assert.equal(
      out,
      [
        "Help the board accomplish its work [open] Root",
        "├─ Top [open] Root (urgent, important, blocked: no key)",
        "│  └─ Low [open] Root",
        "├─ Low [open] Root",
        // Root is told what the board changed.
        "└─ Process inbox [open] Root (urgent, important)",
      ].join("\n"),
    );
    assert.equal((await json("tree"))["truncated"], false);
  });

  test("null removes a value, and a flag for a number accepts only numbers", async () => {
    const { companies } = await json("companies", "list");
    assert.ok(Array.isArray(companies));
    const made = await json("outcomes", "create", "Held up", "--parents", String(companies[0].rootOutcomeId));
    const id = String(made["id"]);
    const held = await json("outcomes", "update", id, "--blocked", '{"reason":"no flour"}');
    assert.notEqual(held["blocked"], null);
    assert.equal((await json("outcomes", "update", id, "--blocked", "null"))["blocked"], null);
    const limit = async (value: string) =>
      Object(await json("companies", "update", "--max-agents", value))["settings"]["maxAgents"];
    assert.equal(await limit("7"), 7);
    const { code, err } = await agency("companies", "update", "--max-agents", "many");
    assert.equal(code, 2);
    assert.match(err, /It must be a number/);
    assert.equal(await limit("null"), null);
  });

  test("an outcome shows who changed what, the root and mandates included", async () => {
    const { companies } = await json("companies", "list");
    assert.ok(Array.isArray(companies));
    const id = String(companies[0].rootOutcomeId);
    await json("outcomes", "update", id, "--description", "Bake bread.");
    await json("agents", "update", "root", "--mandate", "Bake rye bread.");
    const { out } = await agency("outcomes", "view", id);
    assert.match(
      out,
      /changed by (?!the board)\S.*\n +description before: Bake bread\.\n +description now: Bake rye bread\./,
    );
    assert.match(out, /created by /);
  });

  test("a timeline shows the cost and one line for each thing that happened", async () => {
    const { companies } = await json("companies", "list");
    assert.ok(Array.isArray(companies));
    const made = await json("outcomes", "create", "Told", "--parents", String(companies[0].rootOutcomeId));
    const { out } = await agency("outcomes", "timeline", String(made["id"]));
    const [cost, , created] = out.split("\n");
    assert.equal(cost, "Cost with everything below it: $0.00, 0 tokens, 0 sessions");
    assert.match(created ?? "", /^just now: \S.* created the outcome "Told"\. \(O\d+\)$/);
  });

  test("access is explained, granted and revoked", async () => {
    const agent = await json("agents", "create", "Ada", "--role", "Researcher");
    const file = await json("kb", "create", "Secret plan", "--content", "x");
    const resource = `kb:${String(file["id"])}`;
    assert.equal((await json("access", "explain", "ada", resource))["allowed"], false);
    const grant = await json("access", "grant", "ada", resource, "--level", "write");
    assert.equal((await json("access", "explain", "ada", resource, "--level", "write"))["allowed"], true);
    await json("access", "revoke", String(grant["id"]));
    assert.equal((await json("access", "explain", String(agent["id"]), resource))["allowed"], false);
  });

  test("hires by flags or by questions, and decides on pending requests", async () => {
    const flags = [
      "--role",
      "Writer",
      "--mandate",
      "Write",
      "--budget",
      '{"usd":5}',
      "--grant",
      "org:hire=use",
    ];
    const waits = await agency("hire", "Vera", ...flags, "--request");
    assert.equal(waits.code, 0, waits.err);
    // Everything that approving would change: boss, headcount, brain, rights, budget.
    for (const line of [
      /Vera \(Writer\) will report to Root/,
      /Agents: \d+ now/,
      /Brain: /,
      /use on org:hire/,
      /"usd":5/,
    ])
      assert.match(waits.out, line);
    const id = /agency approve (\S+)/.exec(waits.out)?.[1] ?? "";
    assert.match((await agency("approvals")).out, new RegExp(id));
    assert.equal((await json("comment", id, "Shorter?"))["body"], "Shorter?");
    assert.equal((await json("revise", id, "shorter"))["status"], "revision_requested");
    assert.equal(
      (await json("approvals", "resubmit", id, "--payload", '{"title":"W"}'))["status"],
      "pending",
    );
    assert.equal((await json("approve", id))["status"], "approved");
    assert.equal((await agency("reject", id)).code, 1);

    // An unknown brain is explained and asked for again. The other answers stay.
    const answers = ["Quinn", "", "Tester", "", "Try things", "", "rehersal", "rehearsal", "rot", "root"];
    const asked: string[] = [];
    const out: string[] = [];
    const code = await run(["hire"], line.env, {
      out: (text) => out.push(text),
      err: (text) => out.push(text),
      readStdin: async () => Buffer.alloc(0),
      ask: async (question) => {
        asked.push(question);
        return answers.shift() ?? "";
      },
    });
    assert.equal(code, 0, out.join("\n"));
    // The board does not have to approve its own hire.
    assert.match(out.join("\n"), /Quinn is hired\./);
    assert.match(out.join("\n"), /no brain called "rehersal"\. Did you mean rehearsal\?/);
    assert.match(out.join("\n"), /no agent called "rot"\.? Did you mean root\?/);
    // An empty role is asked for again.
    assert.equal(asked.filter((question) => question.startsWith("Role")).length, 2);
    const direct = await json("hire", "Noa", "--role", "Helper");
    assert.deepEqual(direct["approval"], null);
    assert.equal((await agency("hire")).code, 2);
    assert.equal((await agency("hire", "X", "--role", "Y", "--adapter-config", "no json")).code, 2);
  });

  test("a change of the organization is printed line by line, and invalid JSON is refused as such", async () => {
    const change = (to: string): string =>
      JSON.stringify({ kind: "hand_over", agent: "root", adapterType: to });
    const { code, out } = await agency("reorg", "plan", change("human"));
    assert.equal(code, 0);
    assert.match(
      out,
      /^This would make 1 change:\n  The brain of Root is human \(before: rehearsal\)\nApply it: agency reorg apply /,
    );
    const refused = await agency("reorg", "apply", "fire ada");
    assert.equal(refused.code, 2);
    assert.match(refused.err, /change is not JSON/);
    await json("reorg", "apply", change("human"));
    assert.match((await agency("reorg", "list")).out, /Root becomes a position for a person/);
    // People can name the agent in any of these ways.
    for (const name of ["root", "@Root", "ROOT"]) assert.equal((await json("why", name))["kind"], "agent");
    for (const [word, isOn] of Object.entries({ on: true, off: false, no: false, false: false, yes: true })) {
      const set = await agency("agents", "permissions", "vera", "--can-create-agents", word);
      assert.equal(
        set.out,
        `Vera can${isOn ? " now hire agents" : "'t hire agents any longer"}.`,
        `${word}: ${set.err}`,
      );
    }
    for (const word of ["0", "n", "", "maybe"]) {
      const refused = await agency("agents", "permissions", "vera", "--can-create-agents", word);
      assert.equal(refused.code, 2, word);
      assert.match(refused.err, /Use on or off/);
    }
    assert.match((await agency("why", "nobody")).err, /There is no agent called "nobody"/);
  });

  test("exit codes: 0 ok, 1 refused, 2 usage, 3 no daemon", async () => {
    assert.equal((await agency("audit", "verify")).code, 0);
    const missing = await agency("kb", "read", "00000000-0000-4000-8000-000000000000");
    assert.equal(missing.code, 1);
    assert.match(missing.err, /There is no file/);
    const asJson = await agency("kb", "read", "00000000-0000-4000-8000-000000000000", "--json");
    assert.equal(JSON.parse(asJson.out).error.code, "not_found");
    assert.equal((await agency("kb", "read")).code, 2);
    const noId = await agency("approve", "01a1e38b");
    assert.equal(noId.code, 2);
    assert.equal(noId.err, "`01a1e38b` is not an approval.\nRun `agency approvals` to see them.");
    assert.equal((await agency("no-such-command")).code, 2);
    assert.equal((await agency("kb", "list", "--no-such-flag")).code, 2);
    const elsewhere = await run(
      ["kb", "list"],
      { ...line.env, AGENCY_URL: "http://127.0.0.1:9" },
      {
        out: () => undefined,
        err: () => undefined,
        readStdin: async () => Buffer.alloc(0),
      },
    );
    assert.equal(elsewhere, 3);
  });

  test("with several companies a command asks which one", async () => {
    await json("companies", "create", "Other");
    const { code, err } = await agency("agents", "list");
    assert.equal(code, 2);
    assert.match(err, /There are several companies, and the command names none/);
    const wrong = await agency("org", "--company", "nope");
    assert.match(wrong.err, /^There is no company called "nope"\.\nCompanies here: (Acme|Other) \(/);
    assert.match((await agency("agents", "list", "--company", "other")).out, /Root/);
  });

  test("costs are printed in dollars and thousands of tokens, and `why` prints one sentence", async () => {
    const { out } = await agency("costs", "--company", "acme");
    assert.match(out, /^Spent in \d{4}-\d\d: \$0\.00, 0 tokens, 0 sessions\n\nBudget /);
    assert.match(out, /^money +\$[\d,]+\.\d\d /m);
    assert.match((await agency("agents", "create", "Wim", "--role", "w", "--company", "acme")).out, /Wim/);
    assert.match((await agency("why", "wim")).out, /^Moving\. Wim/);
  });

  test("lists take the filters of the dashboard, and `why` takes several things at once", async () => {
    const at = ["--company", "acme"];
    const { rootAgentId } = await json("companies", "view", ...at);
    const made = await json("outcomes", "create", "Alpine guide", "--parents", String(rootAgentId), ...at);
    const id = String(made["id"]);
    await json("outcomes", "update", id, "--blocked", '{"reason":"no paper"}');
    const listed = await agency("outcomes", "--owner", "root", "--blocked", "--text", "alp", ...at);
    assert.match(listed.out, /Alpine guide/, listed.err);
    assert.match((await agency("outcomes", "--blocked", "off", "--text", "alp", ...at)).out, /^No outcomes/);
    const both = await agency("why", "wim", id, ...at);
    assert.match(both.out, /^Moving\. Wim[^]*\n\nStuck\. "Alpine guide" is blocked/, both.err);
    assert.equal(Object(await json("why", "wim", id, ...at))["answers"].length, 2);
    assert.match(
      (await agency("search", "alp", ...at)).out,
      /^Id +Outcome +Detail\nO\d+ +Alpine guide +open, Root/,
    );
    assert.equal((await agency("search", "nothing like it", ...at)).out, "Nothing was found.");
    assert.match((await agency("costs", "--days", ...at)).out, /No costs by day\.$/);
    assert.match((await agency("budgets", ...at)).out, /^Budgets of \d{4}-\d\d\n\n/);
    assert.match((await agency("counts", ...at)).out, /need.? you\. See: agency attention\n/);
    assert.match((await agency("access", "holders", "org:hire", ...at)).out, /Root/);
    assert.match(
      (await agency("audit", "events", "--order", "newest", "--actor", "board", ...at)).out,
      /outcome/,
    );
  });

  test("doctor checks every part and prints what to do", async () => {
    const well = await agency("doctor");
    assert.equal(well.code, 0, well.out);
    assert.match(well.out, /ledger +\d+ events verified/);
    const ill = await run(
      ["doctor"],
      { AGENCY_HOME: join(line.folder, "nowhere"), PATH: "" },
      {
        out: () => undefined,
        err: () => undefined,
        readStdin: async () => Buffer.alloc(0),
      },
    );
    assert.equal(ill, 1);
  });
});

test("text that agents wrote has no effect on the terminal, in any command that needs no argument", async (t) => {
  const own = await openCommandLine();
  t.after(() => own.close());
  const evil = "x\u001b]52;c;ZXZpbA==\u0007\u001b[2K\u009b1A\u202e\nApprove? [y/N] y\u2028";
  const { id: file } = await own.json("kb", "create", evil, "--content", evil);
  const { companies } = await own.json("companies", "list");
  const [acme] = Array.isArray(companies) ? companies : [];
  const about = ["--description", evil, "--acceptance", evil];
  const { id: outcome } = await own.json(
    "outcomes",
    "create",
    "Fine",
    "--parents",
    acme.rootOutcomeId,
    ...about,
  );
  await own.json("send", evil);
  const commands = [
    ["kb", "read", String(file)],
    ["outcomes", "view", String(outcome)],
    ["kb", "search", "Approve"],
    ["kb", "delete", evil],
    [evil],
  ];
  for (const { cli, input } of operations)
    if (cli !== undefined && input.safeParse({}).success) commands.push(cli.command.split(" "));
  let printed = 0;
  for (const command of commands)
    for (const flags of [[], ["--json"]]) {
      const { out, err } = await own.agency(...command, ...flags);
      if (out.includes("u001b]52")) printed++;
      assert.doesNotMatch(out + err, /[^\P{Cc}\n\t]|[\u202e\u2028]/u, command.join(" "));
    }
  assert.ok(printed >= 4, `only ${printed} commands showed the text`);
});
