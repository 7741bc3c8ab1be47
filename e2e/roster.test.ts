// The roster of the built daemon: the agents that the first start hires, and the file that lists them, also after a crash.
import { allowed } from "../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { terminateAgent, updateAgent } from "../src/contract/agents.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listRoster } from "../src/contract/roster.ts";
import { listAgentSessions, viewTranscript } from "../src/contract/sessions.ts";
import { storeKinds } from "../src/testing/organization.ts";
import { testDatabase } from "../src/testing/postgres.ts";
import {
  agency,
  type BuiltDaemon,
  type DaemonOptions,
  startDaemon,
  temporaryFolder,
} from "./support/daemon.ts";
import { endOf } from "./support/steps.ts";

const define = (home: string, name: string, front: string, body = ""): void => {
  mkdirSync(join(home, "agents"), { recursive: true });
  writeFileSync(join(home, "agents", name), `---\n${front}\n---\n${body}\n`);
};

interface Entry {
  readonly name: string;
  readonly reportsTo: string;
}

function rosterIn(home: string, file = "roster.json"): { agents: Entry[]; departures: Entry[] } | undefined {
  try {
    return JSON.parse(readFileSync(join(home, "agents", file), "utf8"));
  } catch {
    return undefined;
  }
}

const employed = (home: string, file?: string): string =>
  (rosterIn(home, file)?.agents ?? [])
    .map(({ name, reportsTo }) => `${name} < ${reportsTo}`)
    .toSorted()
    .join(", ");

async function until(what: () => string, expected: string): Promise<void> {
  for (const started = performance.now(); what() !== expected; await sleep(20))
    if (performance.now() - started > allowed(60_000)) assert.equal(what(), expected);
}

for (const kind of storeKinds)
  describe(`the roster of a daemon (${kind})`, () => {
    async function onHome(
      play: (
        home: string,
        start: (env?: Record<string, string>) => ReturnType<typeof startDaemon>,
        options: DaemonOptions,
      ) => Promise<void>,
    ): Promise<void> {
      const database = kind === "postgres" ? await testDatabase() : undefined;
      const { path: home, remove } = temporaryFolder("roster");
      try {
        const options = { home, databaseUrl: database?.url, env: { AGENCY_AGENTS: "off" } };
        await play(home, (env = {}) => startDaemon({ ...options, env: { ...options.env, ...env } }), options);
      } finally {
        await database?.drop();
        remove();
      }
    }
    const names = async ({ board, companyId }: BuiltDaemon, departed = false): Promise<string[]> =>
      (await board.call(listRoster, { companyId, departed })).agents.map(({ name }) => name).toSorted();

    // covers ORG-03, ORG-04, ORG-05, ORG-06, ORG-07, ORG-08, ORG-09
    test("the first start hires the agents that the files describe; afterwards only the database counts", () =>
      onHome(async (home, start) => {
        define(home, "b-lead.md", "name: Lead\nrole: lead", "Lead.");
        define(home, "a-dev.md", "name: Dev\nrole: developer\nreportsTo: Lead\nmodel: m", "Develop.");
        define(home, "reviewer.md", "name: reviewer\ndescription: Reviews.\ntools: Read, Grep");
        const first = await start().ready;
        assert.deepEqual(await names(first), ["Dev", "Lead", "Root", "reviewer"]);
        await until(() => employed(home), "Dev < Lead, Lead < Root, Root < board, reviewer < Root");
        assert.match(first.log(), /reviewer\.md: ignored the tools Read, Grep\. The brain decides/);

        const { board, companyId } = first;
        const { agents } = await board.call(listRoster, { companyId });
        const idOf = (name: string): string => agents.find((agent) => agent.name === name)?.id ?? "";
        await board.call(updateAgent, { id: idOf("Dev"), name: "Ada" });
        const hired = await board.call(createAgent, { companyId, name: "New", role: "tester" });
        await board.call(terminateAgent, { id: idOf("Lead") });
        const now = "Ada < Root, New < Root, Root < board, reviewer < Root";
        await until(() => employed(home), now);
        assert.deepEqual(
          rosterIn(home)?.departures.map(({ name }) => name),
          ["Lead"],
        );
        const { events } = await board.call(listEvents, { companyId, limit: 1000 });
        const about = (operation: string, id: string): boolean =>
          events.some((event) => event.operation === operation && event.subject === id);
        assert.ok(about("agent.create", hired.id) && about("agent.create", idOf("Dev")));
        assert.ok(about("agent.terminate", idOf("Lead")));

        await first.stop();
        define(home, "b-lead.md", "name: Lead\nrole: lead");
        define(home, "more.md", "name: More\nrole: more");
        const second = await start().ready;
        assert.deepEqual(await names(second), ["Ada", "New", "Root", "reviewer"]);
        assert.deepEqual(await names(second, true), ["Ada", "Lead", "New", "Root", "reviewer"]);
        assert.equal(employed(home), now);
        await second.stop();
      }));

    // covers ORG-03, ORG-06
    test("when a daemon dies between a change and writing the file, the next start corrects the file", () =>
      onHome(async (home, start) => {
        const dying = start({ AGENCY_FAIL_AT: "roster#2" });
        const { board, companyId } = await dying.ready;
        await until(() => employed(home), "Root < board");
        await board.call(createAgent, { companyId, name: "Ada", role: "worker" });
        assert.deepEqual(await endOf(dying, "roster"), { code: null, signal: "SIGKILL" });
        assert.equal(employed(home), "Root < board", "the file is not written when it dies");
        const next = await start().ready;
        await until(() => employed(home), "Ada < Root, Root < board");
        await next.kill();

        // The daemon writes the file and never reads it. Whatever the file contains, the database counts.
        writeFileSync(
          join(home, "agents", "roster.json"),
          '{"agents":[{"name":"Mallory","reportsTo":"board"}]}',
        );
        const last = await start().ready;
        await until(() => employed(home), "Ada < Root, Root < board");
        assert.deepEqual(await names(last), ["Ada", "Root"]);
        const another = await last.board.call(createCompany, { name: "Another" });
        const file = `roster-${another.id}.json`;
        await until(() => employed(home, file), "Root < board");
        await last.board.call(createAgent, { companyId: another.id, name: "Bob", role: "worker" });
        // A daemon that is told to stop first writes the pending changes to the file.
        await last.stop();
        assert.equal(employed(home, file), "Bob < Root, Root < board");
        assert.equal(employed(home), "Ada < Root, Root < board");
      }));

    test("a bad definition stops the first start: nothing is made, and the message names file and line", () =>
      onHome(async (home, start, options) => {
        const refused = async (code: number, message: RegExp): Promise<void> => {
          const up = await agency(["up", "--port", "0"], options);
          assert.equal(up.code, code, up.err);
          assert.match(up.err, message);
        };
        define(home, "good.md", "name: Good\nrole: worker");
        define(home, "wrong.md", "name: Wrong\nrole: worker\nefort: high");
        await refused(2, /wrong\.md:4: the key efort is unknown/s);
        define(
          home,
          "wrong.md",
          "name: Wrong\nrole: worker\nadapterType: process\nadapterConfig: {command: evil}",
        );
        await refused(1, /wrong\.md runs "evil".*allow-commands/s);
        define(home, "wrong.md", "name: Right\nrole: worker\neffort: high");
        const daemon = await start().ready;
        assert.deepEqual(await names(daemon), ["Good", "Right", "Root"]);
        await daemon.stop();
      }));
  });

test("a company moves from one installation to another as files", async () => {
  const { path: here, remove: removeHere } = temporaryFolder("here");
  const { path: there, remove: removeThere } = temporaryFolder("there");
  const { path: folder, remove: removeFolder } = temporaryFolder("folder");
  const env = { AGENCY_AGENTS: "off" };
  const from = await startDaemon({ home: here, env }).ready;
  const to = await startDaemon({ home: there, env }).ready;
  try {
    const { id } = await from.board.call(createAgent, {
      companyId: from.companyId,
      name: "Ada",
      role: "worker",
    });
    await from.board.call(createAgent, {
      companyId: from.companyId,
      name: "Bob",
      role: "worker",
      reportsTo: id,
    });
    const target = join(folder, "company");
    const exported = await agency(["export", target], { home: here });
    assert.equal(exported.code, 0, exported.err);
    const imported = await agency(["import", target, "--name", "Copy", "--json"], { home: there });
    assert.equal(imported.code, 0, imported.err);
    const org = await agency(["org", "--company", "Copy"], { home: there });
    assert.deepEqual(org.out.trimEnd().split("\n"), [
      "Root (CEO) [idle] nothing to do",
      "└─ Ada (worker) [idle] nothing to do",
      "   └─ Bob (worker) [idle] nothing to do",
    ]);
  } finally {
    await from.stop();
    await to.stop();
    removeHere();
    removeThere();
    removeFolder();
  }
});

test("skills come from the home at the first start or from a command, reach sessions, and are exported with the company", async () => {
  const { path: here, remove: removeHere } = temporaryFolder("skills-here");
  const { path: there, remove: removeThere } = temporaryFolder("skills-there");
  const { path: folder, remove: removeFolder } = temporaryFolder("skills-folder");
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  const ok = async (home: string, ...args: string[]): Promise<string> => {
    const { code, err, out } = await agency(args, { home });
    assert.equal(code, 0, err);
    return out;
  };
  write(join(here, "skills", "tidy", "SKILL.md"), "---\ndescription: Tidying\n---\nTidy up.\n");
  write(join(folder, "review", "SKILL.md"), "---\nname: review\ndescription: Reviewing\n---\nTwice.\n");
  write(join(folder, "review", "references", "list.md"), "A list.\n");
  const from = await startDaemon({ home: here }).ready;
  const to = await startDaemon({ home: there, env: { AGENCY_AGENTS: "off" } }).ready;
  try {
    const { board, companyId } = from;
    const names = async (home: string): Promise<string> =>
      JSON.parse(await ok(home, "skills", "--json"))
        .skills.map(({ name }: { name: string }) => name)
        .join(" ");
    assert.equal(await names(here), "tidy");
    await ok(here, "skills", "add", join(folder, "review"));
    assert.equal(await names(here), "review tidy");
    const bad = join(folder, "armed");
    write(join(bad, "SKILL.md"), "!`id`");
    const refused = await agency(["skills", "add", bad], { home: here });
    assert.deepEqual([refused.code, /runs "id"/.test(refused.err)], [1, true]);

    const { id } = await board.call(createAgent, {
      companyId,
      name: "Reader",
      role: "reader",
      adapterType: "process",
      adapterConfig: {
        command: "sh",
        args: [
          "-c",
          "cat .claude/skills/tidy/SKILL.md .claude/skills/review/references/list.md; ls .claude/skills",
        ],
      },
    });
    await board.call(sendMessage, { companyId, to: id, body: "Read." });
    const printed = async (): Promise<string> => {
      const [session] = (await board.call(listAgentSessions, { id })).sessions;
      if (session?.endedAt == null) return "";
      return (await board.call(viewTranscript, { id: session.id })).transcript;
    };
    let words = "";
    for (
      const started = performance.now();
      words === "" && performance.now() - started < allowed(90_000);
      await sleep(50)
    )
      words = await printed();
    assert.match(words, /Tidy up\.\nA list\.\nagency\nagency-create-agent\nreview\ntidy\n/);

    const target = join(folder, "company");
    await ok(here, "export", target);
    await ok(here, "skills", "remove", "tidy");
    assert.equal(await names(here), "review");
    assert.equal(
      readFileSync(join(target, "skills", "review", "references", "list.md"), "utf8"),
      "A list.\n",
    );
    await ok(there, "import", target, "--name", "Copy", "--allow-commands");
    const copied = JSON.parse(await ok(there, "skills", "list", "--company", "Copy", "--json")).skills;
    assert.deepEqual(
      copied.map(
        ({ name, description }: Record<string, unknown>) => `${String(name)}: ${String(description)}`,
      ),
      ["review: Reviewing", "tidy: Tidying"],
    );
  } finally {
    await from.stop();
    await to.stop();
    removeHere();
    removeThere();
    removeFolder();
  }
});
