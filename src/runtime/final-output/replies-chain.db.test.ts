import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { approve } from "../../contract/approvals.ts";
import { requestAgent, waitForApproval } from "../../contract/create-agent.ts";
import { acknowledgeMessage, agentInbox, boardInbox, sendMessage, viewMessage } from "../../contract/mail.ts";
import { createKey, updateAgent } from "../../contract/agents.ts";
import { storeKinds } from "../../testing/organization.ts";
import type { Script } from "../../testing/scripted-runner.ts";
import { onStage, type Stage } from "../../testing/stage.ts";

const minute = 60_000;

/** Two agents that reply automatically: Ada, and Bob below her. Above them is a person. */
interface Pair {
  readonly ada: string;
  readonly bob: string;
}

async function employ({ org }: Stage): Promise<Pair> {
  const make = async (boss: typeof org.root, name: string) => {
    const { requestId = "" } = await boss(requestAgent, { name });
    await org.board(approve, { id: requestId });
    return (await boss(waitForApproval, { requestId })).agent?.id ?? "";
  };
  const ada = await make(org.root, "Ada");
  const bob = await make(org.as((await org.board(createKey, { id: ada })).key), "Bob");
  await org.board(updateAgent, { id: org.rootId, adapterType: "human" });
  // Acknowledge the notices of the approvals first.
  for (const id of [org.rootId, ada]) {
    const call = org.as((await org.board(createKey, { id })).key);
    for (const message of (await org.board(agentInbox, { id })).messages)
      await call(acknowledgeMessage, { id: message.id });
  }
  return { ada, bob };
}

for (const kind of storeKinds)
  describe(`agents that answer each other on ${kind}`, () => {
    const staged = (name: string, play: (stage: Stage, pair: Pair) => Promise<void>): void => {
      test(name, () => onStage(kind, async (stage) => play(stage, await employ(stage))));
    };
    /** The board sends a message, and every agent plays this script each time. Returns the agents that were started. */
    const playing = async (stage: Stage, to: string, script: Script) => {
      const { org, runner } = stage;
      const first = runner.started.length;
      runner.otherwise((session) => {
        if (runner.started.length - first > 60) throw new Error("the chain does not end");
        return script(session);
      });
      await org.board(sendMessage, { companyId: org.companyId, to, body: "begin" });
      for (let step = 0; step < 40; step++) {
        await stage.rest();
        stage.advance(minute);
      }
      return runner.started.slice(first).map(({ agent }) => agent.name);
    };
    const board = async ({ org }: Stage) =>
      (await org.board(boardInbox, { companyId: org.companyId, limit: 1000 })).messages;
    const other = (name: string): string => (name === "Ada" ? "Bob" : "Ada");
    const stopped =
      /^(?:Ada and Bob|Bob and Ada) have answered each other 5 times without a person, so Agency stopped them\./;

    for (const how of ["by address", "by replying"] as const)
      staged(
        `a chain ${how} stops after five turns and tells the board; a person can restart it`,
        async (stage, { ada, bob }) => {
          const { org, runner } = stage;
          const first = { session: 1 };
          const script: Script = async ({ agent }) => {
            const needsAddress = how === "by address" || runner.started.length === first.session;
            const words = `ping from ${agent.name}`;
            return { output: needsAddress ? `@${other(agent.name)}\n${words}` : words };
          };
          assert.deepEqual(await playing(stage, ada, script), ["Ada", "Bob", "Ada", "Bob", "Ada", "Bob"]);
          const [told, ...more] = await board(stage);
          assert.deepEqual([told?.from.kind, more], ["system", []]);
          assert.match(told?.body ?? "", stopped);
          // The text stays with its author. Apart from the author, only the board can open it.
          const [, kept = ""] = /Read it: agency mail view (\S+)$/.exec(told?.body ?? "") ?? [];
          const unsent = await org.board(viewMessage, { id: kept });
          assert.deepEqual(
            [unsent.from.name, unsent.body, unsent.deliveredAt, unsent.failure],
            ["Bob", "ping from Bob", null, "5 automatic replies in a row is the maximum"],
          );
          assert.ok(!told?.body?.includes("ping"));
          for (const id of [ada, bob]) assert.deepEqual((await org.board(agentInbox, { id })).messages, []);
          first.session = 7;
          assert.deepEqual(await playing(stage, bob, script), ["Bob", "Ada", "Bob", "Ada", "Bob", "Ada"]);
          assert.equal((await board(stage)).length, 2);
        },
      );

    staged("a chain of returned texts stops as well", async (stage, { ada }) => {
      const started = await playing(stage, ada, async ({ agent }) => ({
        output: agent.name === "Ada" ? "@Bob\ndo it" : "@Nobody\nwho does it?",
      }));
      assert.deepEqual(started, ["Ada", "Bob", "Bob", "Bob", "Bob", "Bob"]);
      const told = await board(stage);
      assert.equal(told.length, 1);
      assert.match(
        told[0]?.body ?? "",
        /^Bob \(\S+\) keeps writing to @Nobody, which does not get its messages\./,
      );
      assert.ok(!told[0]?.body?.includes("who does it?"));
    });

    staged(
      "an agent that always fails is not started forever by a manager that always writes",
      async (stage, { ada }) => {
        const started = await playing(stage, ada, async ({ agent }) =>
          agent.name === "Ada" ? { output: "@Bob\ntry again" } : { code: 1, reason: "exited with code 1" },
        );
        const tries = ["Bob", "Bob", "Bob"];
        assert.deepEqual(started, ["Ada", ...tries, "Ada", ...tries, "Ada", ...tries, "Ada"]);
        assert.match((await board(stage))[0]?.body ?? "", stopped);
      },
    );

    staged(
      "a chain with a person in it lasts as long as the person keeps replying",
      async (stage, { ada, bob }) => {
        const { org } = stage;
        await org.board(updateAgent, { id: bob, adapterType: "human" });
        const person = org.as((await org.board(createKey, { id: bob })).key);
        stage.runner.otherwise(async () => ({ output: "@Bob\nand then?" }));
        await org.board(sendMessage, { companyId: org.companyId, to: ada, body: "begin" });
        for (let turn = 0; turn < 9; turn++) {
          await stage.rest();
          stage.advance(minute);
          const { messages } = await org.board(agentInbox, { id: bob });
          assert.equal(messages.length, 1);
          await person(acknowledgeMessage, { id: messages[0]?.id ?? "" });
          await person(sendMessage, { to: ada, body: "go on" });
        }
        await stage.rest();
        assert.deepEqual(await board(stage), []);
        assert.equal(stage.runner.started.length, 10);
      },
    );
  });
