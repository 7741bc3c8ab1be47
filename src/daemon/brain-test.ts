import type { z } from "zod";
import { agentById } from "../agents/table.ts";
import { checkBrainConfig, findBrain, providerUsed } from "../brains/registry.ts";
import { rootAgentOf } from "../capabilities/members.ts";
import { type BrainTest, testBrain } from "../contract/hiring.ts";
import { limited, notFound } from "../contract/refusal.ts";
import { writeIn } from "../dispatch/context.ts";
import { type Call, type Guarded, guardedOutside } from "../dispatch/guarded.ts";
import { providerOf } from "../gateway/providers.ts";
import { keyMissing } from "../gateway/texts.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { Store } from "../store/store.ts";
import { type BrainProbing, probe, recordOf } from "./brain-probe.ts";
import * as texts from "./texts.ts";
import { type TrialBrain, type TrialEnd, trialPatience } from "./trial-sessions.ts";

/**
 * Tests of brains. A test runs beside the calls, because a model may take a minute to answer and no transaction waits for it:
 *
 *   running ──▶ works | fails
 *
 * The first call starts the test, and the door repeats the call until the test has ended (`waits`). A running test is only in
 * memory, so after a restart it can't be found any more. The result is an event of the company, so it outlives the daemon and
 * every node has it.
 */
export interface BrainTesting extends BrainProbing {
  readonly store: Store;
  readonly secrets: Pick<SecretStore, "valueFor" | "resolve">;
  /** Absent in tests without processes. The brain is then only probed. */
  readonly runTrial?: ((brain: TrialBrain) => Promise<TrialEnd>) | undefined;
  /** Called with each running test, which ends soon after `closing`. The store stays open for it. */
  readonly track?: ((test: Promise<void>) => void) | undefined;
  readonly reportBug?: ((error: unknown, about: string) => string) | undefined;
}

const mostRunning = 4;
const mostKept = 100;

/** A recorded test that begins after the commit. */
interface Begun {
  readonly test: BrainTest;
  readonly brain: TrialBrain;
  /** The secrets that it lacks. */
  readonly lacks: string;
  readonly newId: () => string;
}

export function brainTestHandler(parts: BrainTesting): Guarded {
  const tests = new Map<string, BrainTest>();
  let beginning = 0;

  return guardedOutside(testBrain, {
    look: async ({ companyId, input }) => known(companyId, input.test) === undefined,
    // The store may run a write again. So the write only names the test to begin, and the commit begins it once.
    work: async (isNew): Promise<{ begun?: Begun }> => {
      if (!isNew) return {};
      const running = [...tests.values()].filter(({ status }) => status === "running").length;
      if (running + beginning >= mostRunning) throw limited(...texts.tooManyTests(mostRunning));
      beginning++;
      return {};
    },
    finish: async (call, next) => {
      const earlier = known(call.companyId, call.input.test);
      if (earlier !== undefined) return earlier;
      next.begun = await begin(call);
      return next.begun.test;
    },
    committed: async ({ begun }, isNew) => {
      if (isNew) beginning--;
      if (begun !== undefined) run(begun);
    },
    dropped: async (_, isNew) => {
      if (isNew) beginning--;
    },
  });

  function known(companyId: string, id: string | undefined): BrainTest | undefined {
    if (id === undefined) return undefined;
    const test = tests.get(id);
    if (test === undefined || test.companyId !== companyId) throw notFound("test", id);
    return test;
  }

  async function begin(call: Call<z.infer<typeof testBrain.input>>): Promise<Begun> {
    const { tx, companyId, input } = call;
    const { type } = input;
    const root = await agentById(tx, (await rootAgentOf(tx, companyId)) ?? "");
    const isRoots = root.brain_type === type;
    const config =
      input.adapterConfig === undefined && isRoots
        ? root.brain_config
        : checkBrainConfig(type, input.adapterConfig);
    const model = input.model ?? (isRoots ? root.model : null);
    const effort = isRoots ? root.effort : null;
    const id = call.newId();
    const provider = providerUsed(type, config) ?? null;
    const standard = provider === null ? undefined : await providerOf(tx, companyId, provider);
    // Secrets in the input are stored only with this transaction, so the trial gets their values from here.
    const { config: whole, missing } = await parts.secrets.resolve(tx, {
      company_id: companyId,
      brain_config: config,
    });
    const nothing = { tokens: 0, costUsd: 0, milliseconds: 0, says: "", remedy: "" };
    const test: BrainTest = { status: "running", companyId, type, test: id, provider, model, ...nothing };
    await call.record(companyId, { type, test: id, ...(model === null ? {} : { model }) });
    const asked = model ?? standard?.defaultModel ?? null;
    const brain = { companyId, agentId: root.id, type, config: whole, effort, model: asked };
    const lacks = missing.map((name) => keyMissing(name)).join(" ");
    return { test, brain, lacks, newId: () => call.newId() };
  }

  function run({ test, brain, lacks, newId }: Begun): void {
    keep(test);
    const tested = (lacks === "" ? resultOf(brain) : failing(lacks))
      .catch((error: unknown) => ({
        status: "fails" as const,
        ...texts.brainTestFailed(parts.reportBug?.(error, "brain test")),
      }))
      .then((result) => end({ ...test, ...result }, newId));
    parts.track?.(tested);
  }

  async function failing(says: string): Promise<Partial<BrainTest>> {
    return { status: "fails", says };
  }

  async function end(test: BrainTest, newId: () => string): Promise<void> {
    const { companyId, ...result } = test;
    const written = writeIn(parts.store, companyId, newId, (call) =>
      call.record(companyId, result, "brain.tested"),
    );
    // A daemon that stops meanwhile can't store the result. The waiting call still gets it.
    await written.catch(() => undefined);
    keep(test);
  }

  function keep(test: BrainTest): void {
    tests.set(test.test, test);
    for (const [id, { status }] of tests) if (tests.size > mostKept && status !== "running") tests.delete(id);
  }

  async function resultOf(brain: TrialBrain): Promise<Partial<BrainTest>> {
    const { companyId, type, config } = brain;
    const asked = { type, config, asksAgain: true };
    const found = await probe(parts, await parts.store.read((tx) => recordOf(tx, parts, companyId, asked)));
    if (!found.available) return { status: "fails", says: found.says };
    if (parts.closing?.aborted === true) return { status: "fails", says: texts.testInterrupted };
    const { runsPrograms } = findBrain(type);
    // The brain is a person, or the rehearsal, which has no model and would find no work.
    if (!runsPrograms || parts.runTrial === undefined)
      return { status: "works", says: texts.noModelToAsk(found.says) };
    return judged(brain, found.says, await parts.runTrial(brain));
  }
}

/**
 * The test succeeded if the program ended well. If Agency forwards its model calls, one of them must also have been answered.
 */
function judged(
  { type, config }: TrialBrain,
  found: string,
  { exit, calls, isLate, isFrozen, milliseconds }: TrialEnd,
): Partial<BrainTest> {
  const answered = calls.flatMap((call) => (call.works ? [call] : []));
  const refused = calls.findLast((call) => !call.works);
  const isDone = !isLate && (exit.cause ?? (exit.code === 0 ? "done" : "failed")) === "done";
  const spent = {
    milliseconds,
    tokens: answered.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: answered.reduce((sum, { costUsd }) => sum + costUsd, 0),
  };
  if (isFrozen) return { status: "fails", ...spent, ...texts.trialFrozen };
  const needsModel = providerUsed(type, config) !== undefined;
  const last = answered.at(-1);
  if (!isDone || (needsModel && last === undefined)) {
    const reason = isLate ? texts.trialLate(trialPatience / 1000) : texts.trialEnded(exit.reason);
    // A call beside the question, such as one for a title, may be answered or refused without deciding how the program ended.
    const isRefused = last === undefined || exit.cause === "signed_out" || exit.cause === "overloaded";
    const fault =
      isRefused && refused !== undefined && !refused.works
        ? { says: refused.says, remedy: refused.remedy, model: refused.model }
        : { says: reason, remedy: texts.trialRemedy(type) };
    return { status: "fails", ...spent, ...fault };
  }
  if (last !== undefined)
    return { status: "works", says: found, ...spent, provider: last.provider, model: last.model };
  const said = exit.output.replaceAll(/\s+/g, " ").trim().slice(0, 200);
  return { status: "works", ...spent, says: texts.ranWithoutModel(found, milliseconds, said) };
}
