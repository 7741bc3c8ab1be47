import assert from "node:assert/strict";
import { createFile } from "../contract/knowledge.ts";
import { describe, test } from "node:test";
import { pauseAgent, resumeAgent, setPermissions, terminateAgent, updateAgent } from "../contract/agents.ts";
import { type AttentionItem, attentionKinds, viewAttention } from "../contract/attention.ts";
import { type Measure, setBudget } from "../contract/budgets.ts";
import { requestPermission } from "../contract/capabilities.ts";
import { approve, reject, requestRevision } from "../contract/approvals.ts";
import { updateCompany } from "../contract/companies.ts";
import { hireAgent } from "../contract/hiring.ts";
import { boardInbox, sendDeferredMessage, sendMessage } from "../contract/mail.ts";
import { operations } from "../contract/operation-table.ts";
import {
  closeOutcome,
  createOutcome,
  listOutcomes,
  type OutcomeState,
  submitOutcome,
  updateOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome, decideOutcome } from "../contract/delegation.ts";
import { why } from "../contract/why.ts";
import { createPerson, signIn } from "../contract/people.ts";
import { createCore } from "../daemon/core.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { query } from "../store/query.ts";
import type { Store } from "../store/store.ts";
import { type Organization, refusal, storeKinds } from "../testing/organization.ts";
import { onStage, type Stage } from "../testing/stage.ts";

for (const kind of storeKinds)
  describe(`the attention list on ${kind}`, () => {
    const staged = (name: string, play: (stage: Stage) => Promise<void>): void => {
      test(name, () => onStage(kind, play));
    };
    const look = ({ board, companyId }: Organization) => board(viewAttention, { companyId });

    /**
     * Checks that the health agrees with `why` for every open outcome, and that an item holds up each outcome that does not
     * move by itself.
     */
    async function demandAgreement(org: Organization): Promise<Record<OutcomeState, number>> {
      const { companyId, board } = org;
      const { outcomes } = await board(listOutcomes, { companyId, limit: 1000 });
      const states = { moving: 0, scheduled: 0, waiting: 0, stuck: 0 };
      for (const { id, status } of outcomes)
        if (status === "open" || status === "submitted") states[(await board(why, { id })).state]++;
      const { health, items, counts, total } = await look(org);
      const { waiting: waitingForYou, ...rest } = states;
      assert.deepEqual(health, { ...rest, waitingForYou });
      if (states.stuck + states.waiting > 0) assert.ok(items.length > 0);
      assert.equal(
        total,
        Object.values(counts).reduce((sum, count) => sum + count, 0),
      );
      for (const each of attentionKinds)
        assert.equal(items.filter((item) => item.kind === each).length, counts[each], each);
      return states;
    }

    /** Makes the first call that settles an item. */
    async function settle(org: Organization, item: AttentionItem | undefined, more: object = {}, nth = 0) {
      const ability = item?.abilities[nth];
      assert.ok(ability !== undefined, JSON.stringify(item));
      assert.deepEqual(ability.asks, Object.keys(more), "what a person has to add");
      const operation = operations.find(({ name }) => name === ability.name);
      assert.ok(operation !== undefined);
      const names = operation.http.path.split("/");
      const given = ability.path.split("/");
      const params = names.flatMap((name, index) =>
        name.startsWith(":") ? [[name.slice(1), decodeURIComponent(given[index] ?? "")]] : [],
      );
      await org.board(operation, { ...Object.fromEntries(params), ...ability.body, ...more });
    }
    const only = async (org: Organization): Promise<AttentionItem | undefined> => {
      const { items } = await look(org);
      assert.equal(items.length, 1, JSON.stringify(items));
      await demandAgreement(org);
      return items[0];
    };
    const nothingLeft = async (org: Organization): Promise<void> => {
      const { items } = await look(org);
      assert.deepEqual(items, []);
      await demandAgreement(org);
    };

    staged(
      "an outcome's items are those it waits for and requests made during work on it",
      async ({ org }) => {
        const { board, companyId } = org;
        const of = async (outcome: string) =>
          (await board(viewAttention, { companyId, outcome })).items.map(
            ({ kind, title }) => `${kind} ${title}`,
          );
        const ida = await org.agent("Ida");
        const one = await ida.call(createOutcome, { title: "One", parents: [ida.id] });
        const part = await ida.call(createOutcome, { title: "Part", parents: [one.id] });
        const two = await ida.call(createOutcome, { title: "Two", parents: [ida.id] });
        await ida.call(updateOutcome, { id: part.id, blocked: { reason: "no paper" } });
        assert.equal((await of(one.id)).length, 1);
        assert.deepEqual(await of(one.id), await of(part.id));
        assert.deepEqual(await of(two.id), []);
        assert.equal((await board(viewAttention, { companyId, outcome: two.id })).total, 0);
      },
    );

    staged("the list comes in pages without a gap, in its order", async ({ org }) => {
      const { board, companyId } = org;
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      for (const name of ["Ada", "Bea", "Cid", "Dan", "Eva"])
        await org.root(hireAgent, { companyId, name, role: "writer" });
      const whole = await look(org);
      assert.equal(whole.nextCursor, null);
      const seen: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await board(viewAttention, {
          companyId,
          kind: "approval",
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        });
        assert.deepEqual([page.total, page.pressing], [5, 5]);
        seen.push(...page.items.map(({ title }) => title));
        cursor = page.nextCursor;
      }
      assert.deepEqual(
        seen,
        whole.items.map(({ title }) => title),
      );
      assert.equal(seen.length, 5);
      await refusal(board(viewAttention, { companyId, cursor: "the second page" }), "invalid");
    });

    staged("an item that is settled between two pages takes no other item with it", async ({ org }) => {
      const { board, companyId } = org;
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      for (const name of ["Ada", "Bea", "Cid", "Dan", "Eva", "Fay"])
        await org.root(hireAgent, { companyId, name, role: "writer" });
      const all = (await look(org)).items.map(({ title }) => title);
      assert.equal(all.length, 6);
      const first = await board(viewAttention, { companyId, limit: 2 });
      const [settled, last] = first.items;
      // Both items are gone, including the one at the end of the page.
      for (const one of [settled, last]) await board(approve, { id: one?.subject.id ?? "" });
      const rest = await board(viewAttention, { companyId, cursor: first.nextCursor ?? "" });
      assert.deepEqual(
        rest.items.map(({ title }) => title),
        all.slice(2),
      );
      for (const cursor of ["2", "1 - -", "1 - x a", "a - - a", "-1 - - a"])
        await refusal(board(viewAttention, { companyId, cursor }), "invalid");
    });

    staged("items that differ only in their names come in pages without a gap", async ({ org, store }) => {
      const { board, companyId } = org;
      const names = ["Ida", "Jo"];
      for (const name of names) {
        const { id } = await org.agent(name);
        await board(setBudget, { id, usd: 10, tokens: 10, sessions: 10 });
        await store.write(async (tx) => {
          const month = new Date(tx.now).toISOString().slice(0, 7);
          for (const [measure, amount] of [
            ["usd", 9_000_000],
            ["tokens", 9],
            ["sessions", 9],
          ] as const)
            await tx.run(spendOf, { id, month, measure, amount });
        });
      }
      const all = (await look(org)).items.map(({ title }) => title);
      assert.equal(all.length, 6);
      const seen: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await board(viewAttention, { companyId, limit: 1, ...(cursor != null && { cursor }) });
        seen.push(...page.items.map(({ title }) => title));
        cursor = page.nextCursor;
      }
      assert.deepEqual(seen, all);
    });

    staged("an empty company needs nothing, and only people may ask", async ({ org }) => {
      await nothingLeft(org);
      await refusal(org.root(viewAttention, {}), "forbidden");
    });

    staged("a hire that waits names its outcomes, and an approval frees them", async ({ org }) => {
      await org.board(updateCompany, { companyId: org.companyId, requireBoardApprovalForNewAgents: true });
      const whole = await org.root(createOutcome, { title: "whole", parents: [org.rootId] });
      const part = await org.root(createOutcome, { title: "part", parents: [whole.id] });
      const after = await org.root(createOutcome, {
        title: "after",
        parents: [org.rootId],
        dependsOn: [part.id],
      });
      await org.root(delegateOutcome, { id: part.id, hire: { name: "Ines", role: "writer" } });
      const item = await only(org);
      assert.equal(item?.kind, "approval");
      assert.deepEqual(item.by, { kind: "agent", id: org.rootId, title: "Root" });
      assert.match(item.title, /Ines/);
      assert.deepEqual(
        new Set(item.holdsUp.outcomes.map(({ id }) => id)),
        new Set([whole.id, part.id, after.id]),
      );
      assert.equal((await demandAgreement(org)).waiting, 4);
      await settle(org, item);
      await nothingLeft(org);
    });

    staged("a hire that was sent back waits for the board once its requester has left", async ({ org }) => {
      const { board, companyId } = org;
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      const lead = await org.agent("Lena");
      await board(setPermissions, { id: lead.id, canCreateAgents: true });
      const part = await lead.call(createOutcome, { title: "part", parents: [lead.id] });
      await lead.call(delegateOutcome, { id: part.id, hire: { name: "Ada", role: "writer" } });
      const id = (await only(org))?.subject.id ?? "";
      await board(requestRevision, { id, decisionNote: "Cheaper." });
      await nothingLeft(org);
      assert.equal((await board(why, { id: part.id })).state, "moving");
      // The revision comes from Lena, so nothing comes while she is paused.
      await board(pauseAgent, { id: lead.id });
      const paused = await only(org);
      assert.deepEqual([paused?.kind, paused?.subject.id], ["stall", lead.id]);
      const stuck = await board(why, { id: part.id });
      assert.equal(stuck.state, "stuck");
      assert.match(stuck.says, /must be revised and resubmitted\. Lena is paused/);
      await board(resumeAgent, { id: lead.id });
      await nothingLeft(org);
      await board(terminateAgent, { id: lead.id, reason: "The team is smaller." });
      const item = await only(org);
      assert.ok(item !== undefined);
      assert.deepEqual([item.kind, item.subject.id], ["approval", id]);
      assert.match(item.reason, /its requester has left\. Resubmit or reject it\./);
      const { hint } = await refusal(board(approve, { id }), "conflict");
      assert.equal(hint, "The requester or the board has to resubmit it first.");
      assert.deepEqual(
        item.holdsUp.outcomes.map((each) => each.id),
        [part.id],
      );
      const answer = await board(why, { id: part.id });
      assert.equal(answer.state, "waiting");
      assert.match(answer.says, /The board can resubmit or reject it\./);
      await settle(org, item);
      await only(org);
      await board(reject, { id });
      await nothingLeft(org);
    });

    staged("a message to the board is a question until it is acknowledged", async ({ org }) => {
      await org.root(sendMessage, { to: "board", body: "Which colour?\nRed or blue." });
      const item = await only(org);
      assert.deepEqual([item?.kind, item?.title, item?.by?.title], ["question", "Which colour?", "Root"]);
      // The command of a call has the same arguments as the call.
      assert.deepEqual(item?.abilities[1]?.asks, ["body"]);
      assert.equal(item.abilities[1].command, `agency send <body> --in-reply-to ${item.subject.id}`);
      await settle(org, item, { body: "Red." }, 1);
      await settle(org, item);
      await nothingLeft(org);
    });

    staged("submitted work of the board waits for its verdict", async ({ org, store }) => {
      const ann = await org.agent("Ann");
      const id = await org.outcome("a goal");
      await org.board(delegateOutcome, { id, to: ann.id });
      await store.write((tx) => tx.run(verifiedByBoard, { id }));
      await ann.call(submitOutcome, { id, note: "done" });
      const item = (await look(org)).items.find((each) => each.kind === "verdict");
      assert.deepEqual([item?.subject.id, item?.by?.id], [id, ann.id]);
      await demandAgreement(org);
      assert.equal(item?.abilities[0]?.name, "outcome.decide");
      await settle(org, item, { verdict: "pass" });
      assert.equal((await look(org)).counts.verdict, 0);
    });

    staged("a person with a position sees only the items of that position", async ({ org }) => {
      const { companyId, board } = org;
      const { id: personId, signIn: link } = await board(createPerson, { name: "Pia", role: "member" });
      const { token = "" } = await org.as(link.code)(signIn, { code: link.code, kind: "program" });
      const pia = org.as(token);
      const mill = await org.agent("Mill");
      await board(updateAgent, { id: mill.id, adapterType: "human", person: personId });
      const ann = await org.agent("Ann", mill.id);
      const other = await org.agent("Otto");
      const see = () => pia(viewAttention, { companyId });
      const kinds = async () =>
        (await see()).items.map(({ kind: each, title }) => `${each}: ${title}`).toSorted();
      assert.deepEqual(await kinds(), []);
      // Items for her: her own task, a question, a request, a submission and a stall of her report.
      const task = await org.root(createOutcome, { title: "her task", parents: [org.rootId] });
      await org.root(delegateOutcome, { id: task.id, to: mill.id });
      const part = await pia(createOutcome, { title: "a part", parents: [mill.id] });
      await pia(delegateOutcome, { id: part.id, to: ann.id });
      await ann.call(requestPermission, { resource: "org:hire", reason: "many parts" });
      await ann.call(sendMessage, { to: "boss", body: "Which size?" });
      await ann.call(submitOutcome, { id: part.id, note: "done" });
      const stuck = await pia(createOutcome, { title: "stuck", parents: [mill.id] });
      await pia(delegateOutcome, { id: stuck.id, to: ann.id });
      await ann.call(updateOutcome, { id: stuck.id, blocked: { reason: "no key" } });
      // None of the following items is for her.
      const secret = await other.call(createOutcome, { title: "secret", parents: [other.id] });
      await other.call(updateOutcome, { id: secret.id, blocked: { reason: "hidden" } });
      await org.root(sendMessage, { to: "board", body: "For the board only" });
      await other.call(requestPermission, { resource: "org:hire", reason: "the root decides" });
      const { id: plan } = await other.call(createFile, { description: "secret plan", content: "1" });
      await ann.call(requestPermission, { resource: `kb:${plan}`, reason: "heard of it" });
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      await org.root(hireAgent, { name: "Nina", role: "clerk" });
      assert.deepEqual(await kinds(), [
        "permission: Ann asks for the right to read that file",
        "permission: Ann asks for the right to use org:hire",
        "question: Which size?",
        "question: You are now responsible for this outcome.",
        "question: her task",
        "stall: stuck",
        "verdict: a part",
      ]);
      const seen = await see();
      assert.doesNotMatch(JSON.stringify(seen), /secret|hidden|For the board|Nina|Otto/);
      assert.deepEqual([seen.total, seen.counts.verdict, seen.counts.approval], [7, 1, 0]);
      // The stuck part, and her mandate above it.
      assert.equal(seen.health.stuck, 2);
      const verdict = seen.items.find((item) => item.kind === "verdict");
      assert.deepEqual(
        verdict?.abilities.map(({ name, asks }) => [name, asks]),
        [["outcome.decide", ["verdict"]]],
      );
      await pia(decideOutcome, { id: part.id, verdict: "pass" });
      await pia(submitOutcome, { id: task.id, note: "done" });
      assert.deepEqual(
        (await kinds()).filter((each) => each.startsWith("verdict") || each.includes("task")),
        [],
      );
      // The board sees everything, and agents nothing.
      assert.match(JSON.stringify((await look(org)).items), /secret/);
      await refusal(mill.call(viewAttention, { companyId }), "forbidden");
      await refusal(ann.call(viewAttention, { companyId }), "forbidden");
    });

    staged(
      "the number of queries is the same, however many outcomes and items there are",
      async ({ org, store }) => {
        let queries = 0;
        const counting: Store = {
          ...store,
          read: (work) =>
            store.read((tx) =>
              work({
                ...tx,
                all: (...of) => {
                  queries++;
                  return tx.all(...of);
                },
                first: (...of) => {
                  queries++;
                  return tx.first(...of);
                },
              }),
            ),
        };
        const core = createCore({ store: counting, newId, newSecret });
        const count = async (): Promise<number> => {
          queries = 0;
          const input = { companyId: org.companyId, limit: 1000 };
          await core.dispatch({ operation: viewAttention, token: org.boardToken, input });
          return queries;
        };
        const paused = async (name: string): Promise<void> => {
          const agent = await org.agent(name);
          for (let each = 0; each < 3; each++) {
            const { id } = await agent.call(createOutcome, { title: `${name} ${each}`, parents: [agent.id] });
            if (each > 0) await agent.call(updateOutcome, { id, blocked: { reason: "no key" } });
          }
          await org.board(setBudget, { id: agent.id, sessions: 0 });
          await org.board(pauseAgent, { id: agent.id });
        };
        await paused("One");
        const few = await count();
        for (const name of ["Two", "Three", "Four", "Five", "Six"]) await paused(name);
        assert.equal(await count(), few);
      },
    );

    staged("a permission that the root agent asks for waits for the board", async ({ org, store }) => {
      await store.write((tx) => tx.run(endGrants, { id: org.rootId }));
      await org.root(requestPermission, { resource: "org:consult", reason: "it helps" });
      const item = (await look(org)).items.find((each) => each.kind === "permission");
      assert.equal(item?.reason, "it helps");
      await settle(org, item);
      assert.equal((await look(org)).counts.permission, 0);
      const ann = await org.agent("Ann");
      await ann.call(requestPermission, { resource: "org:hire", reason: "the root decides this" });
      assert.equal((await look(org)).counts.permission, 0);
      // A file appears with its description. A person in a position sees it only if the position may know the file.
      const { id: file } = await ann.call(createFile, { description: "Prices", content: "1" });
      const resource = `kb:${file}`;
      await org.root(requestPermission, { resource, reason: "to compare" });
      const named = (await look(org)).items.find((each) => each.kind === "permission");
      assert.equal(named?.title, 'Root asks for the right to read the file "Prices"');
      assert.deepEqual([named.subject.title, named.facts["resource"]], [named.title, resource]);
    });

    staged("blocked work, paused agents and unassigned work are stalls", async ({ org, now }) => {
      const ann = await org.agent("Ann");
      const job = await ann.call(createOutcome, { title: "job", parents: [ann.id] });
      const later = await ann.call(createOutcome, { title: "later", parents: [ann.id], dependsOn: [job.id] });
      await ann.call(updateOutcome, { id: job.id, blocked: { reason: "no key" } });
      const blocked = await only(org);
      assert.deepEqual([blocked?.kind, blocked?.subject.id], ["stall", job.id]);
      assert.deepEqual(blocked?.holdsUp, {
        count: 1,
        outcomes: [{ kind: "outcome", id: later.id, title: "later" }],
      });
      assert.equal(blocked.abilities[0]?.command, `agency unblock ${job.id}`);
      await settle(org, blocked);
      await nothingLeft(org);
      await org.board(pauseAgent, { id: ann.id });
      const paused = await only(org);
      assert.deepEqual([paused?.kind, paused?.subject.kind, paused?.subject.id], ["stall", "agent", ann.id]);
      // Ann's inbox holds the notice that the board unblocked her work.
      const held = new Set(paused?.holdsUp.outcomes.map(({ title }) => title));
      assert.deepEqual([paused?.holdsUp.count, held], [3, new Set(["job", "later", "Process inbox"])]);
      await settle(org, paused);
      await nothingLeft(org);
      const until = new Date(now() + 86_400_000).toISOString();
      await ann.call(updateOutcome, { id: job.id, blocked: { reason: "a holiday", until } });
      assert.deepEqual(await demandAgreement(org), { moving: 3, scheduled: 2, waiting: 0, stuck: 0 });
    });

    staged(
      "for work that depends on a closed outcome, the list offers to reopen that outcome, write to the owner, or close the work",
      async ({ org }) => {
        const ann = await org.agent("Ann");
        const first = await ann.call(createOutcome, { title: "first", parents: [ann.id] });
        await ann.call(createOutcome, { title: "next", parents: [ann.id], dependsOn: [first.id] });
        await org.board(closeOutcome, { id: first.id, rationale: "not wanted" });
        const item = await only(org);
        assert.deepEqual(
          item?.abilities.map(({ name, asks }) => [name, ...asks]),
          [
            ["outcome.reopen", "reason"],
            ["mail.send", "body"],
            ["outcome.close", "rationale"],
          ],
        );
        assert.deepEqual(item.abilities[1]?.body, { to: ann.id });
        await settle(org, item, { body: "What now?" }, 1);
        await settle(org, await only(org), { reason: "wanted after all" });
        await nothingLeft(org);
      },
    );

    staged("a budget of the company asks for the measure that is used up", async ({ org }) => {
      const { board, companyId } = org;
      const ann = await org.agent("Ann");
      await ann.call(createOutcome, { title: "job", parents: [ann.id] });
      for (const measure of ["tokens", "sessions"] as const) {
        await board(updateCompany, { companyId, monthlyBudget: { [measure]: 0 } });
        const [ability] = (await only(org))?.abilities ?? [];
        assert.deepEqual(ability?.asks, [`monthlyBudget.${measure}`]);
        assert.match(ability.command ?? "", new RegExp(` --monthly-budget '{"${measure}": <${measure}>}'$`));
        await board(updateCompany, { companyId, monthlyBudget: { [measure]: 100 } });
        await nothingLeft(org);
      }
    });

    staged("a circle is one stall", async ({ org }) => {
      const ann = await org.agent("Ann");
      const [a, b] = [
        await ann.call(createOutcome, { title: "a", parents: [ann.id] }),
        await ann.call(createOutcome, { title: "b", parents: [ann.id] }),
      ];
      await ann.call(updateOutcome, { id: a.id, blocked: { reason: "you first", on: b.id } });
      await ann.call(updateOutcome, { id: b.id, blocked: { reason: "no, you", on: a.id } });
      assert.match((await only(org))?.reason ?? "", /in a circle/);
    });

    staged(
      "a budget that is used up or nearly used up, and a failing brain, are items",
      async ({ org, store }) => {
        const ann = await org.agent("Ann");
        await ann.call(createOutcome, { title: "job", parents: [ann.id] });
        await org.board(setBudget, { id: ann.id, sessions: 10 });
        await store.write((tx) =>
          tx.run(spendSessions, { id: ann.id, month: new Date(tx.now).toISOString().slice(0, 7), amount: 8 }),
        );
        const nearly = await only(org);
        assert.deepEqual(
          [nearly?.kind, nearly?.facts["usedUp"], nearly?.facts["left"]],
          ["budget", false, 2],
        );
        assert.match(nearly?.abilities[0]?.command ?? "", / --(?:usd|tokens|sessions) <\w+>$/);
        assert.match(nearly?.reason ?? "", /^80 % is spent: 8 sessions of 10 sessions/);
        await org.board(setBudget, { id: ann.id, sessions: 100 });
        await nothingLeft(org);
        await store.write((tx) => tx.run(setBrain, { id: ann.id, type: "retired_brain" }));
        const brain = await only(org);
        assert.deepEqual(
          [brain?.kind, brain?.subject.id, brain?.holdsUp.count],
          ["brain", "retired_brain", 1],
        );
        await org.board(updateAgent, { id: ann.id, adapterType: "rehearsal" });
        await nothingLeft(org);
      },
    );

    staged(
      "an undelivered message of the board is an item until the board puts it aside",
      async ({ org, ...stage }) => {
        const ann = await org.agent("Ann");
        const deliverAt = new Date(stage.now() + 60_000).toISOString();
        await org.board(sendDeferredMessage, {
          companyId: org.companyId,
          to: ann.id,
          body: "Happy birthday",
          deliverAt,
        });
        await org.board(terminateAgent, { id: ann.id });
        stage.advance(61_000);
        await stage.rest();
        const item = (await look(org)).items.find((each) => each.kind === "mail");
        assert.match(item?.title ?? "", /^Not delivered to an agent that has left: Happy birthday/);
        await settle(org, item);
        assert.equal((await look(org)).counts.mail, 0);
        assert.ok((await org.board(boardInbox, { companyId: org.companyId })).waiting >= 0);
      },
    );

    staged(
      "items that hold up most outcomes come first, and the list can be filtered by kind",
      async ({ org }) => {
        const ann = await org.agent("Ann");
        const ben = await org.agent("Ben");
        await org.root(sendMessage, { to: "board", body: "first of all" });
        const job = await ann.call(createOutcome, { title: "job", parents: [ann.id] });
        await ann.call(updateOutcome, { id: job.id, blocked: { reason: "no key" } });
        const whole = await ben.call(createOutcome, { title: "whole", parents: [ben.id] });
        const part = await ben.call(createOutcome, { title: "part", parents: [whole.id] });
        await ben.call(updateOutcome, { id: part.id, blocked: { reason: "no door" } });
        const { items } = await look(org);
        assert.deepEqual(
          items.map(({ title }) => title),
          ["part", "first of all", "job"],
        );
        const stalls = await org.board(viewAttention, { companyId: org.companyId, kind: "stall", limit: 1 });
        assert.deepEqual([stalls.items.length, stalls.counts.stall, stalls.total], [1, 2, 3]);
        await demandAgreement(org);
      },
    );

    staged("the list has no items of another company", async ({ org }) => {
      const other = await org.another();
      await other.root(sendMessage, { to: "board", body: "over here" });
      await other.root(hireAgent, { name: "Extra", role: "writer" });
      await nothingLeft(org);
      assert.ok((await look(other)).items.length > 0);
    });
  });

const setBrain = query((db, p: { id: string; type: string }) =>
  db.updateTable("agents").set({ brain_type: p.type }).where("id", "=", p.id),
);
const verifiedByBoard = query((db, p: { id: string }) =>
  db.updateTable("outcomes").set({ delegated_by: null }).where("id", "=", p.id),
);
const endGrants = query((db, p: { id: string }) =>
  db.updateTable("grants").set({ broken: 1 }).where("grantee_id", "=", p.id),
);
const spendOf = query((db, p: { id: string; month: string; measure: Measure; amount: number }) =>
  db.insertInto("charges").values({ pool_id: p.id, month: p.month, measure: p.measure, amount: p.amount }),
);
const spendSessions = query((db, p: { id: string; month: string; amount: number }) =>
  db.insertInto("charges").values({ pool_id: p.id, month: p.month, measure: "sessions", amount: p.amount }),
);
