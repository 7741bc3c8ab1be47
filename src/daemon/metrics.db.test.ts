import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../client/client.ts";
import { createKey, pauseAgent, viewAgent } from "../contract/agents.ts";
import { createCompany } from "../contract/companies.ts";
import { createAgent } from "../contract/hiring.ts";
import { measureInstallation } from "../contract/installation.ts";
import { createOutcome, updateOutcome } from "../contract/outcomes.ts";
import { createPerson, signIn } from "../contract/people.ts";
import { openTestStore, refusal, storeKinds } from "../testing/organization.ts";
import { sharedDaemon } from "../testing/daemons.ts";
import { keepMetrics } from "./metrics.ts";

/** One line of the text format, and the names that a reader takes from it. */
const sample =
  /^(?<name>[a-z_]+)(?:\{(?<labels>(?:[a-z]+="[\w.+]+",?)+)\})? (?<value>\d+(?:\.\d+)?(?:e-\d+)?)$/;

for (const kind of storeKinds)
  describe(`metrics on ${kind}`, async () => {
    const daemon = await sharedDaemon(kind);
    const as = (token: string | undefined) => createClient({ url: daemon.url, token });
    const scrape = async (token = daemon.token) => {
      const answer = await fetch(new URL("/metrics", daemon.url), {
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-type"), "text/plain; charset=utf-8");
      const text = await answer.text();
      const values = new Map<string, number>();
      const described = new Set<string>();
      for (const line of text.trimEnd().split("\n")) {
        const about = /^# (?:HELP ([a-z_]+) .+\.|TYPE ([a-z_]+) (?:gauge|counter|histogram))$/.exec(line);
        described.add(about?.[1] ?? about?.[2] ?? "");
        if (about !== null) continue;
        const { name = "", labels = "", value = "" } = sample.exec(line)?.groups ?? {};
        assert.ok(described.has(name.replace(/_(?:bucket|sum|count)$/, "")), line);
        assert.ok(!values.has(`${name}{${labels}}`), `twice: ${line}`);
        values.set(`${name}{${labels}}`, Number(value));
      }
      return { text, of: (name: string) => values.get(name) ?? values.get(`${name}{}`) };
    };

    test("count companies, agents, outcomes and calls", async () => {
      const board = as(daemon.token);
      const word = "Zebra sk-ant-api03-abcdefghijklmnop";
      const company = await board.call(createCompany, { name: word });
      const companyId = company.id;
      const { id } = await board.call(createAgent, { companyId, name: "Gnu", role: "x" });
      await board.call(pauseAgent, { id });
      const parents = [company.rootOutcomeId];
      const before = await scrape();
      const outcome = await board.call(createOutcome, { companyId, title: word, parents });
      await board.call(updateOutcome, { id: outcome.id, blocked: { reason: "rest" } });
      await refusal(board.call(viewAgent, { id: crypto.randomUUID() }), "not_found");
      const after = await scrape();
      const growth = (name: string) => (after.of(name) ?? 0) - (before.of(name) ?? 0);
      assert.equal(after.of("agency_companies"), 1);
      assert.equal(after.of('agency_agents{state="paused"}'), 1);
      const blocked = 'agency_outcomes{state="blocked"}';
      assert.deepEqual([before.of(blocked), after.of(blocked)], [0, 1]);
      assert.ok(growth("agency_commits_total") >= 2);
      const created = 'operation="outcome.create",code="ok"';
      assert.equal(growth(`agency_call_seconds_count{${created}}`), 1);
      assert.equal(growth(`agency_call_seconds_bucket{${created},le="+Inf"}`), 1);
      assert.equal(growth('agency_call_seconds_count{operation="agent.view",code="not_found"}'), 1);
      assert.ok((after.of("process_resident_memory_bytes") ?? 0) > 1e7);
      // The figures contain no word of a person.
      assert.doesNotMatch(after.text, /Zebra|Gnu|sk-ant/);
    });

    test("are shown to people who govern or watch, and to no agent", async () => {
      const board = as(daemon.token);
      const { id: companyId, rootAgentId } = await board.call(createCompany, { name: "Second" });
      const { key } = await board.call(createKey, { id: rootAgentId });
      await refusal(as(key).call(measureInstallation, {}), "forbidden");
      await refusal(as(undefined).call(measureInstallation, {}), "unauthenticated");
      await refusal(as("nonsense").call(measureInstallation, {}), "unauthenticated");
      const { signIn: link } = await board.call(createPerson, { name: "Prometheus", role: "viewer" });
      const { token } = await as(undefined).call(signIn, { code: link.code, kind: "program" });
      assert.ok((await scrape(token)).text.includes("agency_info"));
      const member = await board.call(createPerson, { name: "Mona", role: "member" });
      const seat = { companyId, name: "Seat", role: "x", adapterType: "human", person: member.id };
      await board.call(createAgent, seat);
      const mona = await as(undefined).call(signIn, { code: member.signIn.code, kind: "program" });
      await refusal(as(mona.token).call(measureInstallation, {}), "forbidden");
    });
  });

test("two readers get the same measurements of the event loop", async () => {
  const { store, close } = await openTestStore("sqlite");
  const metrics = keepMetrics(store);
  try {
    for (let round = 0; round < 5; round++) {
      await sleep(30);
      for (const from = performance.now(); performance.now() - from < 150;) continue;
    }
    await sleep(30);
    const late = () =>
      metrics.readings([]).families.find(({ name }) => name === "agency_event_loop_delay_seconds")?.samples[0]
        ?.value ?? 0;
    const [first, second] = [late(), late()];
    assert.ok(first > 0.1, `${first}`);
    assert.ok(second >= first);
    assert.match(metrics.text([]), /^agency_event_loop_delay_seconds 0\.[1-9]/m);
  } finally {
    metrics.stop();
    await close();
  }
});
