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
 * The time from a message to the first request of a model, with the real programs and a model that plays a script. The baseline
 * is the same program started by hand with the same prompt, without Agency. A second baseline is connected to the same MCP
 * server, because the program itself needs time to connect. All take turns.
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
      const { ours, bare, connected } = await compare(bench, adapter);
      const figure = (what: string, baseline: number) => ({
        name: `message to first model request, ${adapter.program ?? adapter.type}`,
        unit: "ms" as const,
        value: ours,
        baseline: { what, value: baseline },
        aim: { atMost: baseline + 150 },
      });
      figures.push(figure("bare program", bare), figure("with an MCP server", connected));
    }
    return figures;
  },
};

async function compare(bench: Bench, adapter: Adapter) {
  const times: Record<"ours" | "bare" | "connected", number[]> = { ours: [], bare: [], connected: [] };
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
        const connected = await startedByHand(bench, adapter, bareModel, stage.daemon());
        if (run > 1) {
          times.ours.push(asked - start);
          times.bare.push(alone);
          times.connected.push(connected);
        }
      }
    });
  } finally {
    await bareModel.stop();
  }
  const { ours, bare, connected } = times;
  return {
    ours: percentile(ours, 50),
    bare: percentile(bare, 50),
    connected: percentile(connected, 50),
  };
}

/** Milliseconds from the start of the program until the model is asked. */
async function startedByHand(
  bench: Bench,
  adapter: Adapter,
  model: FakeModel,
  door?: { readonly url: string; readonly token: string },
): Promise<number> {
  const home = join(bench.folder, `${door === undefined ? "bare" : "connected"}-${adapter.type}`);
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
      ...(door === undefined
        ? []
        : [
            "[mcp_servers.agency]",
            `url = "${door.url}/mcp"`,
            'bearer_token_env_var = "DOOR_KEY"',
            "required = true",
          ]),
    ].join("\n"),
  );
  const servers = join(home, "servers.json");
  const headers = { Authorization: "Bearer ${DOOR_KEY}" };
  const agency = { type: "http", url: `${door?.url ?? ""}/mcp`, headers, alwaysLoad: true };
  writeFileSync(servers, JSON.stringify({ mcpServers: door === undefined ? {} : { agency } }));
  const args =
    adapter === claude
      ? [
          "-p",
          "--output-format",
          "stream-json",
          "--verbose",
          "--strict-mcp-config",
          "--model",
          adapter.model,
        ].concat(door === undefined ? [] : ["--mcp-config", servers])
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
      DOOR_KEY: door?.token ?? "",
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
