// A company of two real programs: a chief on Claude Code hires a writer on Codex. Only the model is played.
import assert from "node:assert/strict";
import { test } from "node:test";
import { listAgents, updateAgent, viewAgent } from "../../src/contract/agents.ts";
import { approve, listApprovals } from "../../src/contract/approvals.ts";
import { updateCompany, viewCompany } from "../../src/contract/companies.ts";
import { readFile, viewLinks } from "../../src/contract/knowledge.ts";
import { boardInbox, sendMessage } from "../../src/contract/mail.ts";
import { listOutcomes } from "../../src/contract/outcomes.ts";
import { putProvider } from "../../src/contract/providers.ts";
import { setSecret } from "../../src/contract/secrets.ts";
import { listSessions } from "../../src/contract/sessions.ts";
import { type Conversation, lastResult, type Reply } from "../../src/testing/fake-model/conversation.ts";
import { always, use } from "../../src/testing/fake-model/script.ts";
import { startFakeModel } from "../../src/testing/fake-model/server.ts";
import { startDaemon, temporaryFolder } from "../support/daemon.ts";
import { claude, codex, pathWithPrograms } from "./support/adapters.ts";
import { answerOf, price, until } from "./support/stage.ts";

const keys = { chief: "sk-key-of-the-chief-0123456789", writer: "sk-key-of-the-writer-0123456789" };

test("a chief on Claude hires a writer on Codex; a person approves; the result reaches the board", async () => {
  const home = temporaryFolder("company");
  const model = await startFakeModel({ [keys.chief]: always(chief), [keys.writer]: always(writer) });
  const env = { PATH: pathWithPrograms(), AGENCY_ALLOW_UNSANDBOXED: "" };
  const daemon = await startDaemon({ home: home.path, env }).ready;
  try {
    const { board, companyId } = daemon;
    for (const [name, adapter] of [["chief", claude] as const, ["writer", codex] as const]) {
      const { dialect, model: defaultModel } = adapter;
      const secret = `KEY_OF_${name.toUpperCase()}`;
      await board.call(setSecret, { companyId, name: secret, value: keys[name] });
      const config = {
        dialect,
        baseUrl: model.url,
        secret,
        models: { [defaultModel]: { price } },
        defaultModel,
      };
      await board.call(putProvider, { companyId, name, config });
    }
    await board.call(updateCompany, {
      companyId,
      allowedAdapterTypes: [claude.type, codex.type],
      requireBoardApprovalForNewAgents: true,
    });
    const { rootAgentId } = await board.call(viewCompany, { companyId });
    await board.call(updateAgent, {
      id: rootAgentId,
      adapterType: claude.type,
      adapterConfig: { provider: "chief" },
    });
    await board.call(sendMessage, { companyId, body: "Please publish a guide about rivers." });
    const [approval] = await until(
      async () => {
        const { approvals } = await board.call(listApprovals, { companyId, status: "pending" });
        return approvals.length > 0 ? approvals : undefined;
      },
      60,
      async () => `nobody was hired: ${daemon.log()}`,
    );
    await board.call(approve, { id: approval?.id ?? "" });
    const report = await until(
      async () => {
        const { messages } = await board.call(boardInbox, { companyId });
        return messages.find(({ body }) => body?.startsWith("The guide is ready") === true);
      },
      120,
      async () =>
        JSON.stringify(
          (await board.call(listSessions, { companyId })).sessions.map(({ agent, endReason }) => [
            agent.name,
            endReason,
          ]),
        ),
    );
    const result = /kb:\/\/(\S+)/.exec(report.body ?? "")?.[1] ?? "";
    assert.match((await board.call(readFile, { id: result })).content, /Rivers flow down/);
    const { links } = await board.call(viewLinks, { id: report.file ?? result });
    assert.ok(links.every(({ state }) => state === "live"));
    const { agents } = await board.call(listAgents, { companyId });
    assert.deepEqual(
      await Promise.all(
        agents.map(async ({ id, role }) => [role, (await board.call(viewAgent, { id })).adapterType]),
      ),
      [
        ["CEO", claude.type],
        ["Writer", codex.type],
      ],
    );
    const { outcomes } = await board.call(listOutcomes, { companyId, limit: 100 });
    assert.equal(outcomes.find(({ title }) => title === "A guide about rivers")?.status, "completed");
    await until(
      async () =>
        (await board.call(listSessions, { companyId, live: true })).sessions.length === 0 ? true : undefined,
      60,
      async () => "a session is still running",
    );
    const { sessions } = await board.call(listSessions, { companyId });
    assert.ok(
      sessions.every(({ exitCode, summarized }) => exitCode === 0 && summarized),
      JSON.stringify(sessions),
    );
    model.check();
    assert.equal(daemon.log(), "");
  } finally {
    await daemon.stop();
    await model.stop();
    home.remove();
  }
});

/** The calls that the model made in this conversation, by their short names. */
const madeBy = ({ entries }: Conversation) =>
  entries.flatMap((entry) =>
    entry.kind === "call"
      ? [{ tool: entry.tool.replace(/^.*(?:__|\.)/, ""), input: Object(entry.input) }]
      : [],
  );

function chief(conversation: Conversation): Reply {
  const made = madeBy(conversation);
  const did = (tool: string): boolean => made.some((call) => call.tool === tool);
  const next = (tool: string, input: Record<string, unknown> = {}): Reply => use(tool, input)(conversation);
  if (!did("read_inbox")) return next("read_inbox");
  const own = /outcome ([0-9a-f-]{36})/.exec(JSON.stringify(conversation.body))?.[1];
  const { messages } = answerOf(conversation, "read_inbox");
  const isAsked = JSON.stringify(messages).includes("Please publish");
  if (isAsked && !did("create_outcome"))
    return next("create_outcome", {
      title: "A guide about rivers",
      parents: [own],
      acceptance: "- the guide is a knowledge file",
    });
  if (isAsked && !did("delegate_outcome"))
    return next("delegate_outcome", {
      id: answerOf(conversation, "create_outcome").id,
      hire: {
        name: "Will",
        role: "Writer",
        adapterType: codex.type,
        adapterConfig: { provider: "writer" },
      },
    });
  if (!isAsked && !did("view_subtree")) return next("view_subtree", { id: own });
  const { outcomes = [] } = answerOf(conversation, "view_subtree");
  const submitted = outcomes.find(({ status }: { status: string }) => status === "submitted");
  if (submitted !== undefined && !did("view_outcome")) return next("view_outcome", { id: submitted.id });
  const file = /kb:\/\/([0-9a-f-]{36})/.exec(lastResult(conversation, "view_outcome") ?? "")?.[1];
  if (submitted !== undefined && !did("read_file")) return next("read_file", { id: file });
  if (submitted !== undefined && !did("complete_outcome"))
    return next("complete_outcome", { id: submitted.id, note: `Checked: kb://${file}` });
  if (submitted !== undefined && !did("send_message"))
    return next("send_message", { to: "board", body: `The guide is ready: kb://${file}` });
  return rest(conversation, messages);
}

function writer(conversation: Conversation): Reply {
  const did = (tool: string): boolean => madeBy(conversation).some((call) => call.tool === tool);
  const next = (tool: string, input: Record<string, unknown> = {}): Reply => use(tool, input)(conversation);
  if (!did("read_inbox")) return next("read_inbox");
  if (!did("my_outcomes")) return next("my_outcomes", { status: "open" });
  const work = answerOf(conversation, "my_outcomes").outcomes.find(
    ({ kind, workable }: { kind: string; workable: boolean }) => kind === "work" && workable,
  );
  const text = "# Rivers\\n\\nRivers flow down.";
  if (work !== undefined && !did("exec_command"))
    return codex.shell(`printf '${text}\\n' > guide.md && grep -c Rivers guide.md`)(conversation);
  if (work !== undefined && !did("create_file"))
    return next("create_file", { description: "A guide about rivers", path: "guide.md" });
  const file = answerOf(conversation, "create_file").id;
  if (work !== undefined && !did("submit_outcome"))
    return next("submit_outcome", { id: work.id, note: `The guide is kb://${file}` });
  return rest(conversation, answerOf(conversation, "read_inbox").messages);
}

/** Acknowledges every message, submits the summary and ends. */
function rest(conversation: Conversation, messages: readonly { id: string }[]): Reply {
  const made = madeBy(conversation);
  const left = messages.find(
    ({ id }) => !made.some(({ tool, input }) => tool === "acknowledge_message" && input.id === id),
  );
  if (left !== undefined) return use("acknowledge_message", { id: left.id, result: "done" })(conversation);
  if (!made.some(({ tool }) => tool === "submit_summary"))
    return use("submit_summary", { summary: "Everything that was asked for is done." })(conversation);
  return { text: "Done." };
}
