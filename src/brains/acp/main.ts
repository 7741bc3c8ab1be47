import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import {
  client,
  type ClientContext,
  type InitializeResponse,
  type McpServer,
  methods,
  ndJsonStream,
  type NewSessionRequest,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
} from "@agentclientprotocol/sdk";
import { z } from "zod";
import { expanded, ownServer, serversIn } from "../mcp-config.ts";
import { runToEnd, SessionEnd, tell } from "../own-program.ts";
import { continued } from "../texts.ts";
import { chooseIn } from "./choices.ts";
import { answerPermission, type SessionRights } from "./permission.ts";
import { AcpSession } from "./acp-session.ts";
import * as texts from "./texts.ts";
import { entriesOf } from "./updates.ts";
import { watchTools, type WatchedTools } from "./watched-tools.ts";

/**
 * The process of a session with the brain `acp`. It starts the agent's program and speaks the Agent Client Protocol with it
 * over standard input and output. It tells the daemon everything that the program says and does.
 */
const url = process.env["AGENCY_URL"] ?? "";
const token = process.env["AGENCY_TOKEN"] ?? "";
const session = AcpSession.parse(JSON.parse(process.env["AGENCY_SESSION_SETTINGS"] ?? ""));
const { command, workspace } = session;
/** A program that has not ended after this time is killed. */
const patience = 3000;
/** How long a program may take to get the list of tools before it gets its prompt. */
const connecting = 10_000;

const child = start();
const ended = new Promise<string>((resolve) => {
  child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code ?? 0}` : signal));
  child.once("error", (error) => resolve(error.message));
});
let cancel = (): void => undefined;
process.once("SIGTERM", () => {
  cancel();
  void Promise.race([ended, sleep(patience)]).then(() => {
    child.kill("SIGKILL");
    process.exit(143);
  });
});

const Tokens = z
  .number()
  .nullish()
  .transform((count) => count ?? 0);
const WithUsage = z.looseObject({
  usage: z.looseObject({
    inputTokens: Tokens,
    outputTokens: Tokens,
    cachedReadTokens: Tokens,
    cachedWriteTokens: Tokens,
  }),
});

await runToEnd(async () => {
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (error) =>
      reject(new SessionEnd("missing", texts.programMissing(command, error.message))),
    );
    child.once("exit", (code) => {
      if (code === 126 || code === 127)
        reject(new SessionEnd("missing", texts.programMissing(command, `exit code ${code}`)));
    });
  });
  try {
    await Promise.race([failed, converse()]);
  } catch (error) {
    // The program's exit says more than that the connection is closed.
    const how = error instanceof SessionEnd ? undefined : await Promise.race([ended, sleep(1000)]);
    throw how === undefined ? error : new SessionEnd("failed", texts.programEnded(command, how));
  } finally {
    child.kill("SIGTERM");
    await Promise.race([ended, sleep(patience)]);
    child.kill("SIGKILL");
  }
});

/** Programs that read the usual variables find their models at the gateway. The agent's configuration takes precedence. */
function start(): ChildProcess {
  const { AGENCY_SESSION_SETTINGS: _, ...own } = process.env;
  const models = {
    ANTHROPIC_BASE_URL: `${url}/model/anthropic`,
    ANTHROPIC_AUTH_TOKEN: token,
    OPENAI_BASE_URL: `${url}/model/openai/v1`,
    OPENAI_API_KEY: token,
    // Claude accepts a model that it does not list only from this variable.
    ...(session.model === null ? {} : { ANTHROPIC_MODEL: session.model }),
  };
  return spawn(command, session.args, {
    cwd: workspace,
    env: { ...models, ...own },
    stdio: ["pipe", "pipe", "inherit"],
  });
}

async function converse(): Promise<void> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the program has no pipes");
  stdin.on("error", () => undefined);
  const Settings = z.object({ permissions: z.object({ deny: z.array(z.string()) }) });
  const { permissions } = Settings.parse(JSON.parse(readFileSync(session.settingsFile, "utf8")));
  const rights: SessionRights = {
    denied: permissions.deny,
    servers: serversIn(session.mcpConfigFile).map(([name]) => name),
    workspace,
    home: process.env["HOME"] ?? workspace,
    mayReach,
  };
  const { hear, end, lastPiece } = entriesOf(tell);
  let isHeard = false;
  const app = client({ name: "agency" })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      const { refusal, response } = await answerPermission(params, rights);
      const asked = params.toolCall.title ?? params.toolCall.name ?? "";
      if (refusal !== undefined) tell({ kind: "error", text: texts.denied(asked, refusal) });
      return response;
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      if (isHeard) hear(params.update);
    });
  const stream = ndJsonStream(Writable.toWeb(stdin), bytesOf(stdout));
  await app.connectWith(stream, async (agent) => {
    const found = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
      clientInfo: { name: "agency", version: "1" },
    });
    if (found.agentCapabilities?.mcpCapabilities?.http !== true)
      throw new SessionEnd("failed", texts.noHttpServers(command));
    const tools = await ownDoor();
    const { sessionId, isNew, offered } = await open(agent, found, tools.url).catch((error: unknown) => {
      throw endBy(error, found);
    });
    const { model, effort } = session;
    for (const problem of await chooseIn(agent, { command, sessionId, offered, model, effort }))
      tell({ kind: "error", text: problem });
    // A program that connects only after its prompt is not waited for any longer.
    await Promise.race([tools.listed, sleep(connecting)]);
    tell({ kind: "thread", id: sessionId });
    isHeard = true;
    cancel = () => void agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => undefined);
    const briefing = await text(process.stdin);
    const prompt = readFileSync(session.systemPromptFile, "utf8");
    const first = isNew ? texts.openingPrompt(prompt, briefing) : `${continued}\n\n${briefing}`;
    const answer = await agent
      .request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: first }] })
      .catch((error: unknown) => {
        throw endBy(error, found);
      });
    // The last pieces may arrive right after the answer.
    await sleep(20);
    end();
    tellUsage(answer);
    const { stopReason } = answer;
    const lastError = stopReason === "end_turn" ? causeIn(lastPiece()) : undefined;
    if (lastError !== undefined) throw new SessionEnd(lastError, lastPiece().replaceAll(/\s+/g, " "));
    if (stopReason !== "end_turn")
      throw new SessionEnd(
        stopReason === "max_tokens" ? "out_of_context" : "failed",
        texts.stoppedBecause[stopReason] ?? stopReason,
      );
  });
}

function bytesOf(stdout: Readable): ReadableStream<Uint8Array> {
  return ReadableStream.from(stdout);
}

/** A proxy in front of Agency's own tools, which notices when the program has them. */
async function ownDoor(): Promise<WatchedTools> {
  const own = serversIn(session.mcpConfigFile).find(([name]) => name === ownServer)?.[1].url;
  if (own === undefined) throw new Error("the settings do not name Agency's tools");
  return watchTools(own);
}

/** Opens a conversation: that of the cut-off session if the program can continue it, otherwise a new one. */
async function open(
  agent: ClientContext,
  { agentCapabilities }: InitializeResponse,
  ownUrl: string,
): Promise<{ sessionId: string; isNew: boolean; offered: readonly SessionConfigOption[] }> {
  const mcpServers = serversIn(session.mcpConfigFile).flatMap(([name, server]): McpServer[] => {
    if (server.url !== undefined)
      return [
        { type: "http", name, url: name === ownServer ? ownUrl : server.url, headers: pairs(server.headers) },
      ];
    if (server.command === undefined) return [];
    return [{ name, command: server.command, args: server.args ?? [], env: pairs(server.env) }];
  });
  const place: NewSessionRequest = { cwd: workspace, mcpServers };
  const { resume } = session;
  const resumes = agentCapabilities?.sessionCapabilities?.resume != null;
  if (resume !== null && (resumes || agentCapabilities?.loadSession === true))
    try {
      const known = { ...place, sessionId: resume };
      const { configOptions } = resumes
        ? await agent.request(methods.agent.session.resume, known)
        : await agent.request(methods.agent.session.load, known);
      return { sessionId: resume, isNew: false, offered: configOptions ?? [] };
    } catch (error) {
      tell({ kind: "output", text: `${error instanceof Error ? error.message : String(error)}\n` });
    }
  const created = await agent.request("session/new", place);
  return { sessionId: created.sessionId, isNew: true, offered: created.configOptions ?? [] };
}

/** Asks the daemon each time, because a right may be given or taken while the session runs. */
async function mayReach(host: string): Promise<boolean> {
  const asked = new URL("/api/access", url);
  asked.searchParams.set("resource", `net:${host}`);
  try {
    const answer = await fetch(asked, { headers: { authorization: `Bearer ${token}` } });
    return answer.ok && z.object({ allowed: z.boolean() }).parse(await answer.json()).allowed;
  } catch {
    return false;
  }
}

function pairs(values: Readonly<Record<string, string>> | undefined): { name: string; value: string }[] {
  return Object.entries(expanded(values ?? {})).map(([name, value]) => ({ name, value }));
}

/** -32000 is the protocol's code for a program that is not signed in. For all other errors, the program's own words decide. */
function endBy(error: unknown, { authMethods = [] }: InitializeResponse): unknown {
  if (!(error instanceof RequestError)) return error;
  const says = `${error.message} ${detailsIn(error.data)}`.trim();
  const ways = authMethods.map(({ name }) => name);
  if (error.code === -32_000) return new SessionEnd("signed_out", texts.mustSignIn(command, says, ways));
  return new SessionEnd(complaintIn(says) ?? "failed", says);
}

function complaintIn(says: string): "signed_out" | "overloaded" | undefined {
  if (/\b401\b|authentication|unauthorized/i.test(says)) return "signed_out";
  return /\b(429|503|529)\b|overloaded|rate.?limit/i.test(says) ? "overloaded" : undefined;
}

/**
 * When its model was refused, Copilot ends its turn normally and says the error as one whole piece. The words of a model come
 * in many pieces, so a model that writes about an error is not mistaken for one.
 */
function causeIn(piece: string): "signed_out" | "overloaded" | undefined {
  return piece.startsWith("Error:") ? complaintIn(piece) : undefined;
}

function detailsIn(data: unknown): string {
  return data === undefined || data === null ? "" : typeof data === "string" ? data : JSON.stringify(data);
}

/** Some programs report their usage. The gateway books what really passed it. */
function tellUsage(answer: unknown): void {
  const { data } = WithUsage.safeParse(answer);
  if (data === undefined) return;
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens } = data.usage;
  tell({
    kind: "output",
    text: texts.usedBy(inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens),
  });
}
