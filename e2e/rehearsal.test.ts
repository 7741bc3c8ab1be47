import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import { listEvents } from "../src/contract/ledger.ts";
import { readFile, viewHistory } from "../src/contract/knowledge.ts";
import { boardInbox, Message } from "../src/contract/mail.ts";
import { viewCompany } from "../src/contract/companies.ts";
import { listAgents } from "../src/contract/agents.ts";
import { listOutcomes, type OutcomeSummary } from "../src/contract/outcomes.ts";
import { listSessions, viewTranscript } from "../src/contract/sessions.ts";
import {
  agency,
  type BuiltDaemon,
  type DaemonOptions,
  startDaemon,
  temporaryFolder,
} from "./support/daemon.ts";
import { allPages } from "./support/pages.ts";
import { sessionProcesses } from "./support/processes.ts";

// A newcomer without a model types one command and sees an organization work. On an idle machine it should take 20 s. The
// assertions allow more for a busy machine.
const mostSeconds = 60;

const Result = z.object({ status: z.string(), messages: z.array(Message), seconds: z.number() });

describe("the rehearsal", () => {
  const onNewHome = async (play: (options: DaemonOptions) => Promise<void>): Promise<void> => {
    const home = temporaryFolder("rehearsal");
    try {
      await play({ home: home.path });
      assert.deepEqual(sessionProcesses(home.path), []);
    } finally {
      home.remove();
    }
  };

  test("one command from nothing: plans, hires, delegates twice, verifies, reports and rests; and again", (t) =>
    onNewHome(async (options) => {
      const first = await run(t, options, "Write a short welcome for new members");
      // The daemon that the command started has gone with it.
      assert.equal((await agency(["agents", "list", "--json"], options)).code, 3);
      let seen = 0;
      await withDaemon(options, async (daemon) => {
        seen = await checkWork(daemon, options, "Write a short welcome for new members", first, 0);
      });
      const second = await run(t, options, "Plan the summer party");
      await withDaemon(options, (daemon) =>
        checkWork(daemon, options, "Plan the summer party", second, seen),
      );
    }));

  test("against a daemon that is up, which stays up", (t) =>
    onNewHome((options) =>
      withDaemon(options, async (daemon) => {
        const result = await run(t, options, "Find a name for the cat");
        await checkWork(daemon, options, "Find a name for the cat", result, 0);
      }),
    ));
});

describe("the rehearsal with unusual goals", () => {
  const goals: Readonly<Record<string, string>> = {
    "in Chinese": "为新成员写一份简短的欢迎词，并附上本周的活动安排",
    "with emoji": "🎉 Celebrate 👩‍👩‍👧‍👦 and 🏳️‍🌈 with a 🍰",
    "of 2,000 characters":
      `Write a very long report. ${"Every detail counts, none may be left out. ".repeat(60)}`.slice(0, 2000),
    "with quotes, lines and what looks like options or code":
      '\n  --json "It\'s" a `goal` with $(quotes) \\n and\nlines\r\n\ttabs; {"json": [1, null]} {{role}} <b>html</b> kb://none\n\n',
  };
  for (const [kind, goal] of Object.entries(goals))
    test(`a goal ${kind}`, async (t) => {
      const home = temporaryFolder("rehearsal");
      const options = { home: home.path };
      try {
        await withDaemon(options, async (daemon) => {
          const result = await run(t, options, goal);
          await checkWork(daemon, options, goal, result, 0);
        });
      } finally {
        home.remove();
      }
    });
});

async function run(t: TestContext, options: DaemonOptions, goal: string): Promise<z.infer<typeof Result>> {
  const start = performance.now();
  const { code, out, err } = await agency(
    ["run", "--yes", "--json", "--timeout", "120", "--", goal],
    options,
  );
  const seconds = (performance.now() - start) / 1000;
  assert.equal(code, 0, `${out}${err}`);
  assert.equal(err, "");
  const result = Result.parse(JSON.parse(out));
  t.diagnostic(`done ${result.seconds.toFixed(1)} s after the goal was sent, ${seconds.toFixed(1)} s in all`);
  assert.equal(result.status, "done");
  assert.ok(seconds < mostSeconds, `it took ${seconds} s`);
  return result;
}

async function withDaemon<T>(
  options: DaemonOptions,
  use: (daemon: BuiltDaemon) => Promise<T>,
): Promise<void> {
  const daemon = await startDaemon(options).ready;
  try {
    await use(daemon);
    assert.equal(daemon.log(), "");
  } finally {
    assert.deepEqual(await daemon.stop(), { code: 0, signal: null });
  }
}

/** Checks everything a goal should have left, by the record since the event `after`. Returns the last event. */
async function checkWork(
  daemon: BuiltDaemon,
  options: DaemonOptions,
  goal: string,
  result: z.infer<typeof Result>,
  after: number,
): Promise<number> {
  const { board, companyId } = daemon;
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  const events = await allPages(
    (cursor) => board.call(listEvents, { companyId, limit: 1000, after: cursor ?? after }),
    "events",
  );
  const of = (operation: string) => events.filter((event) => event.operation === operation);

  // Two levels of delegation. The first goal finds no agents, and its agent hires the ones it needs.
  const delegations = of("outcome.delegate").map(({ subject, data }) => ({
    outcome: subject,
    from: data["from"],
    to: data["to"],
  }));
  const [down] = delegations.filter(({ from }) => from === rootAgentId);
  const further = delegations.filter(({ from }) => from === down?.to);
  assert.deepEqual([delegations.length, further.length], [3, 2]);
  const hired = new Set(of("agent.create").map(({ subject }) => subject));
  assert.deepEqual(hired, after === 0 ? new Set(delegations.map(({ to }) => to)) : new Set());
  if (after === 0) {
    // In the final output of one session, the root hires agents and delegates to them.
    const [said] = of("outcome.create").filter(
      ({ actor, data }) => actor.agentId === rootAgentId && data["of"] !== undefined,
    );
    const { transcript } = await board.call(viewTranscript, { id: said?.actor.sessionId ?? "" });
    assert.match(transcript, /^HIRE\[Coordinator\]: .+\nDELEGATE\[Coordinator\]: Organize: /m);
  }

  // The worker wrote its result down, the delegator verified it, and both have sessions on record.
  for (const { outcome, from, to } of delegations) {
    const made = of("knowledge.create").filter(({ actor }) => actor.agentId === to);
    assert.ok(made.length > 0, "no agent with a delegated outcome wrote a file");
    for (const { subject } of made) {
      const { versions } = await board.call(viewHistory, { id: subject ?? "" });
      assert.equal(versions.at(-1)?.author.agentId, to);
    }
    const submitted = of("outcome.submit").filter(({ subject }) => subject === outcome);
    assert.deepEqual(
      submitted.map(({ actor }) => actor.agentId),
      [to],
    );
    const verified = of("outcome.complete").filter(({ subject }) => subject === outcome);
    assert.deepEqual(
      verified.map(({ actor }) => actor.agentId),
      [from],
    );
    assert.ok([...submitted, ...verified, ...made].every(({ actor }) => actor.sessionId !== null));
  }

  // The goal arrived as it was typed, and the result is there for the board to read.
  const asked = of("outcome.create").find(({ actor, data }) => {
    const { parents } = z
      .object({ parents: z.array(z.string()).optional() })
      .loose()
      .parse(data);
    return actor.agentId === rootAgentId && parents?.includes(rootAgentId) === true;
  });
  const text = (await board.call(readFile, { id: asked?.subject ?? "" })).content;
  assert.ok(text.includes(goal.trim()), text);
  const { messages } = await board.call(boardInbox, { companyId, limit: 1000 });
  const report = result.messages.find(({ body }) => body?.startsWith("Done: ") === true);
  assert.ok(report !== undefined && messages.some(({ id }) => id === report.id));
  assert.equal(report.from.id, rootAgentId);
  const link = /kb:\/\/([0-9a-f-]{36})/.exec(report.body ?? "")?.[1] ?? "";
  assert.match((await board.call(readFile, { id: link })).content, /Combined from:/);

  await checkRest(daemon, options);
  return events.at(-1)?.seq ?? after;
}

async function checkRest(daemon: BuiltDaemon, options: DaemonOptions): Promise<void> {
  const { board, companyId } = daemon;
  assert.deepEqual((await board.call(listSessions, { companyId, live: true })).sessions, []);
  assert.deepEqual(sessionProcesses(daemon.home), []);
  const outcomes: OutcomeSummary[] = await allPages(
    (cursor) => board.call(listOutcomes, { companyId, limit: 1000, cursor }),
    "outcomes",
  );
  const open = outcomes.filter(({ status }) => status === "open" || status === "submitted");
  assert.deepEqual(
    open.map(({ kind }) => kind).filter((kind) => kind !== "mandate"),
    ["perpetual"],
  );
  const { agents } = await board.call(listAgents, { companyId, limit: 1000 });
  assert.deepEqual(
    agents.map(({ name, boss, status }) => `${name} < ${boss?.name ?? "board"} ${status}`),
    [
      "Root < board idle",
      "Coordinator < Root idle",
      "Writer < Coordinator idle",
      "Checker < Coordinator idle",
    ],
  );
  const { code, out } = await agency(["audit", "verify", "--json"], options);
  assert.equal(code, 0, out);
}
