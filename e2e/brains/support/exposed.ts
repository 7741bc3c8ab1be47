// A secret that the board exposes is in the session's environment, and nowhere that people or other agents can read.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { viewAgent } from "../../../src/contract/agents.ts";
import type { Adapter } from "./adapters.ts";
import { diligent, onBrain } from "./stage.ts";

const value = "house-key-0123456789-abcdef";
const look = 'printf %s "$HOUSE_KEY" | sha256sum; echo "shown: $HOUSE_KEY"; echo "other: ${OTHER_KEY:-none}"';

export function testExposedSecrets(adapter: Adapter): void {
  test("an exposed secret can be used in the shell, other secrets can't, and no secret is shown", () =>
    onBrain(
      adapter,
      diligent(adapter.shell(look)),
      async (stage) => {
        await stage.tell("Look.");
        const session = await stage.ended(1);
        assert.equal(session.exitCode, 0);
        const shown = JSON.stringify(await stage.transcript(session));
        assert.ok(shown.includes(createHash("sha256").update(value).digest("hex")), shown);
        assert.match(shown, /other: none/);
        assert.ok(!shown.includes(value));
        const agent = await stage.daemon().board.call(viewAgent, { id: stage.agentId });
        assert.ok(!JSON.stringify(agent).includes(value));
      },
      {
        secrets: { HOUSE: value, OTHER_KEY: "another-key-0123456789" },
        config: { exposeSecrets: { HOUSE_KEY: { secret: "HOUSE" } } },
      },
    ));
}
