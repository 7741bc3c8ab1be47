import assert from "node:assert/strict";
import { changeAgent, createAgent, hireAgent } from "../contract/hiring.ts";
import { sendMessage } from "../contract/mail.ts";
import { updateCompany } from "../contract/companies.ts";
import { pauseAgent, terminateAgent, viewAgent } from "../contract/agents.ts";
import {
  createOutcome,
  listAgentOutcomes,
  submitOutcome,
  updateOutcome,
  viewOutcome,
} from "../contract/outcomes.ts";
import { delegateOutcome } from "../contract/delegation.ts";
import { viewOrg } from "../contract/roster.ts";
import { drawOrg } from "../cli/screens.ts";
import { newId, newSecret } from "../daemon/ids.ts";
import { openSession } from "../runtime/sessions.ts";
import { organizedOn, refusal, storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  organizedOn(kind)(
    `the organization is a tree that says what each is doing or waiting for (${kind})`,
    async (org) => {
      const { board, companyId } = org;
      const lead = await org.agent("Lead");
      const busy = await org.agent("Busy", lead.id);
      const stuck = await org.agent("Stuck", lead.id);
      const idle = await org.agent("Idle");
      const left = await org.agent("Left");
      await board(terminateAgent, { id: left.id });
      await board(pauseAgent, { id: idle.id });
      await board(createAgent, {
        companyId,
        name: "Pia",
        role: "editor",
        title: "Chief Editor",
        adapterType: "human",
      });
      await board(sendMessage, { companyId, to: "pia", body: "hello" });

      const job = await lead.call(createOutcome, { title: "Job", parents: [lead.id] });
      await lead.call(delegateOutcome, { id: job.id, to: busy.id });
      const two = await lead.call(createOutcome, { title: "Two", parents: [lead.id] });
      await lead.call(delegateOutcome, { id: two.id, to: stuck.id });
      await stuck.call(updateOutcome, { id: two.id, blocked: { reason: "no key" } });
      const three = await lead.call(createOutcome, { title: "Three", parents: [lead.id] });
      await lead.call(delegateOutcome, { id: three.id, to: stuck.id });
      await stuck.call(submitOutcome, { id: three.id });
      await lead.call(createOutcome, { title: "Four", parents: [lead.id] });
      await org.session(busy.id);
      await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
      const { approval } = await org.root(hireAgent, { name: "Maybe", role: "worker" });
      const change = await lead.call(changeAgent, { agent: stuck.id, prompt: "Ask sooner.", reason: "slow" });

      const answer = await board(viewOrg, { companyId });
      assert.deepEqual(drawOrg(answer).split("\n"), [
        "Root (CEO) [idle] nothing to do",
        "├─ Lead (worker) [idle] about to start, 1 outcome to do (1 message)",
        "│  ├─ Busy (worker) [running] working",
        `│  └─ Stuck (worker) [idle] waiting: 1 blocked, 1 submitted, its manager proposed a change: ${change.id}`,
        "├─ Idle (worker) [paused] paused",
        "├─ Pia (editor, Chief Editor) [idle] a person, 0 outcomes to do (1 message)",
        `└─ Maybe (worker) [pending_approval] needs approval ${approval?.id ?? ""}`,
      ]);
      assert.equal(answer.truncated, false);
      const byName = new Map(answer.agents.map((agent) => [agent.name, agent]));
      assert.deepEqual(
        ["Root", "Lead", "Busy", "Maybe"].map((name) => byName.get(name)?.depth),
        [0, 1, 2, 1],
      );
      assert.equal(byName.get("Busy")?.workable, 1);
      // Blocked and submitted outcomes are open too. Mandates and inboxes don't count.
      assert.deepEqual(
        ["Root", "Lead", "Busy", "Stuck", "Idle"].map((name) => byName.get(name)?.open),
        [0, 1, 1, 2, 0],
      );
      assert.notEqual(byName.get("Busy")?.working, null);
      assert.deepEqual(drawOrg(await lead.call(viewOrg, {})).split("\n"), [
        "Root (CEO) [idle]",
        "├─ Lead (worker) [idle] about to start, 1 outcome to do (1 message)",
        "│  ├─ Busy (worker) [running] working",
        `│  └─ Stuck (worker) [idle] waiting: 1 blocked, 1 submitted, its manager proposed a change: ${change.id}`,
        "├─ Idle (worker) [paused]",
        "├─ Pia (editor, Chief Editor) [idle]",
        "└─ Maybe (worker) [pending_approval]",
      ]);
      // An inbox that its agent gave up on is stuck for Home (attention.db.test.ts), and here too.
      const mute = await org.agent("Mute");
      await board(sendMessage, { companyId, to: mute.id, body: "Are you there?" });
      const [inbox] = (await board(listAgentOutcomes, { id: mute.id })).outcomes.filter(
        (one) => one.kind === "inbox",
      );
      await mute.call(updateOutcome, { id: inbox?.id ?? "", blocked: { reason: "no progress" } });
      const seen = (await board(viewOrg, { companyId })).agents.find(({ id }) => id === mute.id);
      assert.deepEqual([seen?.says, seen?.blocked, seen?.open], ["stuck: 1 message", 1, 0]);
      assert.equal((await board(viewAgent, { id: mute.id })).says, "stuck: 1 message");
      const other = await org.another();
      assert.deepEqual(
        (await board(viewOrg, { companyId: other.companyId })).agents.map(({ name }) => name),
        ["Root"],
      );
    },
  );

for (const kind of storeKinds)
  organizedOn(kind)(
    `a manager sees what its report works on only if it may read that outcome (${kind})`,
    async (org) => {
      const { board, companyId, core } = org;
      const lead = await org.agent("Lead");
      const ann = await org.agent("Ann", lead.id);
      const olga = await org.agent("Olga");
      const { id: shared } = await olga.call(createOutcome, { title: "Shared", parents: [olga.id] });
      const { id: secret } = await ann.call(createOutcome, { title: "Secret", parents: [ann.id] });
      await board(updateOutcome, { id: secret, parents: [shared] });
      await refusal(lead.call(viewOutcome, { id: secret }), "not_found");
      const session = { id: newId(), agentId: ann.id, credentialId: newId(), token: newSecret() };
      await core.store.write((tx) =>
        openSession(tx, { ...session, workspace: null, firstOutcomeId: secret }),
      );
      for (const [call, on] of [
        [board, "Secret"],
        [ann.call, "Secret"],
        [lead.call, null],
      ] as const) {
        const { agents } = await call(viewOrg, call === board ? { companyId } : {});
        const shown = agents.find(({ id }) => id === ann.id);
        assert.deepEqual([shown?.working?.session, shown?.working?.on], [session.id, on]);
        assert.equal(shown?.says.includes("Secret"), on !== null);
      }
    },
  );
