// The command line on a pseudo-terminal, as a person at a keyboard sees it: `run`, `hire`, completion, Ctrl-C and colours.
// Every key is pressed only after its question is on the screen.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { z } from "zod";
import { listAgents } from "../src/contract/agents.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { listGoals } from "../src/contract/goals.ts";
import { allowed } from "../src/testing/allowed.ts";
import {
  type BuiltDaemon,
  builtMain,
  type DaemonOptions,
  environmentOf,
  startDaemon,
  temporaryFolder,
} from "./support/daemon.ts";
import { controlC, enter, type Keyboard, onTerminal, tab } from "./support/pseudo-terminal.ts";

const folder = temporaryFolder("terminal");
const options: DaemonOptions = { home: join(folder.path, "home") };
let daemon: BuiltDaemon;

before(async () => {
  // The name that people type. The folder is not a checkout, so `run` does not offer one.
  const program = join(folder.path, "agency");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${builtMain}" "$@"\n`);
  chmodSync(program, 0o755);
  daemon = await startDaemon(options).ready;
});
after(async () => {
  await daemon.stop();
  folder.remove();
});

function type(command: string, env: Record<string, string> = {}, columns = 80): Keyboard {
  const inherited = environmentOf(options);
  const path = [folder.path, inherited["PATH"]].join(delimiter);
  return onTerminal(`exec ${command}`, {
    env: { ...inherited, PATH: path, GIT_CEILING_DIRECTORIES: folder.path, ...env },
    cwd: folder.path,
    columns,
  });
}

const escape = "\u001B\\[";
const colour = new RegExp(`${escape}\\d+m`);
/** The sequence that moves up over the lines of the last picture and clears them. */
const redrawn = new RegExp(`${escape}\\d+F${escape}J`);

const goalCalled = async (title: string) =>
  (await daemon.board.call(listGoals, { companyId: daemon.companyId })).outcomes.find(
    (goal) => goal.title === title,
  );

test("run shows the work in place, asks about each hire, takes a revision, and ends with the accepted result", async () => {
  const run = type('agency run "Write a guide to bread"');
  await run.sees("Approve? [y]es [n]o [r]evise [d]etails:");
  run.types(`d${enter}`);
  await run.sees("Everything in the request:");
  await run.sees("Approve? [y]es [n]o [r]evise [d]etails:");
  run.types(`r${enter}`);
  await run.sees("What should change?");
  run.types(`Give it a budget of $5.${enter}`);
  await run.sees("Sent back.");
  await run.sees("Give it a budget of $5.");
  // Every new request is approved, until the result is there.
  for (let asked = ""; !asked.includes("Accept the result?");) {
    asked = await run.sees(/(?:Approve|Accept the result)\? \[y\]es \[n\]o \[r\]evise \[d\]etails:/);
    run.types(`y${enter}`);
  }
  await run.sees(/Done: Write a guide to bread \(.*\)\nDeliverables:\n/);
  await run.sees("Save the result: agency results O");
  assert.equal(await run.ends(), 0);
  assert.equal((await goalCalled("Write a guide to bread"))?.status, "completed");
  assert.match(run.screen(), redrawn);
});

test("Ctrl-C leaves a run, says how to follow and how to stop it, and the work continues", async () => {
  const run = type('agency run "Name the cat"');
  await run.sees("Ctrl-C to leave; the work continues.");
  run.types(controlC);
  const said = await run.sees(/Stop it: +agency cancel O\d+/);
  assert.match(said, /The work continues\.\nFollow it: +agency follow O\d+/);
  assert.equal(await run.ends(), 130);
  // The team of the first goal may have the result already.
  assert.match((await goalCalled("Name the cat"))?.status ?? "", /^(?:open|submitted)$/);

  const again = type('agency follow "Name the cat"');
  await again.sees(/(?:Approve|Accept the result)\? \[y\]es/);
  again.types(controlC);
  await again.sees("The work continues.");
  assert.equal(await again.ends(), 130);

  const cancel = type('agency cancel "Name the cat"');
  await cancel.sees('"Name the cat" is cancelled, with everything below it.');
  assert.equal(await cancel.ends(), 0);
});

test("hire lists brains and managers, checks each answer, and keeps all of them after a refusal", async () => {
  const { companyId } = daemon;
  await daemon.board.call(createAgent, { companyId, name: "Ada", role: "Editor" });
  const hire = type("agency hire");
  const answer = async (question: string, text: string): Promise<string> => {
    const before = await hire.sees(question);
    hire.types(`${text}${enter}`);
    return before;
  };
  await answer("Name: ", "Ada");
  await answer("Role: ", "Baker");
  await answer("Job title (optional): ", "");
  await answer("responsible for? (optional): ", "Bake the bread");
  await answer("How should the agent work? (optional): ", "");
  assert.match(await answer("Brain (Enter for the company's default): ", "clod"), /rehearsal, process/);
  await hire.sees('There is no brain called "clod".');
  await answer("Brain (Enter for the company's default): ", "rehearsal");
  assert.match(await answer("Manager (Enter for the root agent, or you): ", "ada"), /\bada\s+\(Editor\)/);
  await hire.sees('already has an agent called "Ada"');
  await answer("Name [Ada]: ", "Bob");
  await answer("Role [Baker]: ", "");
  await answer("Job title (optional): ", "");
  await answer("responsible for? (optional) [Bake the bread]: ", "");
  await answer("How should the agent work? (optional): ", "");
  await answer("(Enter for the company's default) [rehearsal]: ", "");
  await answer("Configuration of the brain, as JSON (optional): ", "");
  await answer("Manager (Enter for the root agent, or you) [ada]: ", "");
  await hire.sees("Bob is hired.");
  assert.equal(await hire.ends(), 0);
  const { agents } = await daemon.board.call(listAgents, { companyId, limit: 100 });
  const bob = agents.find(({ name }) => name === "Bob");
  assert.deepEqual([bob?.role, bob?.boss?.name, bob?.status], ["Baker", "Ada", "idle"]);

  const left = type("agency hire");
  await left.sees("Name: ");
  left.types(controlC);
  assert.equal(await left.ends(), 130);
});

test("Tab completes commands and the names of agents in bash", async () => {
  const bash = type("bash --norc --noprofile -i", { PS1: "ready> " });
  await bash.sees("ready> ");
  bash.types(`eval "$(agency completion bash)"; echo "installed"${enter}`);
  await bash.sees("\ninstalled");
  await bash.sees("ready> ");
  bash.types(`agency agents paus${tab}`);
  await bash.sees("agency agents pause ");
  bash.types(`roo${tab}`);
  await bash.sees("root ");
  bash.types(enter);
  await bash.sees("Root is paused. To resume: agency agents resume root");
  bash.types(`agency agents resume root; exit${enter}`);
  await bash.sees("Root works again.");
  await bash.ends();
});

const left = (shell: string): boolean => {
  const isHere = spawnSync("sh", ["-c", `command -v ${shell}`]).status === 0;
  if (!isHere) console.log(`# left out: Tab in ${shell}, which is not installed`);
  return !isHere;
};

if (!left("zsh"))
  test("Tab completes commands and the names of agents in zsh", async () => {
    const zsh = type("zsh -f -i", { PS1: "ready> ", HOME: folder.path });
    await zsh.sees("ready> ");
    zsh.types(
      `autoload -U compinit; compinit -u -D; eval "$(agency completion zsh)"; echo inst''alled${enter}`,
    );
    await zsh.sees("\ninstalled");
    await zsh.sees("ready> ");
    zsh.types(`agency agents paus${tab}`);
    await zsh.sees(/pause\s/);
    zsh.types(`roo${tab}`);
    await zsh.sees(/root\s/);
    zsh.types(enter);
    await zsh.sees("Root is paused. To resume: agency agents resume root");
    zsh.types(`agency agents resume root; exit${enter}`);
    await zsh.sees("Root works again.");
    await zsh.ends();
  });

if (!left("fish"))
  test("Tab completes commands and the names of agents in fish", async () => {
    const asked = ["agency agents paus", "agency agents pause roo", "agency agents create --rol"];
    const lines = asked.map((line) => `complete -C '${line}'`).join("; ");
    const fish = type(`fish --no-config -c "agency completion fish | source; ${lines}"`, {
      HOME: folder.path,
    });
    assert.equal(await fish.ends(), 0);
    const found = fish.screen().replaceAll("\r", "").trim().split("\n");
    assert.deepEqual(
      found.map((line) => line.split("\t")[0]),
      ["pause", "root", "--role"],
    );
  });

test("colours are printed only to terminals that support them, and tables fit the width of the terminal", async () => {
  const wanted = type("agency agents list");
  assert.equal(await wanted.ends(), 0);
  assert.match(wanted.screen(), colour);
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
    const refused = type("agency agents list", env);
    assert.equal(await refused.ends(), 0);
    assert.doesNotMatch(refused.screen(), colour);
  }
  const narrow = type("agency outcomes list", { NO_COLOR: "1" }, 60);
  assert.equal(await narrow.ends(), 0);
  for (const line of narrow.screen().split("\n")) assert.ok(line.trimEnd().length <= 60, line);
});

test("the daemon tells what happens, runs the notify command, and says at Ctrl-C which work it waits for", async () => {
  const second = temporaryFolder("terminal-daemon");
  const notice = join(second.path, "notice.json");
  const env = {
    AGENCY_HOME: join(second.path, "home"),
    AGENCY_DRAIN_SECONDS: "600",
    AGENCY_NOTIFY_COMMAND: `cat > ${notice}; echo "$AGENCY_NOTICE" > ${notice}.text; mv ${notice} ${notice}.whole`,
  };
  const up = type("agency up --port 0", env);
  await up.sees("Agency is running at http://127.0.0.1:");
  await up.sees("Press Ctrl-C to stop.");
  const config = '{"command": "sleep", "args": ["3600"]}';
  const hire = type(`agency hire Sleeper --role Idler --brain process --adapter-config '${config}'`, env);
  await hire.sees("Sleeper is hired.");
  await up.sees("created the agent Sleeper.");
  const ask = type("agency hire Vera --role 'Writer; echo $(pwd)' --request", env);
  await ask.sees("needs approval A1");
  await up.sees("asked for the approval of Vera.");
  const Notice = z.object({
    company: z.string(),
    items: z.array(z.object({ kind: z.string(), title: z.string() })),
  });
  await until(() => existsSync(`${notice}.whole`));
  assert.deepEqual(Notice.parse(JSON.parse(readFileSync(`${notice}.whole`, "utf8"))), {
    company: "My company",
    items: [{ kind: "approval", title: "The hire of Vera" }],
  });
  assert.equal(readFileSync(`${notice}.text`, "utf8"), "My company: The hire of Vera\n");

  const send = type('agency send "Sleep well." --to sleeper', env);
  await send.sees("delivered");
  await up.sees("started a session of Sleeper.");
  up.types(controlC);
  await up.sees("Stopping.");
  await up.sees(/Waiting up to 600 seconds for Sleeper/);
  up.types(controlC);
  await up.sees("Ending the running sessions.");
  await up.sees("Stopped.");
  assert.equal(await up.ends(), 0);
  second.remove();
});

/** Waits for a state that no screen shows. */
async function until(isReached: () => boolean): Promise<void> {
  for (const end = performance.now() + allowed(20_000); !isReached();) {
    assert.ok(performance.now() < end, "The state did not come.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
