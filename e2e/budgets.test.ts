import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { listApprovals } from "../src/contract/approvals.ts";
import { listCosts, setBudget } from "../src/contract/budgets.ts";
import { updateCompany, viewCompany } from "../src/contract/companies.ts";
import { createAgent } from "../src/contract/hiring.ts";
import { updateAgent, viewAgent } from "../src/contract/agents.ts";
import { createOutcome, updateOutcome } from "../src/contract/outcomes.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { invariants } from "../src/invariants/list.ts";
import { bothStores } from "../src/testing/organization.ts";
import { sampleOf } from "../src/testing/seeds.ts";
import { testDatabase } from "../src/testing/postgres.ts";
import { Arena } from "./support/arena.ts";
import { type BuiltDaemon, temporaryFolder } from "./support/daemon.ts";
import { sessionProcesses } from "./support/processes.ts";
import { postgresTables, sqliteTables, type Tables } from "./support/tables.ts";
import { allowed } from "../src/testing/allowed.ts";

// Real processes that spend as long as they can. Each repeats a step, a report and a pause.
const step = { tokens: 10, cents: 1 };
const spender = (pause: string, most = 1_000_000) => ({
  adapterType: "process",
  adapterConfig: {
    command: "/bin/sh",
    args: [
      "-c",
      `i=0; while [ $i -lt ${most} ]; do i=$((i+1));
         printf '{"usage":{"inputTokens":%d,"outputTokens":0,"costUsd":%d.%02d}}\\n' $((i*${step.tokens})) $((i/100)) $((i%100));
         sleep ${pause}; done; sleep 600`,
    ],
  },
});

/** Checked from outside, also while no daemon runs. */
const overdrawn = invariants.find(({ id }) => id === "budget-room")?.sql?.replaceAll("{here}", "1 = 1") ?? "";

interface Place {
  readonly arena: Arena;
  readonly tables: Tables;
}

async function withDaemon(kind: "sqlite" | "postgres", play: (place: Place) => Promise<void>): Promise<void> {
  const home = temporaryFolder("budgets");
  const database = kind === "postgres" ? await testDatabase() : undefined;
  const arena = new Arena({ home: home.path, databaseUrl: database?.url, env: { AGENCY_SANDBOX: "off" } });
  let tables: Tables | undefined;
  try {
    await arena.start();
    tables = database === undefined ? sqliteTables(home.path) : await postgresTables(database.url);
    await play({ arena, tables });
    assert.deepEqual(arena.failures, []);
    await arena.stop();
  } finally {
    await tables?.close();
    await arena.end();
    await database?.drop();
    home.remove();
  }
}

async function employ(
  { board, companyId }: BuiltDaemon,
  name: string,
  reportsTo: string,
  brain: object,
): Promise<string> {
  return (await board.call(createAgent, { companyId, name, role: "worker", reportsTo, ...brain })).id;
}

const number = (rows: readonly Readonly<Record<string, unknown>>[]): number => Number(rows[0]?.["n"] ?? 0);

for (const kind of sampleOf(bothStores, 1))
  describe(`budgets of real processes on ${kind}`, () => {
    test("fifty children of one parent never spend more than the parent's budget, even after kill -9", (t) =>
      withDaemon(kind, (place) => fiftyChildren(t, place)));

    test("a session that reaches its limit is stopped within 2 s of its report", (t) =>
      withDaemon(kind, ({ arena }) => stoppedInTime(t, arena)));
  });

async function fiftyChildren(t: TestContext, { arena, tables }: Place): Promise<void> {
  const { board, companyId, home } = arena.daemon;
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
  await board.call(updateCompany, {
    companyId,
    // No agent starts before all of them exist.
    maxSessions: 0,
    sessionBudget: { tokens: 4 * step.tokens, usd: (4 * step.cents) / 100 },
  });
  const parent = await employ(arena.daemon, "Parent", rootAgentId, { adapterType: "human" });
  const limit = 10_000;
  await board.call(setBudget, { id: parent, tokens: limit });
  for (let index = 0; index < 50; index++) {
    const id = await employ(arena.daemon, `Child ${index}`, parent, spender("0.3"));
    if (index < 10) await board.call(setBudget, { id, tokens: 200 });
    await board.call(createOutcome, { companyId, title: "spend", parents: [id] });
  }
  await board.call(updateCompany, { companyId, maxSessions: 60 });

  const broken = new Set<string>();
  let looks = 0;
  let mostAtOnce = 0;
  const look = async (): Promise<void> => {
    looks += 1;
    for (const { id } of await tables.ask(overdrawn)) broken.add(String(id));
    const live = number(await tables.ask("select count(*) as n from sessions where ended_at is null"));
    mostAtOnce = Math.max(mostAtOnce, live);
  };
  const lookFor = async (milliseconds: number): Promise<void> => {
    for (const end = performance.now() + milliseconds; performance.now() < end; await sleep(40)) await look();
  };
  let kills = 0;
  let reported = 0;
  for (; kills < 4; kills++) {
    await lookFor(1500);
    // On a busy machine it takes longer until enough children spend at the same time.
    for (let more = 0; mostAtOnce <= 10 && more < 20; more++) await lookFor(1000);
    const before = number(await tables.ask("select sum(input_tokens) as n from sessions"));
    await arena.kill();
    await look();
    // No recorded usage is lost, and the next daemon continues from there.
    reported = number(await tables.ask("select sum(input_tokens) as n from sessions"));
    assert.ok(reported >= before);
    await arena.start();
  }
  const budgetOfParent = async () => {
    const { budget, total } = await arena.daemon.board.call(listCosts, { companyId, agent: parent });
    return { own: budget.find(({ measure }) => measure === "tokens"), total };
  };
  const start = performance.now();
  // Everything is spent. A moment without sessions proves nothing, because the next ones may only be slow to start.
  for (let calm = 0; calm < 3; await lookFor(300)) {
    const { own } = await budgetOfParent();
    assert.ok(
      performance.now() - start < allowed(300_000),
      `it does not come to rest: ${JSON.stringify(own)}`,
    );
    const { sessions } = await arena.daemon.board.call(listSessions, { companyId, live: true });
    const blocked = number(
      await tables.ask(
        "select count(*) as n from outcomes where title = 'spend' and blocked_reason is not null",
      ),
    );
    // An agent whose sessions made no progress three times is blocked, and does not work either.
    if (blocked > 0) await unblock(arena.daemon, tables);
    calm = sessions.length === 0 && own?.left === 0 && own.reserved === 0 ? calm + 1 : 0;
  }
  assert.deepEqual([...broken], []);
  const { own, total } = await budgetOfParent();
  assert.deepEqual([own?.limit, own?.reserved, own?.left], [limit, 0, 0]);
  const beyond = total.inputTokens - limit;
  const paidAbove = number(
    await tables.ask(`select amount as n from charges where pool_id = '${companyId}' and measure = 'tokens'`),
  );
  t.diagnostic(
    `${kills} kills, ${looks} looks, ${mostAtOnce} sessions at once; ${total.inputTokens} tokens used of ${limit}, ` +
      `${beyond} of them in last reports, ${total.sessions} sessions`,
  );
  // Usage beyond every limit in a session's last report was spent nevertheless, so the company's account pays for it.
  assert.equal(beyond, paidAbove);
  // A process that has used its share is suspended. By then it has printed at most one or two more steps.
  assert.ok(beyond <= 50 * step.tokens, `${beyond} were spent beyond the limit`);
  assert.equal(total.inputTokens, number(await tables.ask("select sum(input_tokens) as n from sessions")));
  assert.ok(mostAtOnce > 10, "there was something to go wrong");
  assert.deepEqual(sessionProcesses(home), []);
  const { approvals } = await arena.daemon.board.call(listApprovals, {
    companyId,
    status: "pending",
    limit: 1000,
  });
  const pools = approvals.map(({ payload }) => payload["pool"]);
  assert.equal(new Set(pools).size, pools.length, "one request for each budget");
  assert.ok(pools.includes(parent));
}

/** Unblocks the outcomes. Three sessions without progress block an outcome, but these sessions exist only to spend. */
async function unblock({ board }: BuiltDaemon, tables: Tables): Promise<void> {
  for (const { id } of await tables.ask(
    "select id from outcomes where title = 'spend' and blocked_reason is not null",
  ))
    await board.call(updateOutcome, { id: String(id), blocked: null });
}

async function stoppedInTime(t: TestContext, arena: Arena): Promise<void> {
  const { daemon } = arena;
  const { board, companyId, home } = daemon;
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateAgent, { id: rootAgentId, adapterType: "human" });
  await board.call(updateCompany, { companyId, maxSessions: 20 });
  const agents: string[] = [];
  for (let index = 0; index < 10; index++) {
    const id = await employ(daemon, `Spender ${index}`, rootAgentId, spender("0.2", 5 + index));
    // Its last report says that everything is used. It would then run for ten more minutes.
    await board.call(setBudget, { id, usd: ((5 + index) * step.cents) / 100 });
    await board.call(createOutcome, { companyId, title: "spend", parents: [id] });
    agents.push(id);
  }
  const reachedAt = new Map<string, number>();
  let slowest = 0;
  for (const start = performance.now(); ; await sleep(40)) {
    assert.ok(performance.now() - start < allowed(180_000), "the sessions were not stopped");
    const { sessions } = await board.call(listSessions, { companyId, limit: 1000 });
    const alive = new Set(sessionProcesses(home).map(({ sessionId }) => sessionId));
    const now = performance.now();
    for (const { id, agent, usage } of sessions) {
      const most = ((5 + agents.indexOf(agent.id)) * step.cents) / 100;
      if (usage.costUsd >= most && !reachedAt.has(id)) reachedAt.set(id, now);
      const since = reachedAt.get(id);
      if (since !== undefined && alive.has(id)) {
        slowest = Math.max(slowest, now - since);
        assert.ok(
          now - since < allowed(2000),
          `${agent.name} lives ${Math.round(now - since)} ms after its report`,
        );
      }
    }
    if (reachedAt.size === agents.length && alive.size === 0) break;
  }
  t.diagnostic(
    `${agents.length} sessions stopped, the last seen alive ${Math.round(slowest)} ms after its report`,
  );
  for (const id of agents) assert.equal((await board.call(viewAgent, { id })).status, "paused");
  const { total } = await board.call(listCosts, { companyId });
  assert.equal(total.costUsd, agents.reduce((sum, _, index) => sum + 5 + index, 0) / 100);
}
