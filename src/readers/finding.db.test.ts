// The questions of a dashboard about a whole company: lists with filters and totals, the graph, counts, several whys at once,
// one search over everything, one page of an agent, and the events as sentences.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  agentStatuses,
  listAgents,
  pauseAgent,
  setPermissions,
  terminateAgent,
  viewAgent,
} from "../contract/agents.ts";
import { listApprovals } from "../contract/approvals.ts";
import { viewAttention } from "../contract/attention.ts";
import { setBudget } from "../contract/budgets.ts";
import { listShortIds, search, viewCounts, viewGraph, whyMany } from "../contract/finding.ts";
import { createGoal, listGoals } from "../contract/goals.ts";
import { listCompanies, updateCompany } from "../contract/companies.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { hireAgent } from "../contract/hiring.ts";
import { createFile, deleteFile, listFiles } from "../contract/knowledge.ts";
import { listAgentEvents, listEvents } from "../contract/ledger.ts";
import { sendMessage } from "../contract/mail.ts";
import { listSessions } from "../contract/sessions.ts";
import { createPerson } from "../contract/people.ts";
import { operations } from "../contract/operation-table.ts";
import * as outcomes from "../contract/outcomes.ts";
import { why } from "../contract/why.ts";
import { bothStores, refusal, sharedOrganization } from "../testing/organization.ts";
import { hasDeed } from "./deeds.ts";

for (const kind of bothStores)
  describe(`finding on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind, { fast: true });
    const { board, companyId } = org;
    const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id).toSorted();

    test("the list of outcomes is filtered by owner, kind, block, words and status, with totals", async () => {
      const ada = await org.agent("Ada Lovelace");
      const made = async (title: string) =>
        (await ada.call(outcomes.createOutcome, { title, parents: [ada.id] })).id;
      const one = await made("Alpine guide");
      const two = await made("Alpine map");
      const three = await made("Sea chart");
      await ada.call(outcomes.updateOutcome, { id: two, blocked: { reason: "no paper" } });
      await ada.call(outcomes.completeOutcome, { id: three });
      const list = (input: object) => board(outcomes.listOutcomes, { companyId, ...input });

      const own = await list({ owner: "ada-lovelace", kind: "work" });
      assert.deepEqual(ids(own.outcomes), [one, two, three].toSorted());
      assert.deepEqual(own.totals, { total: 3, open: 2, submitted: 0, completed: 1, closed: 0, blocked: 1 });
      assert.deepEqual(ids((await list({ owner: ada.id, blocked: true })).outcomes), [two]);
      // Ended outcomes must not take places on the page of live ones.
      const live = await list({ owner: ada.id, kind: "work", live: true, limit: 2 });
      assert.deepEqual([ids(live.outcomes), live.nextCursor], [[one, two].toSorted(), null]);
      assert.deepEqual(live.totals, own.totals);
      assert.equal(ids((await list({ owner: ada.id, blocked: false })).outcomes).includes(two), false);
      const named = await list({ text: "alpi", status: "open", limit: 1 });
      assert.deepEqual([ids(named.outcomes), named.totals.open], [[two], 2]);
      const rest = await list({ text: "alpi", status: "open", limit: 1, cursor: named.nextCursor });
      assert.deepEqual([ids(rest.outcomes), rest.nextCursor], [[one], null]);
      assert.deepEqual(ids((await list({ text: "alpine ma" })).outcomes), [two]);
      assert.deepEqual((await list({ text: "%" })).outcomes, []);
      await refusal(list({ owner: "no one at all" }), "not_found");
      const goal = await board(createGoal, { companyId, title: "A goal" });
      const goals = await board(listGoals, { companyId });
      assert.deepEqual([ids(goals.outcomes), goals.totals.total], [[goal.id], 1]);
    });

    test("the graph has both kinds of edges, and the subtree the dependencies of its outcomes", async () => {
      const eve = await org.agent("Eve");
      const first = await eve.call(outcomes.createOutcome, { title: "First", parents: [eve.id] });
      const second = await eve.call(outcomes.createOutcome, { title: "Second", parents: [first.id] });
      const elsewhere = await org.outcome("Elsewhere");
      await board(outcomes.updateOutcome, { id: second.id, dependsOn: [elsewhere] });
      const graph = await board(viewGraph, { companyId });
      const node = graph.outcomes.find(({ id }) => id === second.id);
      assert.deepEqual(node, {
        id: second.id,
        title: "Second",
        status: "open",
        kind: "work",
        blocked: false,
        responsible: { id: eve.id, name: "Eve" },
        createdAt: (await board(outcomes.viewOutcome, { id: second.id })).createdAt,
      });
      assert.ok(graph.edges.some(({ parent, child }) => parent === first.id && child === second.id));
      assert.ok(
        graph.dependencies.some(({ outcome, dependsOn }) => outcome === second.id && dependsOn === elsewhere),
      );
      const subtree = await eve.call(outcomes.viewSubtree, { id: first.id });
      assert.deepEqual(subtree.outcomes.at(-1)?.dependsOn, [elsewhere]);
      await eve.call(outcomes.closeOutcome, { id: second.id, rationale: "no" });
      const live = await board(viewGraph, { companyId, live: true });
      assert.equal(ids(live.outcomes).includes(second.id), false);
      const cut = await board(viewGraph, { companyId, limit: 1 });
      assert.deepEqual([cut.outcomes.length, cut.edges, cut.truncated], [1, [], true]);
    });

    test("`why` gives the same answers for several things as for each, and leaves out those the caller may not ask about", async () => {
      const mia = await org.agent("Mia");
      const job = (await mia.call(outcomes.createOutcome, { title: "Job", parents: [mia.id] })).id;
      const hidden = await org.outcome("Hidden from Mia");
      const done = (await mia.call(outcomes.createOutcome, { title: "Done", parents: [mia.id] })).id;
      await mia.call(outcomes.completeOutcome, { id: done });
      const other = await org.another();
      const asked = [job, mia.id, done, hidden, other.rootId];
      const { answers, missing } = await board(whyMany, { ids: asked.join(",") });
      assert.deepEqual([answers.map(({ id }) => id), missing], [asked.slice(0, 4), [other.rootId]]);
      for (const answer of answers) assert.deepEqual(answer, await board(why, { id: answer.id }));
      const own = await mia.call(whyMany, { ids: asked });
      assert.deepEqual(
        [own.answers.map(({ id }) => id), own.missing],
        [
          [job, mia.id, done],
          [hidden, other.rootId],
        ],
      );
      // A hidden thing and a missing one look the same, even as the first id.
      for (const first of [other.rootId, hidden, randomUUID()])
        assert.deepEqual(await mia.call(whyMany, { ids: [first] }), { answers: [], missing: [first] });
      await refusal(board(whyMany, { ids: [] }), "invalid");
      await refusal(board(whyMany, { ids: Array.from({ length: 101 }, () => job) }), "invalid");
    });

    test("short ids are translated both ways, never change, and are only for people who see everything", async () => {
      const ken = await org.agent("Ken of short ids");
      const first = (await ken.call(outcomes.createOutcome, { title: "First", parents: [ken.id] })).id;
      const second = (await ken.call(outcomes.createOutcome, { title: "Second", parents: [ken.id] })).id;
      const file = (await board(createFile, { companyId, description: "Notes", content: "x" })).id;
      const asked = await board(listShortIds, {
        ids: [first, second, file, ken.id, companyId, randomUUID()],
      });
      const short = new Map(asked.found.map((one) => [one.id, one.short]));
      assert.equal(asked.found.length, 5);
      assert.match(short.get(first) ?? "", /^O\d+$/);
      assert.match(short.get(file) ?? "", /^F\d+$/);
      assert.notEqual(short.get(first), short.get(second));
      assert.equal(short.get(ken.id), "ken-of-short-ids");
      await ken.call(outcomes.completeOutcome, { id: first });
      const back = await board(listShortIds, {
        ids: `${short.get(first) ?? ""},${(short.get(file) ?? "").toLowerCase()},O999999,Z1,O99999999999999999999`,
      });
      assert.deepEqual(ids(back.found), [first, file].toSorted());
      assert.ok(back.found.every((one) => one.companyId === companyId && short.get(one.id) === one.short));
      await refusal(ken.call(listShortIds, { ids: [first] }), "forbidden");
      await refusal(board(listShortIds, { ids: [] }), "invalid");
    });

    test("the counts are those of the lists", async () => {
      const counts = await board(viewCounts, { companyId });
      assert.equal(counts.attention, (await board(viewAttention, { companyId })).total);
      const { totals } = await board(outcomes.listOutcomes, { companyId });
      assert.deepEqual(counts.outcomes, {
        open: totals.open,
        submitted: totals.submitted,
        blocked: totals.blocked,
        all: totals.total,
      });
      const noa = await org.agent("Noa");
      await org.session(noa.id);
      const later = await board(viewCounts, { companyId });
      assert.equal(later.agents.employed, counts.agents.employed + 1);
      assert.deepEqual([later.agents.running, later.working[0]?.agent.name], [1, "Noa"]);
      await board(terminateAgent, { id: noa.id });
    });

    test("the list of companies has their health for people who see all of them, and only when they ask", async () => {
      const own = async (call: typeof board, input: { health?: boolean }) =>
        (await call(listCompanies, { ...input, limit: 1000 })).companies.find(({ id }) => id === companyId);
      const { health, attention } = (await own(board, { health: true })) ?? {};
      const seen = await board(viewAttention, { companyId });
      assert.deepEqual([health, attention], [seen.health, seen.total]);
      assert.ok(Object.values(seen.health).some((count) => count > 0));
      assert.equal((await own(board, {}))?.health, undefined);
      const una = await org.agent("Una who lists");
      const hers = await own(una.call, { health: true });
      assert.deepEqual([hers?.id, hers?.health, hers?.attention], [companyId, undefined, undefined]);
    });

    test("lists count the entries on all their pages, with every filter", async () => {
      const lou = await org.agent("Lou");
      const [pat, far] = [await org.agent("Pat", lou.id), await org.agent("Far")];
      for (const { id } of [pat, far]) await org.session(id);
      for (const word of ["one", "two", "three"])
        await pat.call(createFile, { description: `Ledger ${word}`, content: word });
      await board(deleteFile, {
        id: (await pat.call(createFile, { description: "Ledger four", content: "4" })).id,
      });
      const agree = async <T>(
        list: (page: { limit: number; cursor?: string }) => Promise<{
          rows: readonly T[];
          count: number | undefined;
          nextCursor: string | null;
        }>,
      ): Promise<number> => {
        const all = await list({ limit: 1000 });
        assert.deepEqual([all.count, all.nextCursor], [all.rows.length, null]);
        const first = await list({ limit: 1 });
        const second = first.nextCursor === null ? first : await list({ limit: 1, cursor: first.nextCursor });
        assert.deepEqual([first.count, second.count], [all.count, all.count]);
        return all.rows.length;
      };
      for (const status of [undefined, ...agentStatuses])
        await agree(async (page) => {
          const { agents: rows, ...rest } = await board(listAgents, { companyId, status, ...page });
          return { rows, ...rest };
        });
      const files = (input: object) =>
        agree(async (page) => {
          const { files: rows, count, nextCursor } = await board(listFiles, { companyId, ...input, ...page });
          return { rows, count, nextCursor };
        });
      assert.equal(await files({ query: "ledger" }), 3);
      assert.equal(await files({ query: "ledger two", kind: "file" }), 1);
      assert.equal(await files({ query: "ledger", kind: "state" }), 0);
      assert.equal(await files({ query: "(" }), 0);
      await files({});
      // Counting the files that an agent may read would mean checking each of them.
      assert.equal("count" in (await pat.call(listFiles, {})), false);

      const sessions = (call: typeof board, input: object) =>
        agree(async (page) => {
          const { sessions: rows, ...rest } = await call(listSessions, { companyId, ...input, ...page });
          return { rows, ...rest };
        });
      assert.equal((await sessions(board, {})) >= 2, true);
      // A manager sees the sessions of its reports, including departed ones, and of no other agent.
      assert.equal(await sessions(lou.call, {}), 1);
      assert.equal(await sessions(lou.call, { live: true }), 1);
      assert.equal(await sessions(pat.call, {}), 1);
      await board(terminateAgent, { id: pat.id });
      assert.deepEqual([await sessions(lou.call, {}), await sessions(lou.call, { live: true })], [1, 0]);
      assert.deepEqual(
        (await lou.call(listSessions, {})).sessions.map(({ agent }) => agent.name),
        ["Pat"],
      );

      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      await board(setPermissions, { id: lou.id, canCreateAgents: true });
      for (const name of ["New one", "New two"]) await lou.call(hireAgent, { name, role: "clerk" });
      const approvals = (call: typeof board, input: object) =>
        agree(async (page) => {
          const { approvals: rows, ...rest } = await call(listApprovals, { companyId, ...input, ...page });
          return { rows, ...rest };
        });
      assert.equal(await approvals(lou.call, {}), 2);
      assert.equal(await approvals(board, { agent: lou.id, status: "pending", type: "hire_agent" }), 2);
      assert.equal(await approvals(far.call, {}), 0);
    });

    test("one search finds everything by the beginnings of words, and only what the caller may see", async () => {
      const zoe = await org.agent("Zoe Quill");
      const max = await org.agent("Max", zoe.id);
      await zoe.call(outcomes.createOutcome, { title: "Quill sharpened", parents: [zoe.id] });
      await zoe.call(createFile, { description: "Quill manual", content: "ink" });
      await zoe.call(sendMessage, { to: max.id, body: "Quill news" });
      const found = async (call: typeof board, q: string) =>
        (await call(search, { companyId, q })).groups.map(({ kind: each, found: list }) => [
          each,
          list.map(({ title }) => title),
        ]);
      assert.deepEqual(await found(board, "qui"), [
        ["agent", ["Zoe Quill"]],
        ["outcome", ["Quill sharpened", "Zoe Quill: worker"]],
        ["file", ["Quill manual", "State document of Zoe Quill"]],
        ["message", ["Quill news"]],
      ]);
      assert.deepEqual(await found(max.call, "qui"), [
        ["agent", ["Zoe Quill"]],
        // The mandate that its own mandate serves.
        ["outcome", ["Zoe Quill: worker"]],
        ["message", ["Quill news"]],
      ]);
      assert.deepEqual(await found(board, "quill zo"), [
        ["agent", ["Zoe Quill"]],
        ["outcome", ["Zoe Quill: worker"]],
        ["file", ["State document of Zoe Quill"]],
      ]);
      assert.deepEqual(await found(board, "* ("), []);
      // Only people find sessions and people.
      const session = await org.session(max.id);
      const [sessions] = (await board(search, { companyId, q: "max", kind: "session" })).groups;
      assert.deepEqual(
        sessions?.found.map(({ id, title }) => [id, title]),
        [[session.id, "Session of Max"]],
      );
      assert.deepEqual((await max.call(search, { companyId, q: "max", kind: "session" })).groups, []);
      await board(createPerson, { name: `Quentin ${kind}` });
      assert.deepEqual(await found(board, "quent"), [["person", [`Quentin ${kind}`]]]);
      assert.deepEqual(await found(zoe.call, "quent"), []);
      const [only] = (await board(search, { companyId, q: "quill", kind: "file", limit: 1 })).groups;
      assert.deepEqual([only?.found.length, only?.truncated], [1, true]);
    });

    test("a message is found by those who sent or got it, with only the names of its sender and receiver", async () => {
      const uma = await org.agent("Uma");
      const [vic, wes, xia] = [
        await org.agent("Vic", uma.id),
        await org.agent("Wes", uma.id),
        await org.agent("Xia", uma.id),
      ];
      // The same text in three messages: Wes must not learn that it was also sent to Vic before and to Xia after.
      const { file } = await uma.call(sendMessage, { to: vic.id, body: "Zebra count" });
      for (const { id } of [wes, xia]) await uma.call(sendMessage, { to: id, file });
      const details = async (call: typeof board) =>
        (await call(search, { companyId, q: "zebra" })).groups.flatMap(({ found }) =>
          found.map(({ detail }) => detail),
        );
      for (const { id, call } of [vic, wes, xia]) {
        const { name } = await board(viewAgent, { id });
        assert.deepEqual(await details(call), [`Uma to ${name}`]);
      }
      for (const call of [board, uma.call]) assert.deepEqual(await details(call), ["Uma to Xia"]);
      assert.deepEqual(await details(org.root), []);
    });

    test("the page of an agent shows work, costs, rights and pause to its manager and people", async () => {
      const boss = await org.agent("Ben");
      const rae = await org.agent("Rae", boss.id);
      await board(setPermissions, { id: rae.id, canCreateAgents: true });
      await board(setBudget, { id: rae.id, usd: 7 });
      await rae.call(outcomes.createOutcome, { title: "Task", parents: [rae.id] });
      await board(pauseAgent, { id: rae.id, reason: "A look at the costs" });
      const page = await board(viewAgent, { id: rae.id });
      assert.deepEqual(page.permissions, { canCreateAgents: true });
      assert.deepEqual([page.budget?.[0]?.limit, page.budget?.[0]?.left], [7, 7]);
      assert.equal(page.cost?.total.costUsd, 0);
      assert.deepEqual([page.work?.workable, page.work?.inbox], [0, 0]);
      assert.equal(page.says, "paused");
      assert.deepEqual([page.paused?.reason, page.paused?.by.kind], ["A look at the costs", "board"]);
      const seen = await boss.call(viewAgent, { id: rae.id });
      assert.deepEqual([seen.permissions, seen.work?.inbox], [{ canCreateAgents: true }, null]);
      const { call } = await org.agent("Another");
      const hidden = await call(viewAgent, { id: rae.id });
      assert.deepEqual(
        [hidden.permissions, hidden.budget, hidden.cost, hidden.work, hidden.paused, hidden.says],
        [null, null, null, null, null, ""],
      );
      const job = await boss.call(outcomes.createOutcome, { title: "Inherited", parents: [boss.id] });
      await boss.call(delegateOutcome, { id: job.id, to: rae.id });
      await board(terminateAgent, { id: rae.id, reason: "The project is finished." });
      const { left } = await board(viewAgent, { id: rae.id });
      assert.deepEqual(left?.successor, { id: boss.id, name: "Ben" });
      assert.equal(left.reason, "The project is finished.");
      assert.ok(left.tookOver.some((one) => one.id === job.id && one.title === "Inherited"));
      const told = (await call(viewAgent, { id: rae.id })).left;
      assert.deepEqual([told?.successor?.name, told?.reason, told?.tookOver], ["Ben", null, []]);
    });

    test("events come newest first, filtered by actor, operation, subject and time, as sentences with names", async () => {
      const kai = await org.agent("Kai");
      const { id } = await kai.call(outcomes.createOutcome, { title: "Told", parents: [kai.id] });
      await kai.call(outcomes.completeOutcome, { id });
      await refusal(kai.call(outcomes.viewOutcome, { id: org.companyId }), "not_found");
      const list = (input: object) => board(listEvents, { companyId, order: "newest", ...input });
      const said = async (input: object) => (await list(input)).events.map(({ says }) => says);
      assert.deepEqual(await said({ subject: id, operation: "outcome" }), [
        'Kai completed "Told".',
        'Kai created the outcome "Told".',
      ]);
      // Quotes in a title don't end the quotes around it.
      const asked = await kai.call(outcomes.createOutcome, { title: 'Ask "why" first', parents: [kai.id] });
      assert.deepEqual(await said({ subject: asked.id, operation: "outcome.create" }), [
        `Kai created the outcome "Ask 'why' first".`,
      ]);
      await kai.call(outcomes.closeOutcome, { id: asked.id, rationale: "asked" });
      await kai.call(outcomes.reopenOutcome, { id, reason: "more" });
      const [newest] = (await list({ actor: "kai", refused: false })).events;
      assert.deepEqual([newest?.by.agent?.name, newest?.about?.title], ["Kai", "Told"]);
      assert.match(
        (await said({ actor: "kai", refused: true }))[0] ?? "",
        /^Kai was refused outcome\.view: /,
      );
      const all = (await list({ limit: 1000 })).events;
      const page = await list({ limit: 3 });
      const next = await list({ limit: 3, cursor: page.nextCursor });
      assert.deepEqual(
        [...page.events, ...next.events].map(({ seq }) => seq),
        all.slice(0, 6).map(({ seq }) => seq),
      );
      const middle = all[Math.floor(all.length / 2)]?.at ?? "";
      assert.deepEqual(
        (await list({ from: middle, limit: 1000 })).events.map(({ seq }) => seq),
        all.filter(({ at }) => at >= middle).map(({ seq }) => seq),
      );
      assert.deepEqual(
        (await list({ to: middle, limit: 1000 })).events.map(({ seq }) => seq),
        all.filter(({ at }) => at < middle).map(({ seq }) => seq),
      );
      for (const { says } of [...all, ...(await board(listAgentEvents, { id: kai.id })).events])
        assert.doesNotMatch(says.replace(/was refused .*/, ""), /[0-9a-f]{8}-|\bdid [a-z_]+\./, says);
      await refusal(list({ actor: "no one at all" }), "not_found");
    });
  });

test("every event has a sentence, whether an operation or the program recorded it", () => {
  const recorded = operations.filter(({ effect }) => effect !== "read").map(({ name }) => name);
  const reads = new Set(operations.filter(({ effect }) => effect === "read").map(({ name }) => name));
  // A refusal is already a sentence.
  reads.add("access.refused");
  const src = join(import.meta.dirname, "..");
  const nouns = [...new Set([...operations.map(({ name }) => name.split(".")[0]), "access", "budget"])];
  const others = [...nouns, "growth", "ledger", "net"].join("|");
  const named = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter(
      (file) => file.endsWith(".ts") && !/test\.ts$|^(?:contract|cli|web|simulator|testing)\//.test(file),
    )
    .flatMap((file) => [
      ...readFileSync(join(src, file), "utf8").matchAll(
        new RegExp(`"((?:${others})\\.(?!json|mjs)[a-z_]+)"`, "g"),
      ),
    ])
    .map(([, name = ""]) => name);
  assert.ok(named.includes("approval.expire"));
  assert.deepEqual(
    [...new Set([...recorded, ...named])].filter((name) => !hasDeed(name) && !reads.has(name)),
    [],
  );
});
