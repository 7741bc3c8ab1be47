// One daemon, one agent whose brain is tested, and a model that plays scripts. Sessions run in the sandbox.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createAgent } from "../../../src/contract/hiring.ts";
import { sendMessage } from "../../../src/contract/mail.ts";
import type { Output } from "../../../src/contract/operation.ts";
import { putProvider } from "../../../src/contract/providers.ts";
import { setSecret } from "../../../src/contract/secrets.ts";
import { listAgentSessions, type TranscriptEntry, viewTranscript } from "../../../src/contract/sessions.ts";
import { type Conversation, lastResult } from "../../../src/testing/fake-model/conversation.ts";
import {
  always,
  answers,
  type ModelScript,
  type Step,
  steps,
  use,
} from "../../../src/testing/fake-model/script.ts";
import { type FakeModel, startFakeModel } from "../../../src/testing/fake-model/server.ts";
import { fixedPort } from "../../support/agents.ts";
import { type BuiltDaemon, type DaemonOptions, startDaemon, temporaryFolder } from "../../support/daemon.ts";
import { sessionProcesses } from "../../support/processes.ts";
import { type Adapter, pathFor } from "./adapters.ts";
import { asAnotherUser } from "./another-user.ts";
import { allowed } from "../../../src/testing/allowed.ts";

export type Session = Output<typeof listAgentSessions>["sessions"][number];

export interface BrainStage {
  /** The running daemon. */
  daemon(): BuiltDaemon;
  readonly model: FakeModel;
  readonly agentId: string;
  /** Writes to the agent as the board. The message starts a session. */
  tell(body: string): Promise<void>;
  /** The agent's sessions, oldest first. */
  sessions(): Promise<Session[]>;
  /** Waits for the end of this many sessions, and returns the last one. */
  ended(count: number, seconds?: number): Promise<Session>;
  transcript(session: Session): Promise<readonly TranscriptEntry[]>;
  /** Waits until the model was asked this many times. */
  asked(times: number, seconds?: number): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** The name of its provider. A program without a configured provider asks the usual ones. */
export const providerOf = (adapter: Adapter): string =>
  adapter.configOf === undefined ? "fake" : adapter.dialect;

/** The key of the provider. Sessions must never see it. */
export const key = "sk-the-key-that-no-session-may-see-0123456789";
/** Another key that the provider accepts. */
export const otherKey = "sk-another-key-that-no-session-may-see-0123456789";
export const price = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };

export async function onBrain(
  adapter: Adapter,
  script: ModelScript,
  play: (stage: BrainStage) => Promise<void>,
  how: {
    readonly config?: Readonly<Record<string, unknown>>;
    readonly env?: Readonly<Record<string, string>>;
    readonly effort?: "low" | "high";
    /** Other secrets of the company. */
    readonly secrets?: Readonly<Record<string, string>>;
    /** How many tokens the model can read. */
    readonly contextTokens?: number;
    /** The key that the provider accepts. */
    readonly key?: string;
    /** True if the daemon runs as a user other than root. */
    readonly asAnotherUser?: boolean;
  } = {},
): Promise<void> {
  const home = temporaryFolder("brain");
  const model = await startFakeModel({
    [how.key ?? key]: script,
    [otherKey]: always((asked) => script.reply(asked)),
  });
  const shown = temporaryFolder("shown");
  const started = how.asAnotherUser === true ? asAnotherUser(shown.path, home.path) : undefined;
  const options: DaemonOptions = {
    home: home.path,
    port: await fixedPort(),
    ...(started === undefined ? {} : { command: started.command }),
    env: { PATH: pathFor(adapter), AGENCY_ALLOW_UNSANDBOXED: "", ...started?.env, ...how.env },
  };
  let daemon: BuiltDaemon | undefined = await startDaemon(options).ready;
  const running = (): BuiltDaemon => daemon ?? assert.fail("no daemon runs");
  try {
    const { board, companyId } = daemon;
    await board.call(setSecret, { companyId, name: "FAKE_KEY", value: how.key ?? key });
    for (const [name, value] of Object.entries(how.secrets ?? {}))
      await board.call(setSecret, { companyId, name, value });
    const config = {
      dialect: adapter.dialect,
      baseUrl: model.url,
      secret: "FAKE_KEY",
      models: { [adapter.model]: { price, contextTokens: how.contextTokens } },
      defaultModel: adapter.model,
    };
    const provider = providerOf(adapter);
    await board.call(putProvider, { companyId, name: provider, config });
    const agent = await board.call(createAgent, {
      companyId,
      name: "Ada",
      role: "Engineer",
      adapterType: adapter.type,
      adapterConfig: {
        ...(adapter.configOf?.(daemon.url) ?? { ...adapter.config, provider }),
        ...how.config,
      },
      ...(how.effort === undefined ? {} : { effort: how.effort }),
    });
    const agentId = agent.id;
    const sessions = async (): Promise<Session[]> =>
      (await running().board.call(listAgentSessions, { id: agentId })).sessions.toReversed();
    await play({
      daemon: running,
      model,
      agentId,
      tell: async (body) => {
        await running().board.call(sendMessage, { companyId, to: agentId, body });
      },
      sessions,
      ended: async (count, seconds = 60) => {
        const all = await until(
          async () => {
            const over = (await sessions()).filter(({ endedAt }) => endedAt !== null);
            return over.length >= count ? over : undefined;
          },
          seconds,
          async () => `${count} sessions have not ended: ${JSON.stringify(await sessions())}`,
        );
        return all[count - 1] ?? assert.fail();
      },
      transcript: async ({ id }) => (await running().board.call(viewTranscript, { id })).entries,
      asked: async (times, seconds = 60) => {
        await until(
          async () => (model.calls.length >= times ? true : undefined),
          seconds,
          async () => `the model was asked ${model.calls.length} times, not ${times}`,
        );
      },
      kill: async () => {
        await running().kill();
        daemon = undefined;
      },
      stop: async () => {
        await running().stop();
        daemon = undefined;
      },
      start: async () => {
        daemon = await startDaemon(options).ready;
      },
    });
  } finally {
    await daemon?.stop();
    await model.stop();
    await nothingLeft(home.path);
    home.remove();
    shown.remove();
  }
}

async function nothingLeft(home: string): Promise<void> {
  await until(
    async () => (sessionProcesses(home).length === 0 ? true : undefined),
    20,
    async () => `processes are left: ${JSON.stringify(sessionProcesses(home))}`,
  );
}

/** Repeats `look` until it finds something. Fails with a sentence when the time is over. */
export async function until<T>(
  look: () => Promise<T | undefined>,
  seconds: number,
  about: () => Promise<string>,
): Promise<T> {
  for (const start = performance.now(); ; await sleep(100)) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() - start > allowed(seconds * 1000)) throw new Error(await about());
  }
}

/** A session that reads its inbox, takes these steps, acknowledges the message, submits its summary and ends. */
export const diligent = (...between: readonly Step[]): ModelScript => steps(...turns(...between));

export const turns = (...between: readonly Step[]): Step[] => [
  use("read_inbox"),
  ...between,
  use("acknowledge_message", (conversation) => ({ id: firstMessage(conversation), result: "done" })),
  use("submit_summary", { summary: "I did what the message asked for." }),
  answers("All is done."),
];

export const firstMessage = (conversation: Conversation): string => {
  const [message] = answerOf(conversation, "read_inbox").messages ?? [];
  return String(Object(message).id);
};

/** The newest result of a tool. A program may print a line before the answer, and notices may follow it. */
export const answerOf = (conversation: Conversation, tool: string) =>
  Object(
    JSON.parse(
      lastResult(conversation, tool)
        ?.split("\n")
        .find((line) => line.startsWith("{")) ?? "{}",
    ),
  );

/** Acknowledges the message that the conversation has read, submits a summary and ends. */
export const finish: Step = (conversation) => {
  const did = (tool: string): boolean =>
    conversation.entries.some((entry) => entry.kind === "call" && entry.tool.endsWith(tool));
  if (!did("acknowledge_message"))
    return use("acknowledge_message", { id: firstMessage(conversation), result: "done" })(conversation);
  if (!did("submit_summary")) return use("submit_summary", { summary: "Done." })(conversation);
  return { text: "All is done." };
};
