// The help and the main output of every command, at 80 and 140 columns, as files in test/snapshots. The commands come from the
// command table itself, so a new one fails here until it has a line below. To accept a change:
//   node scripts/test.ts --quick --update command-screens
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, mock, test } from "node:test";
import type { Command } from "commander";
import { commandsOf } from "../src/cli/run.ts";
import { widthOf } from "../src/cli/look.ts";
import { ShortIds } from "../src/cli/short-ids.ts";
import { screenOn } from "../src/cli/terminal.ts";
import { type Client, createClient } from "../src/client/client.ts";
import { createKey, listKeys } from "../src/contract/agents.ts";
import { requestPermission } from "../src/contract/capabilities.ts";
import { viewCompany, listCompanies } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { updatePerson } from "../src/contract/people.ts";
import { listRepos } from "../src/contract/repos.ts";
import { newId, newSecret } from "../src/daemon/ids.ts";
import { endSession, openSession } from "../src/runtime/sessions.ts";
import { type CommandLine, openCommandLine } from "../src/testing/command-line.ts";
import { type GuardedServer, startGuardedServer } from "../src/testing/guarded-server.ts";
import { thirdOf } from "../src/testing/seeds.ts";
import { makeSite, reachGoal, signInForServer, workInRepository } from "./screen-steps.ts";

/**
 * One line for each command, in an order in which each command finds the things it needs. `<folder>` is the folder of the test,
 * `<key>` the key of Bob, `<link>` a sign-in link, `<server>` an MCP server and `<bundle>` commits that were not published. An
 * agent's name and `>` run a command with the key of that agent. Two words and `>` say what others do before or during the
 * command (screen-steps.ts). All times are the same, because the clock stands still.
 */
const scene = `
status
companies create "Second bakery"
companies list
companies view --company acme
companies update --company acme --monthly-budget none --max-sessions 8
companies archive "Second bakery"
companies unarchive second-bakery
companies archive second-bakery
use acme
people add "Vera Vogel" --role viewer
people list
people link "Vera Vogel"
people update "Vera Vogel" --name "Vera V."
people remove "Vera V."
me
org
agents create Bob --role "Baker of bread" --reports-to root
hire Carl --role Checker --mandate "Check that every recipe works"
hire Dora --role Driver --mandate "Deliver the bread" --request
hire Emil --role Miller --request
hire Finn --role Oven --request
agents list
agents view ada
agents update ada --title "Editor in chief"
agents pause bob
why bob
agents resume bob
agents wakeup bob
agents permissions bob --can-create-agents on
agents configurations
agents configuration ada
agents roster
agents outcomes ada
agents inbox ada
agents sessions ada
agents budget bob --usd 5
agents key bob --label laptop
agents keys bob
root> agents propose bob --prompt "Bake slowly." --reason "The bread burns."
brains list
brains test rehearsal
brains use human
brains use rehearsal
tree
outcomes create "Open a second shop" --parents root
outcomes list
outcomes view "Open a second shop"
outcomes update "Open a second shop" --blocked '{"reason": "No rooms were found."}'
why "Open a second shop"
unblock "Open a second shop"
outcomes ancestors "Open a second shop"
outcomes subtree root
outcomes timeline "Open a second shop"
outcomes graph
outcomes delegate "Open a second shop" bob
outcomes reclaim "Open a second shop" "Bob has too much to do."
outcomes complete "Open a second shop"
outcomes reopen "Open a second shop" "We want it after all."
outcomes close "Open a second shop" "We stay with one shop."
outcomes create "Bake for the fair" --parents root
root> outcomes plan "Bake for the fair" --tasks '{"title": "Bake the bread", "assignee": "Ada"}'
outcomes create "Write the menu" --parents root
outcomes delegate "Write the menu" ada
ada> outcomes submit "Write the menu" --note "Rye bread, wheat bread, rolls."
decide "Write the menu" pass
follow "Write the menu"
results "Write the menu" --to <folder>/results
goals create "Bake 100 loaves"
goals budget "Bake 100 loaves" --budget 3
goals list
root reaches> run "Write a guide to bread" --max-usd 2 --accept
cancel "Bake 100 loaves" "We buy the bread instead."
search bread
counts
attention
approvals list
approvals show A1
comment A1 "Which car would Dora drive?"
approvals comments A1
approvals revisions A1
revise A1 "Add a budget of $5."
approvals resubmit A1
approve A1
reject A2 --decision-note "Bob is not a master yet."
revise A3 "Say which files."
root> approvals request '{"plan": "Buy an oven."}'
approvals cancel A3
budgets
costs
costs --by outcome
access explain ada org:hire
access grant bob org:hire
access list bob
access holders org:hire
access requests
ada> access mine
ada> access request net:* "I look up recipes."
access revoke G5
kb create "Recipe of rye bread" --content "Flour, water, salt."
kb list
kb browse bread
kb read "Recipe of rye bread"
kb version "Recipe of rye bread" 1
kb write "Recipe of rye bread" --content "Rye flour, water, salt." --version 1 --hash 4c52c983345f21f064db93ae6854c7a439b2a2b121a5828e6cb50b10b0d56886
kb search flour
kb access-log "Recipe of rye bread"
kb history "Recipe of rye bread"
kb links "Recipe of rye bread"
kb broken-links
kb add <folder>/notes.md
save "Recipe of rye bread" --to <folder>/rye.md
kb delete "Recipe of rye bread"
inbox
send "Please bake 10 loaves." --to bob ada
mail list
mail sent
mail view M1
mail acknowledge M1 "We buy flour."
done M2
mail defer bob "Clean the oven." --deliver-at 2030-01-01T08:00:00Z
mail cancel "Clean the oven."
sessions list
sessions view S1
sessions transcript S1
sessions follow S1
skills list
skills add <folder>/baking
skills remove baking
secrets set OVEN_KEY
secrets list
secrets remove OVEN_KEY
servers add oven --config '{"type": "http", "url": "<server>"}'
servers list
servers signin oven
Olga signs in> servers test oven
servers import <folder>/mcp.json
servers remove oven
providers list
providers remove anthropic
repos add site <folder>/site
repos fetch site
Ada publishes> repos list
repos diff site agency/ada/rolls
repos push site agency/ada/rolls
repos discard site <bundle>
repos remove site
reorg plan '{"kind": "move_report", "agent": "bob", "to": "ada"}'
reorg apply '{"kind": "move_report", "agent": "bob", "to": "ada"}'
reorg list
reorg view R1
reorg undo R1
reorg move bob ada
reorg insert root "Head baker" --role Head --reports ada
reorg split ada "Second editor" --role Editor
reorg merge second-editor --into ada
reorg remove head-baker
reorg hand-over bob rehearsal
reorg shrink carl
fire dora
agents revoke-key bob <key>
agents terminate bob
agents delete emil
freeze
thaw
logs --limit 5
audit events --limit 3
audit agent ada --limit 3
ada> audit mine --limit 3
audit verify
doctor
export <folder>/copy
import <folder>/copy --name "Third bakery" --allow-commands
open --print
sign-in <link>
sign-out
sim --seed 1 --steps 5
completion bash
complete agents pa
help budgets
`;

/** Commands that a test process can't run, and the tests that run them instead. */
const playedElsewhere: Readonly<Record<string, string>> = {
  up: "e2e/support/daemon.ts: it runs until it is stopped",
  stop: "it would end the process of the test",
  connect: "src/cli/connect.test.ts",
  backup: "src/cli/copies.test.ts",
  restore: "src/cli/copies.test.ts",
  migrate: "src/cli/copies.test.ts",
  "audit export": "src/cli/audit.test.ts",
  bench: "src/cli/measuring.test.ts: each run has other figures",
  nodes: "src/cli/nodes.test.ts: it shows the name of the machine",
  mcp: "e2e/mcp.test.ts: it speaks to a program, not to a person",
  "service install": "its file has the paths of the machine",
  "service remove": "it would remove the service of the person who runs the tests",
};

const update = process.env["AGENCY_TEST_UPDATE"] === "1";
const root = process.cwd();
const still = Date.parse("2026-03-04T12:00:00.000Z");

const widths = [80, 140];
for (const columns of update ? widths : thirdOf(widths))
  describe(`at ${columns} columns`, () => {
    let line: CommandLine;
    let keys: Record<string, string> = {};
    let server: GuardedServer;
    before(async () => {
      server = await startGuardedServer();
      mock.timers.enable({ apis: ["Date"], now: still });
      line = await openCommandLine({ columns });
      // `agency run` checks whether its folder is a checkout.
      process.chdir(line.folder);
      keys = await prepare(line);
    });
    after(async () => {
      process.chdir(root);
      await line.close();
      await server.stop();
      mock.timers.reset();
    });
    const paths = pathsOf(commandTree());

    test("the help of every command", async () => {
      const screens = [await screen("--help")];
      for (const path of paths) {
        const shown = await screen(...path, "--help");
        assert.match(shown, /^Examples?:$/m, `${path.join(" ")} has no example`);
        screens.push(shown);
      }
      compare(`help-${columns}.txt`, screens);
    });

    test("the main output of every command", async () => {
      const lines = scene.trim().split("\n");
      const screens = [];
      for (const each of lines) {
        tick();
        screens.push(await played(each));
      }
      compare(`screens-${columns}.txt`, screens);
      const missing = paths
        .map((path) => path.join(" "))
        .filter(
          (path) =>
            !(path in playedElsewhere) &&
            !lines.some((each) => `${each.replace(/^[\w ]+> /, "")} `.startsWith(`${path} `)),
        );
      assert.deepEqual(missing, [], "These commands have no line in the scene.");
    });

    async function played(each: string): Promise<string> {
      const [, who, step, command = each] = /^(?:(\w+)|(\w+ [\w ]+))> (.*)$/.exec(each) ?? [];
      const words = wordsOf(command);
      const companyId = keys["company"] ?? "";
      if (step === "Ada publishes") await workInRepository(line, companyId);
      if (step === "Olga signs in") await signInForServer(line, companyId);
      if (step === "root reaches") {
        const asRoot = createClient({ url: line.daemon.url, token: keys["root"] ?? "" });
        const [shown] = await Promise.all([
          screen(...words),
          reachGoal(line, asRoot, companyId, words[1] ?? ""),
        ]);
        return shown;
      }
      for (const [at, word] of words.entries()) {
        if (word === "<key>") words[at] = await idOfKey(line);
        if (word === "<bundle>") words[at] = await idOfBundle(line);
        words[at] = (words[at] ?? "").replaceAll("<server>", server.url);
        if (word === "<link>") words[at] = String((await line.json("people", "link", "me"))["link"]);
        words[at] = (words[at] ?? "").replaceAll("<folder>", line.folder);
      }
      if (who === undefined) return screen(...words);
      const shown = await screenAs(keys[who], ...words);
      return shown.replace("$ agency", `$ as ${who}: agency`);
    }

    const screen = (...args: string[]): Promise<string> => screenAs(undefined, ...args);

    async function screenAs(token: string | undefined, ...args: string[]): Promise<string> {
      const { code, out, err } = await (token === undefined ? line.agency(...args) : line.as(token)(...args));
      const parts = [`$ agency ${args.join(" ")}`, out, err, ...(code === 0 ? [] : [`(exit code ${code})`])];
      const text = steady(parts.filter((part) => part !== "").join("\n"), line, server);
      return /^\$ agency (?:reorg|fire)/.test(text) && !args.includes("--help") ? inOrder(text) : text;
    }
  });

/** Ids from the same millisecond have no order. */
const tick = (): void => mock.timers.setTime(Date.now() + 1);

/** All commands with all flags. */
function commandTree(names: readonly string[] = []): Command {
  const env = {};
  const shorts = new ShortIds(env);
  const nothing = { out: () => undefined, err: () => undefined, readStdin: async () => Buffer.alloc(0) };
  const terminal = screenOn(nothing, shorts, false);
  return commandsOf({ env, terminal, shorts, exitCode: 0 }, names);
}

function pathsOf(command: Command): string[][] {
  return command.commands.flatMap((one) =>
    one.commands.length === 0 ? [[one.name()]] : pathsOf(one).map((path) => [one.name(), ...path]),
  );
}

/** A reorganization changes many rows in one millisecond, and ids from the same millisecond have no order. */
const inOrder = (text: string): string =>
  text.replaceAll(/(?:^ {2}.*\n?)+/gm, (lines) =>
    [
      ...lines
        .trimEnd()
        .split(/\n(?! {4})/)
        .toSorted(),
      "",
    ].join("\n"),
  );

/** Replaces texts that differ between runs. */
function steady(text: string, line: CommandLine, { url }: GuardedServer): string {
  return (
    text
      .replaceAll(/\/authorize\?\S+/g, "/authorize?…")
      .replaceAll(new URL(url).origin, "https://oven.example")
      .replaceAll(line.env["AGENCY_HOME"] ?? "", "<home>")
      .replaceAll(line.folder, "<folder>")
      .replaceAll(line.daemon.url, "http://127.0.0.1:4600")
      .replaceAll(/\b[0-9a-f]{64}\b/g, "<hash>")
      .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<id>")
      .replaceAll(/\bag[a-z]_[\w-]+/g, "<token>")
      .replaceAll(process.versions.node, "<version>")
      // The times that this machine took.
      .replaceAll(/\b\d+(?= ms\b)/g, "<count>")
      .replaceAll(/^\[\d+s\] +/gm, "[0s]   ")
      .replaceAll(/\(\d+ seconds?(?=, \$)/g, "(1 second")
      // A daemon that has run for a minute seals its ledger, which is one event more.
      .replaceAll(/\b\d+(?= events verified)/g, "<count>")
      // The programs on this machine.
      .replaceAll(
        /^((?:claude_local|codex_local|ok {3}sandbox|warn sandbox|ok {3}disk|warn disk|ok {3}port|ok {3}version) ).*$/gm,
        "$1…",
      )
      // The limits that this machine's kernel sets.
      .replaceAll(/^(?:ok {3}|warn )limits .*(?:\n {20}.*)*$/gm, "limits …")
      .replaceAll(/[ \t]+$/gm, "")
  );
}

function compare(name: string, screens: readonly string[]): void {
  const file = join(import.meta.dirname, "snapshots", name);
  const now = `${screens.join("\n\n")}\n`;
  const columns = Number(/\d+/.exec(name)?.[0]);
  if (update) writeFileSync(file, now);
  assert.deepEqual(
    now.split("\n").filter((each) => widthOf(each) > columns && !each.startsWith("$ ") && !mayBeLong(each)),
    [],
    `These lines are wider than ${columns} columns.`,
  );
  const kept = existsSync(file) ? readFileSync(file, "utf8") : "";
  const keptScreens = `\n${kept}`.split("\n$ ").map((each) => `$ ${each.trimEnd()}`);
  for (const [at, each] of screens.entries())
    assert.equal(
      each.trimEnd(),
      keptScreens[at + 1],
      `test/snapshots/${name} differs. This file says how to accept it.`,
    );
  assert.equal(now, kept);
}

/** A line with a command to copy, an address or a path may be longer. */
const mayBeLong = (each: string): boolean => /https?:|<folder>|<home>|agency |\/\S{20}/.test(each);

/** The words of a line as a shell reads them. */
function wordsOf(text: string): string[] {
  return [...text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
}

/** Prepares a root agent that wrote to the board twice, an editor who asked for a right and had a session, and files to add. */
async function prepare({ daemon, folder }: CommandLine): Promise<Record<string, string>> {
  const ticking = (token: string): Client => {
    const inner = createClient({ url: daemon.url, token });
    return { ...inner, call: (operation, input) => (tick(), inner.call(operation, input)) };
  };
  const client = ticking(daemon.token);
  const [company] = (await client.call(listCompanies, { limit: 1 })).companies;
  const companyId = company?.id ?? "";
  await client.call(updatePerson, { id: "me", name: "Olga" });
  const { rootAgentId } = await client.call(viewCompany, { companyId });
  const ada = await client.call(createAgent, {
    companyId,
    name: "Ada",
    role: "Editor",
    reportsTo: rootAgentId,
  });
  const { key } = await client.call(createKey, { id: ada.id });
  const asAda = ticking(key);
  const root = await client.call(createKey, { id: rootAgentId });
  const asRoot = ticking(root.key);
  await asRoot.call(sendMessage, { companyId, to: "board", body: "Shall we buy flour or mill it?" });
  await asRoot.call(sendMessage, { companyId, to: "board", body: "The recipes are written." });
  await asAda.call(requestPermission, { resource: "org:hire", level: "use", reason: "I need a driver." });
  const id = newId();
  await daemon.store.write((tx) =>
    openSession(tx, { id, agentId: ada.id, credentialId: newId(), token: newSecret(), workspace: null }),
  );
  await daemon.store.write((tx) => endSession(tx, id, { reason: "exited with code 0", exitCode: 0 }, newId));
  writeFileSync(join(folder, "notes.md"), "# Notes\n\nBake at 230 degrees.\n");
  mkdirSync(join(folder, "baking"));
  writeFileSync(
    join(folder, "baking", "SKILL.md"),
    "---\nname: baking\ndescription: How to bake bread.\n---\n\nBake it.\n",
  );
  writeFileSync(
    join(folder, "mcp.json"),
    '{"mcpServers": {"files": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}}',
  );
  makeSite(folder);
  return { ada: key, root: root.key, company: companyId };
}

async function idOfBundle(line: CommandLine): Promise<string> {
  const { repos } = listRepos.output.parse(await line.json("repos", "list"));
  return repos[0]?.unpublished[0]?.id ?? "";
}

async function idOfKey(line: CommandLine): Promise<string> {
  const { keys } = listKeys.output.parse(await line.json("agents", "keys", "bob"));
  return keys[0]?.id ?? "";
}
