// A home, the daemon that currently runs on it, and a way to call that daemon while it is killed and restarted.
import type { z } from "zod";
import { requestFor } from "../../src/client/client.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { type BuiltDaemon, type DaemonOptions, startDaemon } from "./daemon.ts";

export type Answer<T> =
  | { readonly kind: "acknowledged"; readonly output: T }
  | { readonly kind: "refused"; readonly status: number; readonly code: string; readonly details: unknown }
  /** There was no answer, or only part of one. The call may have taken effect or not. */
  | { readonly kind: "lost"; readonly why: string };

export class Arena {
  readonly options: DaemonOptions;
  /** How many daemons have been ready so far. */
  generation = 0;
  /** The answers with status 500 and above. None is expected while the store works. */
  readonly failures: string[] = [];
  #daemon: BuiltDaemon | undefined;
  #gate: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>();
  #inFlight = 0;

  constructor(options: DaemonOptions) {
    this.options = options;
  }

  get daemon(): BuiltDaemon {
    if (this.#daemon === undefined) throw new Error("no daemon runs");
    return this.#daemon;
  }

  /** Starts a daemon and waits until it answers. Waiting callers then continue, unless told to wait longer. */
  async start({ open = true } = {}): Promise<BuiltDaemon> {
    this.#daemon = await startDaemon(this.options).ready;
    this.generation += 1;
    if (open) this.resume();
    return this.#daemon;
  }

  /** Kills the daemon with SIGKILL, in the middle of every running call. New calls wait for the next daemon. */
  async kill(): Promise<void> {
    const { daemon } = this;
    this.#daemon = undefined;
    this.pause();
    await daemon.kill();
  }

  async stop(): Promise<void> {
    const { daemon } = this;
    this.#daemon = undefined;
    this.pause();
    const { code, signal } = await daemon.stop();
    if (code !== 0) throw new Error(`the daemon ended with ${code ?? signal ?? ""}: ${daemon.log()}`);
  }

  /** Ends the daemon, whatever state it was in. Callers that wait for a daemon then wait for ever. */
  async end(): Promise<void> {
    if (this.#daemon !== undefined) await this.kill();
  }

  /** Starts a daemon and kills it after a while, ready or not. It gets no calls. */
  async killWhileStarting(milliseconds: number): Promise<void> {
    const starting = startDaemon(this.options);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    await starting.kill();
  }

  /** Holds new calls back. Resolves when no call is running. */
  async quiet(): Promise<void> {
    this.pause();
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  pause(): void {
    this.#gate ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  /** Calls the daemon, or the next one when none runs. */
  async call<I extends z.ZodObject, O extends z.ZodType>(
    token: string,
    operation: Operation<I, O>,
    input: z.input<I>,
    key?: string,
  ): Promise<Answer<z.infer<O>>> {
    while (this.#gate !== undefined) await this.#gate.promise;
    const { url } = this.daemon;
    const { path, body } = requestFor(operation, { ...input });
    this.#inFlight += 1;
    try {
      const response = await fetch(new URL(path, url), {
        method: operation.http.method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(body === undefined ? {} : { body }),
      });
      const answer: unknown = await response.json();
      if (response.status >= 500) {
        this.failures.push(`${operation.name}: ${response.status}`);
        return { kind: "lost", why: `${response.status}` };
      }
      if (response.ok) return { kind: "acknowledged", output: operation.output.parse(answer) };
      const error = refusalIn(answer);
      return { kind: "refused", status: response.status, ...error };
    } catch (error) {
      return { kind: "lost", why: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#inFlight -= 1;
    }
  }
}

function refusalIn(answer: unknown): { code: string; details: unknown } {
  const error: unknown =
    typeof answer === "object" && answer !== null && "error" in answer ? answer.error : undefined;
  if (typeof error !== "object" || error === null) return { code: "", details: undefined };
  return {
    code: String(Reflect.get(error, "code")),
    details: Reflect.get(error, "details"),
  };
}
