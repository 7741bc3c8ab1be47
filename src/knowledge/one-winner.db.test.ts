import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { grantPermission } from "../contract/capabilities.ts";
import { createFile, readVersion, viewHistory, writeFile } from "../contract/knowledge.ts";
import { Refusal } from "../contract/refusal.ts";
import { type Organization, sharedOrganization, bothStores } from "../testing/organization.ts";
import { byLength } from "../testing/run-length.ts";

const writers = 50;
const rounds = byLength({ quick: 40, whole: 80, long: 200 });

for (const kind of bothStores)
  describe(`writers of one file on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);

    test(`of ${writers} with the same base exactly one wins, ${rounds} times over`, async () => {
      const { companyId } = org;
      const file = await org.board(createFile, { companyId, description: "contested", content: "start" });
      const agents: Awaited<ReturnType<Organization["agent"]>>[] = [];
      for (let index = 0; index < writers; index++) {
        const agent = await org.agent(`Writer ${index}`);
        await org.board(grantPermission, {
          companyId,
          to: agent.id,
          resource: `kb:${file.id}`,
          level: "write",
        });
        agents.push(agent);
      }
      let base = { version: file.version, hash: file.hash };
      const winners: { agentId: string; content: string }[] = [];
      for (let round = 0; round < rounds; round++) {
        const attempts = await Promise.allSettled(
          agents.map(async ({ id, call }) => {
            const content = `round ${round} of ${id}`;
            return { id, content, saved: await call(writeFile, { id: file.id, content, ...base }) };
          }),
        );
        const won = attempts.filter((attempt) => attempt.status === "fulfilled").map(({ value }) => value);
        const [winner] = won;
        assert.ok(winner !== undefined && won.length === 1, `${won.length} won round ${round}`);
        const { version, hash } = winner.saved;
        assert.equal(version, base.version + 1);
        for (const attempt of attempts) {
          if (attempt.status === "fulfilled") continue;
          const { reason }: { reason: unknown } = attempt;
          assert.ok(reason instanceof Refusal, String(reason));
          assert.equal(reason.code, "conflict");
          assert.deepEqual(reason.details, { version, hash });
        }
        winners.push({ agentId: winner.id, content: winner.content });
        base = { version, hash };
      }

      // The answers to the winners agree with the history, without a gap.
      const { versions } = await org.board(viewHistory, { id: file.id, limit: 1000 });
      assert.deepEqual(
        versions.map(({ version, author }) => [version, author.agentId]),
        [...winners.map(({ agentId }, index) => [index + 2, agentId]).toReversed(), [1, null]],
      );
      for (const round of [0, 1, rounds >> 1, rounds - 1]) {
        const { content } = await org.board(readVersion, { id: file.id, version: round + 2 });
        assert.equal(content, winners[round]?.content);
      }
    });
  });
