import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { endSessions } from "../agents/table.ts";
import { listCosts } from "../contract/budgets.ts";
import { viewSession } from "../contract/sessions.ts";
import { newId } from "../daemon/ids.ts";
import { writeIn } from "../dispatch/context.ts";
import { selection, updating } from "../store/query.ts";
import { always, answers } from "../testing/fake-model/script.ts";
import { gatewayScene, sceneModel } from "../testing/gateway-scene.ts";
import { type Organization, storeKinds } from "../testing/organization.ts";
import { type CallEnd, callFiles } from "./call-files.ts";
import { sessionRow } from "../store/row-by-id.ts";
import { noteUse, openCall, type Spender, trialSpender } from "./calls.ts";
import { keepLostCalls } from "./lost-calls.ts";

const runOn = updating("sessions", ["node_id"], ["id"]);
const reservations = selection("reservations", []);
const begin = updating("model_calls", ["started_at"], ["id"]);
const goneProcess = spawnSync(process.execPath, ["-e", ""]).pid;
const used = { input: 7, output: 5, cacheRead: 3, cacheWrite: 2 };

/** The usage of the company, with the cost in millionths of a dollar. */
async function costs({ board, companyId }: Organization): Promise<number[]> {
  const { total } = await board(listCosts, { companyId });
  return [total.inputTokens, total.outputTokens, Math.round(total.costUsd * 1e6)];
}

for (const kind of storeKinds)
  describe(`calls that a killed daemon left open, on ${kind}`, () => {
    /** A session of the node "this" with calls that no daemon waits for. Returns what is booked for that session. */
    const scene = async () => {
      const folder = mkdtempSync(join(tmpdir(), "agency-calls-"));
      after(() => rmSync(folder, { recursive: true, force: true }));
      const { org, opened, session, bugs } = await gatewayScene(kind, always(answers("Hi.")));
      const { store } = opened;
      const { companyId } = org;
      await store.write((tx) => tx.run(runOn, { id: session.id, node_id: "this" }));
      const row = (await store.read((tx) => tx.first(sessionRow, { id: session.id }))) ?? assert.fail();
      const files = callFiles(folder);
      const ofSession = { id: row.id, agentId: row.agent_id, outcomeId: null };
      const leave = async (
        file?: { pid?: number | undefined; end?: CallEnd },
        spender: Spender = ofSession,
      ): Promise<string> => {
        const call = { id: newId(), spender, provider: "fake", model: sceneModel };
        const most = { input: 1000, mostTokens: 3000, mostUsd: 60_000 };
        await writeIn(store, companyId, newId, (writing) => openCall(writing, { ...call, ...most }));
        if (file !== undefined) writeFileSync(join(folder, call.id), JSON.stringify(file));
        return call.id;
      };
      const booked = async () => {
        const { usage } = await org.board(viewSession, { id: session.id });
        return [usage.inputTokens, usage.outputTokens];
      };
      const endSession = () =>
        store.write((tx) =>
          tx.run(endSessions, { agent_id: row.agent_id, ended_at: tx.now, end_reason: "restart" }),
        );
      const lostOf = (nodeId: string) =>
        keepLostCalls({ store, newId, files, nodeId, reportBug: (error) => String(bugs.push(error)) });
      return { org, folder, store, leave, booked, endSession, lostOf };
    };

    test("each call is booked once, with the usage that its courier noted", async () => {
      const cases: readonly [file: Parameters<Awaited<ReturnType<typeof scene>>["leave"]>[0], number[]][] = [
        [undefined, [0, 0]],
        [{ pid: goneProcess, end: { status: "done", tokens: used } }, [12, 5]],
        [{ pid: goneProcess, end: { status: "cut", tokens: used } }, [12, 5]],
        [{ pid: goneProcess, end: { status: "done" } }, [1000, 2000]],
        [{ pid: goneProcess, end: { status: "done", unsaid: 40 } }, [1000, 40]],
        [{ pid: goneProcess, end: { status: "cut", tokens: used, unsaid: 40 } }, [12, 40]],
        [{ pid: goneProcess, end: { status: "failed" } }, [0, 0]],
        [{ pid: goneProcess }, [1000, 2000]],
        // No courier wrote this one.
        [{}, [1000, 2000]],
      ];
      for (const [file, expected] of cases) {
        const { folder, leave, booked, endSession, lostOf } = await scene();
        await leave(file);
        await endSession();
        writeFileSync(join(folder, "a-call-that-was-booked"), "{}");
        await lostOf("another").tooOld();
        assert.deepEqual(await booked(), [0, 0], "it is neither of this node nor old");
        for (let start = 0; start < 2; start++) {
          await (
            await lostOf("this").ofEarlierRun()
          )();
          assert.deepEqual(await booked(), expected, JSON.stringify(file));
        }
        assert.deepEqual(readdirSync(folder), []);
      }
    });

    test("usage noted by a killed courier is booked at the price of that call", async () => {
      const price = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25, hourWrite: 10 };
      for (const [output, hourWrite] of [
        [5, 0],
        [5, 1],
        [0, 2],
      ] as const) {
        const { org, store, leave, booked, endSession, lostOf } = await scene();
        const id = await leave({ pid: goneProcess });
        const dollars = (written: number): number =>
          Math.ceil(
            used.input * price.input +
              used.cacheRead * price.cacheRead +
              (used.cacheWrite - hourWrite) * price.cacheWrite +
              hourWrite * price.hourWrite +
              written * price.output,
          );
        await writeIn(store, org.companyId, newId, (writing) =>
          noteUse(writing, id, {
            used: { ...used, output, hourWrite },
            mostOutput: 2000,
            costs: { soFar: dollars(output), atMost: dollars(2000) },
          }),
        );
        await endSession();
        await (
          await lostOf("this").ofEarlierRun()
        )();
        // The answer did not report its output, which counts as the longest possible. Its reported input counts.
        const written = output === 0 ? 2000 : output;
        assert.deepEqual(await booked(), [12, written]);
        assert.deepEqual(await costs(org), [12, written, dollars(written)]);
      }
    });

    test("lost calls of a brain's test are booked for the root agent, and nothing stays reserved", async () => {
      const { org, folder, store, leave, lostOf } = await scene();
      const spender = (node: string): Spender => ({
        id: trialSpender(node, org.companyId),
        agentId: org.rootId,
        outcomeId: null,
      });
      await leave({ pid: goneProcess, end: { status: "done", tokens: used } }, spender("this"));
      await leave(undefined, spender("this"));
      const other = await leave(
        { pid: goneProcess, end: { status: "done", tokens: used } },
        spender("other"),
      );
      const reserved = () => store.read((tx) => tx.all(reservations, {}));
      const ofTrials = async () =>
        (await reserved()).filter(({ session_id }) => session_id.startsWith("trial"));
      assert.equal((await ofTrials()).length, 4);
      const lost = await lostOf("this").ofEarlierRun();
      writeFileSync(join(folder, other), "{}");
      await lost();
      assert.deepEqual((await costs(org)).slice(0, 2), [12, 5]);
      assert.deepEqual(
        (await ofTrials()).map(({ session_id }) => session_id),
        [spender("other").id, spender("other").id],
      );
    });

    test("a call that is still being answered is booked when the answer ends", async () => {
      const { folder, leave, booked, endSession, lostOf } = await scene();
      const courier = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
      after(() => courier.kill());
      const id = await leave({ pid: courier.pid });
      await leave({ pid: goneProcess, end: { status: "done", tokens: used } });
      await endSession();
      const lost = lostOf("this");
      await (
        await lost.ofEarlierRun()
      )();
      assert.deepEqual(await booked(), [12, 5]);
      assert.deepEqual(readdirSync(folder), [id]);
      const end = { status: "done", tokens: { ...used, output: 100 } };
      writeFileSync(join(folder, id), JSON.stringify({ pid: courier.pid, end }));
      while (readdirSync(folder).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.deepEqual(await booked(), [24, 105]);
      lost.stop();
    });

    test("a lost call that is an hour old, from any node, is booked at its maximum cost", async () => {
      const { store, leave, booked, lostOf } = await scene();
      const id = await leave();
      await store.write((tx) => tx.run(begin, { id, started_at: tx.now - 61 * 60_000 }));
      await lostOf("another").tooOld();
      assert.deepEqual(await booked(), [1000, 2000]);
    });
  });
