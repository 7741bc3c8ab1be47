// `agency connect`: a person's own Claude Code and Codex get the tools of Agency, with the person's rights and a separate
// sign-in. The programs are real; only the model is played.
import { allowed } from "../../src/testing/allowed.ts";
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "../../src/client/client.ts";
import { listApprovals } from "../../src/contract/approvals.ts";
import { setBudget } from "../../src/contract/budgets.ts";
import { viewCompany } from "../../src/contract/companies.ts";
import { listGoals } from "../../src/contract/goals.ts";
import { listEvents } from "../../src/contract/ledger.ts";
import { createPerson, linkPerson, signOut, viewMe } from "../../src/contract/people.ts";
import { lastResult } from "../../src/testing/fake-model/conversation.ts";
import { always, type ModelScript, use } from "../../src/testing/fake-model/script.ts";
import { startFakeModel } from "../../src/testing/fake-model/server.ts";
import { agency, startDaemon, temporaryFolder } from "../support/daemon.ts";
import { pathWithPrograms } from "./support/adapters.ts";
import { answerOf } from "./support/stage.ts";

const key = "sk-key-of-the-person-0123456789";
const goal = "A guide to rivers is published";

interface Case {
  readonly program: "claude" | "codex";
  /** The command that answers one question with the person's own program. */
  readonly asks: (model: string) => { args: readonly string[]; env: Readonly<Record<string, string>> };
}

const cases: readonly Case[] = [
  {
    program: "claude",
    asks: (model) => ({
      args: [
        "-p",
        "Please give the goal, ask how it stands, and decide what it needs.",
        "--model",
        "claude-opus-4-5",
        "--allowedTools",
        "mcp__agency",
      ],
      env: { ANTHROPIC_BASE_URL: model, ANTHROPIC_AUTH_TOKEN: key, CLAUDE_CODE_MAX_RETRIES: "1" },
    }),
  },
  {
    program: "codex",
    asks: (model) => ({
      args: [
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "-m",
        "a-model",
        "-c",
        'model_provider="fake"',
        "-c",
        `model_providers.fake={name="fake",base_url="${model}/v1",env_key="FAKE",wire_api="responses"}`,
        // For its first question Codex waits a second or two for tools that are not required, and a busy machine is slower.
        "-c",
        "mcp_servers.agency={required=true,startup_timeout_sec=300}",
        "Please give the goal, ask how it stands, and decide what it needs.",
      ],
      env: { FAKE: key },
    }),
  },
];

/** Sets the goal, asks for its state, waits for the request that follows, decides it, and reports the answers. */
const script = (): ModelScript =>
  always((conversation) => {
    if (conversation.tools.length === 0) return { text: "A title" };
    const did = (tool: string): boolean => lastResult(conversation, tool) !== undefined;
    if (!did("give_goal")) return use("give_goal", { title: goal })(conversation);
    const { id } = answerOf(conversation, "give_goal");
    if (!did("why")) return use("why", { id })(conversation);
    const { items = [] } = answerOf(conversation, "view_attention");
    const request = items.find(({ kind }: { kind: string }) => kind === "approval");
    if (request === undefined) return { ...use("view_attention")(conversation), after: 300 };
    if (!did("approve_request")) return use("approve_request", { id: request.subject.id })(conversation);
    return { text: `Asked: ${answerOf(conversation, "why").says}` };
  });

for (const { program, asks } of cases)
  test(`${program}: connects once, the person gives a goal, asks and decides from there, and is disconnected for good`, async () => {
    const folder = temporaryFolder("connect");
    const userHome = join(folder.path, "user");
    mkdirSync(userHome);
    const home = join(folder.path, "home");
    const own = { PATH: pathWithPrograms(), HOME: userHome, CODEX_HOME: join(userHome, ".codex") };
    mkdirSync(own.CODEX_HOME);
    const options = { home, env: own };
    const model = await startFakeModel({ [key]: script() });
    const daemon = await startDaemon(options).ready;
    const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      new Promise<string>((resolve) => {
        const child = execFile(
          program,
          args,
          { env: { ...own, ...env }, cwd: userHome, timeout: allowed(60_000) },
          (error, out, err) => resolve(`${out}${err}${error?.message ?? ""}`),
        );
        child.stdin?.end();
      });
    const programs = async () =>
      (await daemon.board.call(viewMe, {})).signIns.filter(({ label }) => label.includes("connect"));
    try {
      for (let times = 0; times < 2; times++) {
        const { code, out, err } = await agency(["connect", program], options);
        assert.equal(code, 0, out + err);
        assert.match(out, new RegExp(`now has the tools of Agency.*agency connect ${program} --remove`, "s"));
      }
      assert.equal((await programs()).length, 1, "connecting again makes no second sign-in");
      const file = join(home, `connect-${program}.json`);
      const { token } = JSON.parse(readFileSync(file, "utf8"));
      assert.equal(statSync(file).mode & 0o077, 0);
      assert.notEqual(token, daemon.token);
      for (const entry of readdirSync(userHome, { recursive: true, withFileTypes: true }))
        if (entry.isFile())
          for (const secret of [token, daemon.token])
            assert.ok(!readFileSync(join(entry.parentPath, entry.name)).includes(secret), entry.name);
      assert.match(await run(["mcp", "list"]), /agency/);

      const { companyId, board } = daemon;
      const { rootAgentId } = await board.call(viewCompany, { companyId });
      // Without a budget, the goal leads to a request for a budget, which the person decides.
      await board.call(setBudget, { id: rootAgentId, sessions: 0 });
      const { args, env } = asks(model.url);
      const said = await run(args, env);
      const { outcomes } = await board.call(listGoals, { companyId });
      assert.deepEqual(
        outcomes.map(({ title }) => title),
        [goal],
        said,
      );
      const { person } = await board.call(viewMe, {});
      const { events } = await board.call(listEvents, { companyId, subject: outcomes[0]?.id });
      assert.ok(JSON.stringify(events[0]?.actor).includes(person.id), JSON.stringify(events[0]));
      assert.match(said, /Asked: \w+ .*\w/);
      // After the approval, the organization works and may ask for more.
      const { approvals } = await board.call(listApprovals, { companyId });
      const first = approvals.at(-1);
      assert.deepEqual([first?.type, first?.status], ["budget_override", "approved"], said);
      assert.ok(JSON.stringify(first?.decidedBy).includes(person.id), JSON.stringify(first));

      // The person ends the sign-in. From then on the program is refused.
      const [only] = await programs();
      await board.call(signOut, { id: only?.id });
      const client = createClient({ url: daemon.url, token });
      await assert.rejects(client.call(listGoals, { companyId }), /./);
      assert.equal((await agency(["connect", program], options)).code, 0);
      assert.equal((await programs()).length, 1, "it signs in again");

      const removed = await agency(["connect", program, "--remove"], options);
      assert.deepEqual([removed.code, (await programs()).length, existsSync(file)], [0, 0, false]);
      assert.doesNotMatch(await run(["mcp", "list"]), /^agency\b/m);
      assert.equal((await agency(["connect", program, "--remove"], options)).code, 0, "twice is fine");
    } finally {
      await daemon.stop();
      await model.stop();
      folder.remove();
    }
  });

test("a person who may only read connects with that right only", async () => {
  const folder = temporaryFolder("connect");
  const userHome = join(folder.path, "user");
  mkdirSync(userHome);
  const own = { PATH: pathWithPrograms(), HOME: userHome, CODEX_HOME: userHome };
  const daemon = await startDaemon({ home: join(folder.path, "home"), env: own }).ready;
  const viewer = { home: join(folder.path, "viewer"), env: { ...own, AGENCY_URL: daemon.url } };
  try {
    await daemon.board.call(createPerson, { name: "Vera", role: "viewer" });
    const { code } = await daemon.board.call(linkPerson, { id: "Vera" });
    assert.equal((await agency(["sign-in", `${daemon.url}/sign-in#${code}`], viewer)).code, 0);
    assert.match((await agency(["connect", "codex"], viewer)).out, /as Vera/);
    const { token } = JSON.parse(readFileSync(join(viewer.home, "connect-codex.json"), "utf8"));
    const client = createClient({ url: daemon.url, token });
    assert.equal((await client.call(viewMe, {})).role, "viewer");
  } finally {
    await daemon.stop();
    folder.remove();
  }
});
