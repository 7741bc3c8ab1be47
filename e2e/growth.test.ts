// An organization that builds itself: with nothing but its printed output, a single chief hires, delegates, combines results
// and answers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { approve, listApprovals, reject } from "../src/contract/approvals.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { boardInbox, sendMessage } from "../src/contract/mail.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { listAgents, updateAgent } from "../src/contract/agents.ts";
import { createOutcome, listOutcomes, viewOutcome } from "../src/contract/outcomes.ts";
import { why } from "../src/contract/why.ts";
import { listRoster } from "../src/contract/roster.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { type BuiltDaemon, startDaemon } from "./support/daemon.ts";
import { onNewHome } from "./support/home.ts";
import { allPages } from "./support/pages.ts";
import { sessionProcesses } from "./support/processes.ts";
import { allowed } from "../src/testing/allowed.ts";

const printer = fileURLToPath(new URL("support/printer.mjs", import.meta.url));

const rehearsal = { type: "rehearsal", config: { speaks: "text" } };
const printing = (lines: Readonly<Record<string, readonly string[]>>) => ({
  type: "process",
  config: { command: process.execPath, args: [printer], env: { PRINTER_LINES: JSON.stringify(lines) } },
});

const team = {
  Writer: ["Pelicans fly."],
  Checker: ["Pelicans do fly."],
};
const bootstrap = {
  "CEO, asked": [
    "I need two people.",
    "HIRE[Writer]: Writes about birds.",
    "HIRE[Checker | effort=low]: Checks what is said of birds.",
    "DELEGATE[Writer]: Write of pelicans.",
    "DELEGATE[Checker]: Check what is said of pelicans.",
  ],
  ...team,
};

/** Makes a company with only a chief. The chief and all later hires have this brain. */
async function onDaemon(
  brain: { type: string; config: Record<string, unknown> },
  settings: Record<string, unknown>,
  play: (daemon: BuiltDaemon, rootId: string) => Promise<void>,
): Promise<void> {
  await onNewHome("sqlite", async (options) => {
    const daemon = await startDaemon(options).ready;
    try {
      await play(daemon, await employ(daemon, brain, settings));
      assert.deepEqual(sessionProcesses(daemon.home), []);
      assert.equal(daemon.log(), "");
    } finally {
      await daemon.stop();
    }
  });
}

async function employ(
  { board, companyId }: BuiltDaemon,
  brain: { type: string; config: Record<string, unknown> },
  settings: Record<string, unknown>,
): Promise<string> {
  const { type: adapterType, config: adapterConfig } = brain;
  const standard = { defaultAdapterType: adapterType, defaultAdapterConfig: adapterConfig };
  await board.call(updateCompany, { companyId, ...standard, ...settings });
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, { id: rootAgentId, role: "CEO", adapterType, adapterConfig });
  return rootAgentId;
}

async function until<T>(what: string, look: () => Promise<T | undefined>, seconds = 60): Promise<T> {
  for (
    const begun = performance.now();
    performance.now() - begun < allowed(seconds * 1000);
    await sleep(50)
  ) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what}: not within ${seconds} s`);
}

const answerTo = ({ board, companyId }: BuiltDaemon) =>
  until("an answer to the board", async () => {
    const { messages } = await board.call(boardInbox, { companyId, limit: 1000 });
    return messages.find(({ body }) => body?.startsWith("Done: ") === true);
  });

const outcomesOf = ({ board, companyId }: BuiltDaemon) =>
  allPages((cursor) => board.call(listOutcomes, { companyId, limit: 1000, cursor }), "outcomes");

const atRest = (daemon: BuiltDaemon) =>
  until("rest", async () => {
    const { sessions } = await daemon.board.call(listSessions, { companyId: daemon.companyId, live: true });
    const workable = (await outcomesOf(daemon)).filter((outcome) => outcome.workable);
    return sessions.length === 0 && workable.length === 0 ? true : undefined;
  });

describe("a root agent without reports hires a team and completes a goal with it", () => {
  for (const [name, brain] of Object.entries({
    rehearsal,
    "a command that only prints": printing(bootstrap),
  }))
    // covers ORG-01, ORG-17, ORG-18, ORG-21, ORG-22, ORG-23, ORG-28, ORG-29, ORG-33, ORG-35
    test(`with ${name}`, () =>
      onDaemon(brain, { requireBoardApprovalForNewAgents: false }, async (daemon, rootId) => {
        const { board, companyId } = daemon;
        await board.call(sendMessage, { companyId, body: "Tell me of pelicans" });
        const answer = await answerTo(daemon);
        assert.equal(answer.from.id, rootId);
        await atRest(daemon);

        const { events } = await board.call(listEvents, { companyId, limit: 1000 });
        const of = (operation: string) => events.filter((event) => event.operation === operation);
        const hired = of("agent.create").filter(({ actor }) => actor.agentId === rootId);
        const handed = of("outcome.delegate").filter(({ actor }) => actor.agentId === rootId);
        assert.deepEqual([hired.length, handed.length], [2, 2]);
        // One cycle: the same final output caused both.
        assert.equal(new Set([...hired, ...handed].map(({ actor }) => actor.sessionId)).size, 1);

        const roster = await board.call(listRoster, { companyId });
        for (const { subject } of hired) {
          const member = roster.agents.find(({ id }) => id === subject);
          assert.deepEqual([member?.boss?.id, member?.adapterType], [rootId, brain.type]);
        }

        const outcomes = await outcomesOf(daemon);
        const integration = outcomes.find(({ kind }) => kind === "integration");
        const whole = outcomes.find(({ title }) => title === "Tell me of pelicans");
        assert.deepEqual([integration?.status, whole?.status], ["completed", "completed"]);
        const put = await board.call(viewOutcome, { id: integration?.id ?? "" });
        assert.deepEqual(
          new Set(put.dependsOn.map(({ id }) => id)),
          new Set(handed.map(({ subject }) => subject)),
        );
        for (const { text } of put.context) assert.ok(answer.body?.includes(text.trim()), answer.body ?? "");
        const open = outcomes.filter(({ status }) => status === "open" || status === "submitted");
        assert.deepEqual(new Set(open.map(({ kind }) => kind)), new Set(["perpetual", "mandate"]));
      }));
});

// covers ORG-02, ORG-34, ORG-36, ORG-41, ORG-42
test("a result from the third level reaches the top, and agents that depend on the whole outcome see it", () =>
  onDaemon(
    printing({
      CEO: ["DELEGATE[Manager]: Find the number."],
      Manager: ["DELEGATE[Engineer]: Count it."],
      Engineer: ["The number is 4711."],
      Teller: [],
    }),
    {},
    async (daemon, rootId) => {
      const { board, companyId } = daemon;
      const manager = await board.call(createAgent, { companyId, name: "Mia", role: "Manager" });
      await board.call(createAgent, { companyId, name: "Eve", role: "Engineer", reportsTo: manager.id });
      // The chief owns both outcomes, and the second waits for the first.
      const { rootOutcomeId } = await board.call(viewCompany, { companyId });
      const whole = await board.call(createOutcome, {
        companyId,
        title: "Know the number",
        parents: [rootOutcomeId],
      });
      const later = await board.call(createOutcome, {
        companyId,
        title: "Tell the number",
        parents: [rootOutcomeId],
        dependsOn: [whole.id],
      });
      await until("the later one", async () => {
        const { status } = await board.call(viewOutcome, { id: later.id });
        return status === "completed" ? true : undefined;
      });
      const seen = await board.call(viewOutcome, { id: later.id });
      const [integration] = seen.dependsOn;
      assert.notEqual(integration?.id, whole.id);
      assert.match(seen.context[0]?.text ?? "", /4711/);
      const levels = (await outcomesOf(daemon)).filter(({ kind }) => kind === "integration");
      assert.deepEqual(
        new Set(levels.map(({ responsible }) => responsible?.id)),
        new Set([rootId, manager.id]),
      );
      assert.ok(levels.every(({ status }) => status === "completed"));
      assert.equal((await board.call(viewOutcome, { id: whole.id })).status, "completed");
      // The later outcome's result uses the result of the integration.
      const { result } = await board.call(viewOutcome, { id: later.id });
      assert.ok(result !== null);
      await atRest(daemon);
    },
  ));

describe("where hires need approval, hires and their work wait", () => {
  const begin = async (daemon: BuiltDaemon, rootId: string) => {
    const { board, companyId } = daemon;
    await board.call(sendMessage, { companyId, body: "Tell me of pelicans" });
    const approvals = await until("two approvals", async () => {
      const list = await board.call(listApprovals, { companyId, status: "pending" });
      return list.approvals.length === 2 ? list.approvals : undefined;
    });
    await atRest(daemon);
    const waiting = (await outcomesOf(daemon)).filter(({ blocked }) => blocked !== null);
    assert.equal(waiting.length, 2);
    for (const { id, responsible } of waiting) {
      assert.equal(responsible?.id, rootId);
      const { says, moves, references } = await board.call(why, { id });
      assert.ok(
        moves && approvals.some((approval) => references.some((one) => one.id === approval.id)),
        says,
      );
    }
    return approvals;
  };

  test("approving both hires lets their work finish", () =>
    onDaemon(printing(bootstrap), {}, async (daemon, rootId) => {
      for (const { id } of await begin(daemon, rootId)) await daemon.board.call(approve, { id });
      const { body } = await answerTo(daemon);
      assert.match(body ?? "", /Pelicans fly\.[\s\S]*Pelicans do fly\./);
      await atRest(daemon);
    }));

  test("a rejection returns the work with the reason, and no outcome stays stuck", () =>
    onDaemon(printing(bootstrap), {}, async (daemon, rootId) => {
      const { board, companyId } = daemon;
      const [one, other] = await begin(daemon, rootId);
      await board.call(approve, { id: one?.id ?? "" });
      await board.call(reject, { id: other?.id ?? "", decisionNote: "too dear" });
      const { body } = await answerTo(daemon);
      assert.match(body ?? "", /Done: Tell me of pelicans/);
      const { events } = await board.call(listEvents, { companyId, limit: 1000 });
      assert.ok(events.some(({ data }) => JSON.stringify(data).includes("too dear")));
      const { agents } = await board.call(listAgents, { companyId, status: "terminated" });
      assert.equal(agents.length, 1);
      await atRest(daemon);
      const open = (await outcomesOf(daemon)).filter(({ status }) => status === "open");
      assert.deepEqual(
        open.filter(({ kind }) => kind === "work" || kind === "integration").map(({ title }) => title),
        [],
      );
    }));
});

for (const moment of ["exited", "before session.end"])
  test(`the next daemon handles the final output when one dies at "${moment}", and no work is done twice`, () =>
    onNewHome("sqlite", async (options) => {
      const starting = startDaemon({ ...options, env: { ...options.env, AGENCY_FAIL_AT: moment } });
      const first = await starting.ready;
      const { companyId } = first;
      const rootId = await employ(first, printing(bootstrap), { requireBoardApprovalForNewAgents: false });
      await first.board
        .call(sendMessage, { companyId, body: "Tell me of pelicans" }, { key: "ask" })
        .catch(() => undefined);
      assert.equal((await starting.ended).signal, "SIGKILL");

      const daemon = await startDaemon(options).ready;
      try {
        await answerTo(daemon);
        await atRest(daemon);
        const { events } = await daemon.board.call(listEvents, { companyId, limit: 1000 });
        const hired = events.filter(
          ({ operation, actor }) => operation === "agent.create" && actor.agentId === rootId,
        );
        const begun = events.filter(
          ({ operation, subject }) => operation === "session.start" && subject === rootId,
        );
        assert.equal(hired.length, 2);
        // The daemon carried out the output of the first session that was started.
        const started = begun.map(({ seq, data }) => ({ seq, id: data["session"] }));
        const [one] = started.toSorted((a, b) => a.seq - b.seq);
        assert.ok(hired.every(({ actor }) => actor.sessionId === one?.id));
      } finally {
        await daemon.stop();
      }
    }));
