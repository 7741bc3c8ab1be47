import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listCosts, setBudget } from "../contract/budgets.ts";
import { always, answers } from "../testing/fake-model/script.ts";
import { gatewayScene, providerKey } from "../testing/gateway-scene.ts";
import { storeKinds } from "../testing/organization.ts";

for (const kind of storeKinds)
  describe(`the calls of a brain that is tested on ${kind}`, () => {
    const usage = { input: 20, output: 100, cacheRead: 7, cacheWrite: 3 };

    test("are reserved and booked exactly for the root agent, even many at the same time", async () => {
      const { ask, fake, org, beginTrial, booked } = await gatewayScene(
        kind,
        always(answers("Hi.", { usage })),
      );
      const { board, companyId, rootId } = org;
      const costs = async () => (await board(listCosts, { companyId })).total;
      const trials = ["first-test", "second-test"].map((token) => ({ token, trial: beginTrial(token) }));
      // Each call costs at most $0.0031.
      await board(setBudget, { id: rootId, usd: 0.02 });
      const asked = Array.from({ length: 20 }, async (_, at) => {
        const { token } = trials[at % 2] ?? assert.fail();
        const answer = await ask({ stream: at % 3 === 0 }, { token });
        await answer.text();
        return answer.status;
      });
      const statuses = await Promise.all(asked);
      await booked();
      const answered = statuses.filter((status) => status === 200).length;
      assert.ok(
        answered > 0 && statuses.every((status) => status === 200 || status === 403),
        statuses.join(" "),
      );
      assert.equal(fake.calls.length, answered);
      const used = await costs();
      assert.ok(used.costUsd <= 0.02, `${used.costUsd}`);
      const { input, output, cacheRead, cacheWrite } = fake.tokensOf(providerKey);
      assert.deepEqual([used.inputTokens, used.outputTokens], [input + cacheRead + cacheWrite, output]);
      const calls = trials.flatMap(({ trial }) => trial.calls);
      const works = calls.flatMap((call) => (call.works ? [call.tokens] : []));
      assert.deepEqual(
        works,
        Array.from({ length: answered }, () => 130),
      );
      assert.match(JSON.stringify(calls.filter((call) => !call.works)), /has too little left for a call/);

      // The reserved amount is free again.
      await board(setBudget, { id: rootId, usd: used.costUsd + 0.004 });
      assert.equal((await ask({}, { token: "first-test" })).status, 200);
    });

    test("go only to the provider that the brain uses", async () => {
      const { ask, fake, beginTrial } = await gatewayScene(kind, always(answers("Hi.")));
      beginTrial("a-test");
      assert.equal((await ask({}, { token: "a-test", path: "anthropic/v1/messages" })).status, 403);
      assert.equal((await ask({}, { token: "a-test" })).status, 200);
      assert.equal(fake.calls.length, 1);
    });
  });
