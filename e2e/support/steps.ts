// A daemon kills itself at one named step (src/runtime/fail-points.ts). The next daemon must find everything either not
// begun or done, never half done, and must continue to the end.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { sendDeferredMessage, sendMessage, viewMessage } from "../../src/contract/mail.ts";
import { listOutcomes } from "../../src/contract/outcomes.ts";
import { allowed } from "../../src/testing/allowed.ts";
import type { StoreKind } from "../../src/testing/organization.ts";
import { employActors, readNotes } from "./agents.ts";
import { Arena } from "./arena.ts";
import { type End, startDaemon, type Starting } from "./daemon.ts";
import { onNewHome } from "./home.ts";
import { Board } from "./living-board.ts";
import { comeToRest } from "./living-campaign.ts";
import { checkLiving, checkRefused } from "./living-checker.ts";
import { gone, type SessionProcess, sessionProcesses } from "./processes.ts";
import { Random } from "./random.ts";
import { openTables } from "./tables.ts";

/**
 * A goal is accepted, delegated to an agent hired for it, done, verified and reported. The daemon dies at this step, and
 * the next daemon completes the goal.
 */
export async function dieOnTheWay(store: StoreKind, step: string): Promise<void> {
  await onNewHome(store, async (options, folder) => {
    const starting = startDaemon({ ...options, env: { ...options.env, AGENCY_FAIL_AT: step } });
    const { board, companyId, token } = await starting.ready;
    const staff = await employActors(await starting.ready, folder, {
      wild: false,
      managers: 0,
      maxSessions: 4,
    });
    const goal = { companyId, to: staff.rootId, body: "goal one" };
    const later: { companyId: string; to: string; body: string; deliverAt: string }[] = [];
    const keyOf = ({ body }: { body: string }) => ({ key: body.replace(" ", "-") });
    /** A message whose delivery time passes before a slow machine has sent it is not deferred. The next one gets more time. */
    const defer = async (): Promise<void> => {
      for (let wait = 3000, isDeferred = false; !isDeferred; wait *= 2) {
        const deliverAt = new Date(Date.now() + wait).toISOString();
        const letter = { companyId, to: staff.rootId, body: `deferred ${wait}`, deliverAt };
        later.push(letter);
        const { deliveredAt } = await board.call(sendDeferredMessage, letter, keyOf(letter));
        isDeferred = deliveredAt === null;
      }
    };
    // The daemon may die before it answers.
    await Promise.allSettled([board.call(sendMessage, goal, { key: "goal" }), defer()]);
    assert.deepEqual(await endOf(starting, step), { code: null, signal: "SIGKILL" });
    const before = readNotes(folder).sessions;

    const arena = new Arena(options);
    try {
      const daemon = await arena.start();
      await gone(() => ofSessions(options.home, before), 5000, step);
      assert.deepEqual(
        await checkRefused(
          daemon.url,
          before.map(({ token: old }) => old),
        ),
        [],
      );
      // The board got no answer and repeats the call with the same key.
      const sent = await daemon.board.call(sendMessage, goal, { key: "goal" });
      const letters = [{ kind: "letter" as const, label: "goal one", id: sent.id }];
      for (const letter of later) {
        const { id } = await daemon.board.call(sendDeferredMessage, letter, keyOf(letter));
        letters.push({ kind: "letter", label: letter.body, id });
        while ((await daemon.board.call(viewMessage, { id })).deliveredAt === null) await sleep(50);
      }
      const onlooker = new Board({ arena, staff, token, companyId, random: new Random(1) });
      await comeToRest(arena, onlooker);
      const { outcomes } = await daemon.board.call(listOutcomes, { companyId, limit: 1000 });
      const goals = outcomes.filter(({ title }) => title === "goal one");
      assert.deepEqual(
        goals.map(({ status }) => status),
        ["completed"],
      );
      const tables = await openTables(options);
      const recall = () => {
        const { attempts, acknowledged } = readNotes(folder);
        return { attempts: [...letters, ...onlooker.attempts, ...attempts], acknowledged, whole: true };
      };
      const sight = await checkLiving({ daemon, options, tables, recall, moment: "at rest" });
      await tables.close();
      assert.deepEqual(sight.problems, []);
      assert.deepEqual(sessionProcesses(options.home), []);
      assert.equal(daemon.log(), "");
      await arena.stop();
    } finally {
      await arena.end();
    }
  });
}

/** Waits for the daemon's end. The daemon must reach the step by itself. */
export async function endOf(starting: Starting, step: string): Promise<End> {
  const tooLate = AbortSignal.timeout(allowed(60_000));
  const late = new Promise<never>((_, reject) => {
    tooLate.addEventListener("abort", () => reject(new Error(`it never came to "${step}"`)));
  });
  try {
    return await Promise.race([starting.ended, late]);
  } catch (error) {
    await starting.kill();
    throw error;
  }
}

export function ofSessions(home: string, sessions: readonly { readonly id: string }[]): SessionProcess[] {
  const ids = new Set(sessions.map(({ id }) => id));
  return sessionProcesses(home).filter(({ sessionId }) => ids.has(sessionId));
}
