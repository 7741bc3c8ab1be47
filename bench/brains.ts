import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Adapter,
  claude,
  codex,
  fileOfProgram,
  pathWithPrograms,
} from "../e2e/brains/support/adapters.ts";
import { installFolder } from "../e2e/brains/support/programs.ts";
import { onBrain, turns } from "../e2e/brains/support/stage.ts";
import { always, answers, steps } from "../src/testing/fake-model/script.ts";
import { type FakeModel, startFakeModel } from "../src/testing/fake-model/server.ts";
import { type Bench, type Entry, rounds } from "./bench.ts";
import { percentile } from "./timing.ts";

/**
 * From a message to the first request of a model, with the real programs and a model that plays a script. The baseline is the
 * same program started by hand with the same words, without Agency. Both take turns.
 */
export const brains: Entry = {
  name: "brains",
  about: "from a message to the first model request, with the real programs",
  run: async (bench) => {
    if (!existsSync(join(installFolder(), "node_modules", ".bin", "claude"))) {
      bench.say("left out: the programs are not installed. `npm run test:brains` installs them.");
      return [];
    }
    const figures = [];
    for (const adapter of [claude, codex]) {
      const { ours, bare } = await compare(bench, adapter);
      figures.push({
        name: `message to first model request, ${adapter.program ?? adapter.type}`,
        unit: "ms" as const,
        value: ours,
        baseline: { what: "bare program", value: bare },
        aim: { atMost: bare + 150 },
      });
    }
    return figures;
  },
};

async function compare(bench: Bench, adapter: Adapter): Promise<{ ours: number; bare: number }> {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  // The first run of each program fills its home, so it does not count.
  const runs = rounds(bench) + 1;
  const bareModel = await startFakeModel({ bare: always(answers("Hello.")) });
  try {
    const script = steps(...Array.from({ length: runs }, () => turns()).flat());
    await onBrain(adapter, script, async (stage) => {
      for (let run = 1; run <= runs; run++) {
        const before = stage.model.calls.length;
        const start = Date.now();
        await stage.tell(`Say hello, for the ${run}. time.`);
        await stage.asked(before + 1);
        const asked = stage.model.calls[before]?.at ?? Number.NaN;
        await stage.ended(run);
        const alone = await startedByHand(bench, adapter, bareModel);
        if (run > 1) {
          times.ours.push(asked - start);
          times.bare.push(alone);
        }
      }
    });
  } finally {
    await bareModel.stop();
  }
  return { ours: percentile(times.ours, 50), bare: percentile(times.bare, 50) };
}

/** Milliseconds from the start of the program until the model is asked. */
async function startedByHand(bench: Bench, adapter: Adapter, model: FakeModel): Promise<number> {
  const home = join(bench.folder, `bare-${adapter.type}`);
  mkdirSync(join(home, ".codex"), { recursive: true });
  writeFileSync(
    join(home, ".codex", "config.toml"),
    [
      `model = "${adapter.model}"`,
      'model_provider = "bare"',
      "[model_providers.bare]",
      'name = "Bare"',
      `base_url = "${model.url}/v1"`,
      'env_key = "BARE_KEY"',
      'wire_api = "responses"',
    ].join("\n"),
  );
  const args =
    adapter === claude
      ? ["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config", "--model", adapter.model]
      : ["exec", "--json", "--skip-git-repo-check", "-"];
  const before = model.calls.length;
  const start = Date.now();
  const child = spawn(fileOfProgram(adapter.program ?? ""), args, {
    cwd: home,
    stdio: ["pipe", "ignore", "ignore"],
    env: {
      PATH: pathWithPrograms(),
      HOME: home,
      CODEX_HOME: join(home, ".codex"),
      BARE_KEY: "bare",
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_AUTH_TOKEN: "bare",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  });
  const ended = once(child, "exit");
  child.stdin.end("Say hello.");
  for (let waited = 0; model.calls.length === before && waited < 60_000; waited += 5) await sleep(5);
  const asked = model.calls[before]?.at ?? Number.NaN;
  child.kill();
  await ended;
  return asked - start;
}
