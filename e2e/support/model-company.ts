// A company whose root agent has a brain that asks a fake model, through the gateway of the built daemon.
import { setTimeout as sleep } from "node:timers/promises";
import { updateAgent } from "../../src/contract/agents.ts";
import { viewCompany } from "../../src/contract/companies.ts";
import { sendMessage } from "../../src/contract/mail.ts";
import { putProvider } from "../../src/contract/providers.ts";
import { setSecret } from "../../src/contract/secrets.ts";
import { listSessions, type TranscriptEntry, viewTranscript } from "../../src/contract/sessions.ts";
import type { ModelScript } from "../../src/testing/fake-model/script.ts";
import { type FakeModel, startFakeModel } from "../../src/testing/fake-model/server.ts";
import { type BuiltDaemon, type DaemonOptions, startDaemon, temporaryFolder } from "./daemon.ts";
import { gone, sessionProcesses } from "./processes.ts";
import { allowed } from "../../src/testing/allowed.ts";

export const modelKey = "sk-the-key-of-the-provider-0123456789";
export const modelName = "test-model-1";
const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

type Session = Awaited<ReturnType<typeof sessionsOf>>[number];

export interface ModelCompany {
  readonly daemon: BuiltDaemon;
  readonly fake: FakeModel;
  readonly rootId: string;
  readonly home: string;
  /** Sends a message to the root agent, which starts a session. */
  readonly tell: (body: string) => Promise<void>;
  /** Waits until this many sessions have ended, and returns all, oldest first. */
  readonly ended: (count: number, seconds?: number) => Promise<Session[]>;
  readonly transcriptOf: (id: string) => Promise<readonly TranscriptEntry[]>;
  /** Kills the daemon and starts another one on the same home. */
  readonly restart: () => Promise<void>;
}

export interface Cast {
  readonly adapterType: string;
  readonly adapterConfig?: (url: string) => Readonly<Record<string, unknown>>;
  readonly dialect: "anthropic" | "openai";
  readonly script: ModelScript;
  readonly contextTokens?: number;
  readonly env?: DaemonOptions["env"];
}

/** The cost of a session in dollars. */
export const costOf = (tokens: ReturnType<FakeModel["tokensOf"]>): number =>
  (tokens.input * price.input +
    tokens.output * price.output +
    tokens.cacheRead * price.cacheRead +
    tokens.cacheWrite * price.cacheWrite) /
  1e6;

export async function withModelCompany(
  cast: Cast,
  play: (company: ModelCompany) => Promise<void>,
): Promise<void> {
  const folder = temporaryFolder("model");
  const fake = await startFakeModel({ [modelKey]: cast.script });
  const options = { home: folder.path, ...(cast.env === undefined ? {} : { env: cast.env }) };
  let daemon = await startDaemon(options).ready;
  const { companyId } = daemon;
  try {
    const { rootAgentId } = await daemon.board.call(viewCompany, { companyId });
    await daemon.board.call(setSecret, { companyId, name: "MODEL_KEY", value: modelKey });
    await daemon.board.call(putProvider, {
      companyId,
      name: "fake",
      config: {
        dialect: cast.dialect,
        baseUrl: fake.url,
        secret: "MODEL_KEY",
        defaultModel: modelName,
        models: {
          [modelName]: {
            price,
            ...(cast.contextTokens === undefined ? {} : { contextTokens: cast.contextTokens }),
          },
        },
      },
    });
    await daemon.board.call(updateAgent, {
      id: rootAgentId,
      adapterType: cast.adapterType,
      adapterConfig: cast.adapterConfig?.(daemon.url) ?? { provider: "fake" },
    });
    await play({
      get daemon() {
        return daemon;
      },
      fake,
      rootId: rootAgentId,
      home: folder.path,
      tell: async (body) => {
        await daemon.board.call(sendMessage, { companyId, to: rootAgentId, body });
      },
      ended: async (count, seconds = 60) => {
        for (const start = performance.now(); ; await sleep(100)) {
          const all = await sessionsOf(daemon);
          if (all.filter(({ endedAt }) => endedAt !== null).length >= count) return all;
          if (performance.now() - start > allowed(seconds * 1000))
            throw new Error(`${count} sessions should have ended: ${JSON.stringify(all)}\n${daemon.log()}`);
        }
      },
      transcriptOf: async (id) => (await daemon.board.call(viewTranscript, { id, after: 0 })).entries,
      restart: async () => {
        await daemon.kill();
        daemon = await startDaemon(options).ready;
      },
    });
  } finally {
    await daemon.stop();
    await gone(() => sessionProcesses(folder.path), 5000, "processes of sessions");
    await fake.stop();
    folder.remove();
  }
}

async function sessionsOf({ board, companyId }: BuiltDaemon) {
  return (await board.call(listSessions, { companyId })).sessions.toReversed();
}
