import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createKey, viewAgent } from "../contract/agents.ts";
import {
  applyReorganization,
  type Change,
  undoReorganization,
  viewReorganization,
} from "../contract/reorganization.ts";
import { refusal, sharedOrganization, storeKinds, type TestCaller } from "../testing/organization.ts";
import { buildScene, type Scene } from "../../test/reorganization/scene.ts";
import { compare, dump } from "../simulator/restored.ts";

for (const kind of storeKinds)
  describe(`an agent that undoes its reorganization on ${kind}`, async () => {
    const { org, store } = await sharedOrganization(kind, { fast: true });
    const apply = (change: Change) => org.board(applyReorganization, { companyId: org.companyId, change });

    const change = async (call: TestCaller, what: Change) =>
      (await call(applyReorganization, { change: what })).id;

    const cases: readonly [string, (scene: Scene) => Change, (scene: Scene) => string[]][] = [
      [
        "the brain of an agent that works elsewhere now stays",
        ({ ann }) => ({ kind: "hand_over", agent: ann.id, adapterType: "human" }),
        ({ ann }) => [ann.id],
      ],
      [
        "an agent does not move between managers that work elsewhere now",
        ({ deep, bob }) => ({ kind: "move_report", agent: deep.id, to: bob.id }),
        ({ ann, bob }) => [ann.id, bob.id],
      ],
      [
        "an agent does not come back below a manager that works elsewhere now",
        ({ deep }) => ({ kind: "fire", agent: deep.id }),
        ({ ann }) => [ann.id],
      ],
      [
        "work does not go back to an agent that works elsewhere now",
        ({ n, ann, outcomes }) => ({
          kind: "split",
          agent: ann.id,
          into: [{ agent: { name: `half ${n}`, role: "worker" }, outcomes: [outcomes.annOwn] }],
        }),
        ({ ann }) => [ann.id],
      ],
    ];
    for (const [name, what, leaving] of cases)
      test(name, async () => {
        const scene = await buildScene(org);
        const { lead, other } = scene;
        const id = await change(lead.call, what(scene));
        const moved = [];
        for (const agent of leaving(scene))
          moved.push(await apply({ kind: "move_report", agent, to: other.id }));
        const before = await dump(store);
        const { message } = await refusal(lead.call(undoReorganization, { id }), "forbidden");
        assert.match(message, /^(ann|bob|deep) \d+ doesn't work below you\.$/);
        assert.deepEqual(compare(before, await dump(store)), []);
        const { undoable } = await lead.call(viewReorganization, { id });
        assert.deepEqual(undoable, { possible: false, reason: message });
        // The board is not limited to a part of the tree.
        assert.equal((await org.board(viewReorganization, { id })).undoable.possible, true);
        for (const { id: last } of moved.toReversed()) await org.board(undoReorganization, { id: last });
        await lead.call(undoReorganization, { id });
      });

    test("an agent that leads the same agents from another place can still undo", async () => {
      const { lead, other, ann, bob, deep } = await buildScene(org);
      const id = await change(lead.call, { kind: "move_report", agent: deep.id, to: bob.id });
      await apply({ kind: "move_report", agent: lead.id, to: other.id });
      const again = org.as((await org.board(createKey, { id: lead.id })).key);
      await again(undoReorganization, { id });
      assert.equal((await org.board(viewAgent, { id: deep.id })).boss?.id, ann.id);
    });
  });
