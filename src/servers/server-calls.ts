import type { CallToolResult, Client, RequestOptions } from "@modelcontextprotocol/client";
import { z } from "zod";
import { storedConfig, type ServerRow } from "../companies/mcp-servers.ts";
import { Refusal } from "../contract/refusal.ts";
import { shown } from "../contract/visible-text.ts";
import { callContext } from "../dispatch/context.ts";
import type { Caller } from "../dispatch/identity.ts";
import type { Hide } from "../redaction/known-texts.ts";
import type { Store } from "../store/store.ts";
import { messageOf, type ServerConnection } from "./connection.ts";
import { mcpClient } from "./mcp-client.ts";
import { markedAnswer, scrubbedResult } from "./server-answers.ts";
import * as texts from "./texts.ts";

/**
 * Calls of servers, after they were checked and recorded (use.ts). Reading resources and prompts is a call too.
 *
 *   opened ──answered──▶ done | failed      the server answered, or could not
 *          ──right ended, session ended, record changed──▶ cut
 *          ──client gone or cancelled──▶ cancelled
 */
export interface ServerUser {
  readonly token: string | undefined;
  readonly as: string | undefined;
  readonly caller: Caller;
  readonly companyId: string;
  readonly agentId: string;
  readonly row: ServerRow;
}

export interface ServerCall {
  readonly id: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isRepeated: boolean;
  readonly gone: AbortSignal;
  readonly progress?: (update: { progress: number; total?: number; message?: string }) => void;
}

/** Any other request of the protocol: resources and prompts. */
export interface ServerRequest {
  readonly id: string;
  readonly method: string;
  readonly params?: Record<string, unknown>;
  readonly gone: AbortSignal;
}

/** A connection, with the facts that its calls need. */
export interface UsedConnection {
  readonly connection: ServerConnection;
  /** Hides the presently known secrets. */
  readonly hider: () => Hide;
  calls: number;
  usedAt: number;
}

export interface RunningCall {
  readonly held: ServerUser;
  readonly cut: (why: Refusal) => void;
}

const mostOfAgent = 16;
const mostOfServer = 64;
const mostAnswer = 4 * 1024 * 1024;
const usualSeconds = 300;
/** The longest that a call may take, however much progress a server reports. */
const longestSeconds = 3600;
const betweenProgress = 100;
const mostKeptAnswers = 50;
const mostKeptBytes = 64 * 1024;

export function serverCalls(parts: {
  readonly store: Store;
  readonly newId: () => string;
  readonly reportBug: (error: unknown, about: string) => string;
  /** Checks all rights that open calls rest on. */
  readonly check: () => Promise<void>;
}) {
  const open = new Set<RunningCall>();
  /** The answers of all running calls, and of the last ones that ended. */
  const answers = new Map<string, Promise<CallToolResult>>();
  const ended: string[] = [];

  /** Lets `ask` work with the server while the right is valid and the limits allow it. */
  async function perform<T>(
    used: UsedConnection,
    held: ServerUser,
    call: { readonly id: string; readonly tool: string; readonly gone: AbortSignal },
    ask: (client: Client, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const { name } = held.row;
    const { tool } = call;
    if (used.calls >= mostOfAgent) throw texts.tooManyServerCalls(name, mostOfAgent);
    const isSame = ({ held: { companyId, row } }: RunningCall) =>
      companyId === held.companyId && row.name === name;
    if ([...open].filter(isSame).length >= mostOfServer) throw texts.serverIsBusy(name, mostOfServer);
    const begun = performance.now();
    const ended = new AbortController();
    const seconds = storedConfig(held.row).timeoutSeconds ?? usualSeconds;
    let status: "done" | "failed" | "cut" | "cancelled" = "failed";
    let bytes = 0;
    let cause: Refusal | undefined;
    const end = (as: typeof status, why: Refusal): void => {
      if (cause !== undefined) return;
      [cause, status] = [why, as];
      ended.abort(cause);
    };
    const entry: RunningCall = { held, cut: (why) => end("cut", why) };
    const onGone = (): void => end("cancelled", texts.callCancelled(name, tool));
    call.gone.addEventListener("abort", onGone);
    if (call.gone.aborted) onGone();
    open.add(entry);
    used.calls++;
    try {
      // The right may have ended between the check and this line.
      await parts.check();
      const client = await whileOpen(used.connection.ready(), ended.signal);
      const answer = await ask(client, {
        signal: ended.signal,
        timeout: seconds * 1000,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: Math.max(longestSeconds, seconds) * 1000,
      });
      bytes = JSON.stringify(answer).length;
      if (bytes > mostAnswer) throw texts.answerTooLarge(name, tool, bytes, mostAnswer);
      status = "done";
      return answer;
    } catch (error) {
      throw cause ?? (await failure(used, name, tool, seconds, error));
    } finally {
      open.delete(entry);
      used.calls--;
      used.usedAt = performance.now();
      call.gone.removeEventListener("abort", onGone);
      const milliseconds = Math.round(performance.now() - begun);
      await record(held, { server: name, tool, call: call.id, status, bytes, milliseconds });
    }
  }

  async function record(held: ServerUser, data: Readonly<Record<string, unknown>>): Promise<void> {
    const { caller, companyId } = held;
    const { newId } = parts;
    try {
      await parts.store.write(async (tx) => {
        await tx.lock(companyId);
        const operation = "mcp_server.answer";
        const call = callContext(tx, { caller, companyId, newId, newSecret: newId, operation });
        await call.record(held.agentId, data);
      });
    } catch (error) {
      parts.reportBug(error, "answer of an MCP server");
    }
  }

  async function callTool(
    connect: () => UsedConnection,
    held: ServerUser,
    call: ServerCall,
  ): Promise<CallToolResult> {
    const used = connect();
    const answer = await perform(used, held, call, (client, options) =>
      client.request(
        { method: "tools/call", params: { name: call.tool, arguments: { ...call.arguments } } },
        { ...options, onprogress: passing(used, call) },
      ),
    );
    return markedAnswer(held.row.name, answer, used.hider());
  }

  /** Keeps the answer for a client that repeats its call. An answer that is too large is replaced by a refusal. */
  function keep(call: ServerCall, server: string, answer: Promise<CallToolResult>): void {
    answers.set(call.id, answer);
    const forget = (made: unknown): void => {
      if (JSON.stringify(made).length > mostKeptBytes)
        answers.set(call.id, Promise.reject(texts.answerNotKept(server, call.tool)));
      answers.get(call.id)?.catch(() => undefined);
      ended.push(call.id);
      for (const id of ended.splice(0, ended.length - mostKeptAnswers)) answers.delete(id);
    };
    void answer.then(forget, () => forget(""));
  }

  return {
    open: (): readonly RunningCall[] => [...open],

    /** The same call again gets the same answer. It is never made twice: the server may have acted on it. */
    call: (connect: () => UsedConnection, held: ServerUser, call: ServerCall): Promise<CallToolResult> => {
      const known = answers.get(call.id);
      if (known !== undefined) return known;
      if (call.isRepeated) throw texts.answerNotKept(held.row.name, call.tool);
      const answer = callTool(connect, held, call);
      keep(call, held.row.name, answer);
      return answer;
    },

    request: async (
      used: UsedConnection,
      held: ServerUser,
      { id, method, params, gone }: ServerRequest,
    ): Promise<Record<string, unknown>> => {
      const answer = await perform(used, held, { id, tool: method, gone }, (client, options) =>
        client.request({ method, ...(params && { params }) }, z.looseObject({}), options),
      );
      return scrubbedResult(answer, used.hider());
    },
  };
}

/** Translates a failed request for its caller, and tells the connection. */
async function failure(
  used: UsedConnection,
  name: string,
  tool: string,
  seconds: number,
  error: unknown,
): Promise<unknown> {
  if (error instanceof Refusal) return error;
  const says = used.hider()(messageOf(error)).slice(0, 2000);
  const { ProtocolError, SdkError, SdkErrorCode } = await mcpClient();
  // The server understood the request and answered with an error. Any other failure is a failure of the connection.
  if (error instanceof ProtocolError) return texts.serverRefuses(name, says);
  const code = error instanceof SdkError ? error.code : undefined;
  if (code === SdkErrorCode.RequestTimeout) return texts.callTimedOut(name, tool, seconds);
  if (code !== SdkErrorCode.InvalidResult) used.connection.failed(error);
  // The connection knows why it was closed.
  return texts.serverEndedMeanwhile(name, used.connection.trouble() ?? says);
}

/** Passes on only as many notices of progress as a person can follow, with the server's words shortened. */
function passing(
  { hider }: UsedConnection,
  { progress: pass }: ServerCall,
): NonNullable<RequestOptions["onprogress"]> {
  let last = -Infinity;
  return ({ progress, total, message }) => {
    if (performance.now() - last < betweenProgress) return;
    last = performance.now();
    pass?.({
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message: shown(hider()(message)).slice(0, 1000) }),
    });
  };
}

/** The promise, or the reason of the signal if that comes first. */
export function whileOpen<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
    work.then(resolve, reject);
  });
}
