import { agentById } from "../agents/table.ts";
import { apiUsed, checkBrainConfig, findBrain, probeBrain, providerUsed } from "../brains/registry.ts";
import { rootAgentOf } from "../capabilities/members.ts";
import { type BrainTest, testBrain } from "../contract/hiring.ts";
import type { Sandbox } from "../contract/installation.ts";
import { limited, notFound } from "../contract/refusal.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import type { Trial, Tried } from "../gateway/trial.ts";
import { brainNeedsSandbox, brainTestFailed, noModelToAsk, tooManyTests } from "./texts.ts";

/**
 * Tests of brains. A test runs beside the calls, because a model may take a minute to answer and no transaction waits for it:
 *
 *   running ──▶ works | fails
 *
 * The first call starts it, and the door repeats the call until it has ended (`waits`). Only in memory: a test that a restart
 * ended is not found any more.
 */
export interface BrainTesting {
  readonly sandbox: () => Sandbox;
  /** Absent in tests without a gateway: no model is asked. */
  readonly tryModel?: ((trial: Trial) => Promise<Tried>) | undefined;
  readonly reportBug?: (error: unknown, about: string) => string;
}

const mostRunning = 4;
const mostKept = 100;

export function brainTestHandler(parts: BrainTesting): Guarded {
  const tests = new Map<string, BrainTest>();

  return guarded(testBrain, async (call) => {
    const { tx, companyId, input } = call;
    const { type, test } = input;
    if (test !== undefined) {
      const known = tests.get(test);
      if (known === undefined || known.companyId !== companyId) throw notFound("test", test);
      return known;
    }
    if ([...tests.values()].filter(({ status }) => status === "running").length >= mostRunning)
      throw limited(...tooManyTests(mostRunning));
    const root = await agentById(tx, (await rootAgentOf(tx, companyId)) ?? "");
    const isRoots = root.brain_type === type;
    const config =
      input.adapterConfig === undefined && isRoots
        ? root.brain_config
        : checkBrainConfig(type, input.adapterConfig);
    const model = input.model ?? (isRoots ? root.model : null);
    const id = call.newId();
    const provider = providerUsed(type, config) ?? null;
    const nothing = { tokens: 0, costUsd: 0, milliseconds: 0, says: "", remedy: "" };
    const begun: BrainTest = { status: "running", companyId, type, test: id, provider, model, ...nothing };
    keep(begun);
    await call.record(companyId, { type, test: id, ...(model === null ? {} : { model }) });
    void resultOf({ companyId, agentId: root.id, type, model }, config)
      .catch((error: unknown) => ({
        status: "fails" as const,
        ...brainTestFailed(parts.reportBug?.(error, "brain test")),
      }))
      .then((result) => keep({ ...begun, ...result }));
    return begun;
  });

  function keep(test: BrainTest): void {
    tests.set(test.test, test);
    for (const [id, { status }] of tests) if (tests.size > mostKept && status !== "running") tests.delete(id);
  }

  async function resultOf(
    asked: Pick<Trial, "companyId" | "agentId" | "type" | "model">,
    config: string,
  ): Promise<Partial<BrainTest>> {
    const { runsPrograms, probe } = findBrain(asked.type);
    // With its default settings the program may be run, to see that it works. A probe of a configuration only looks.
    const found = config === "{}" ? await probe() : await probeBrain(asked.type, config);
    if (!found.available) return { status: "fails", says: found.says };
    const { status, unsandboxedAllowed, says, remedy } = parts.sandbox();
    if (runsPrograms && status !== "works" && !unsandboxedAllowed)
      return { status: "fails", says: brainNeedsSandbox(asked.type, says), remedy };
    const [provider, api] = [providerUsed(asked.type, config), apiUsed(asked.type, config)];
    if (provider === undefined || api === undefined || parts.tryModel === undefined)
      return { status: "works", says: noModelToAsk(found.says) };
    const { works, ...tried } = await parts.tryModel({ ...asked, provider, api });
    return { status: works ? "works" : "fails", says: found.says, ...tried };
  }
}
