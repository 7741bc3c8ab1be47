// Clients that write knowledge and outcomes without pause, whatever happens to the daemon. They record their attempts and the
// answers in a History. About half of the writes have an idempotency key. After a restart, a client repeats a keyed write
// without an answer unchanged, until it gets an answer.
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { createFile, viewHistory, writeFile } from "../../src/contract/knowledge.ts";
import type { Operation } from "../../src/contract/operation.ts";
import {
  closeOutcome,
  completeOutcome,
  createOutcome,
  type Outcome,
  reopenOutcome,
  updateOutcome,
  viewOutcome,
} from "../../src/contract/outcomes.ts";
import type { Answer, Arena } from "./arena.ts";
import type { FileAttempt, History, OutcomeAction, OutcomeAttempt, OutcomeState } from "./history.ts";
import type { Random } from "./random.ts";

/** A file as a client last saw it. All clients write shared files: one of them wins, the others are refused. */
export interface Pair {
  readonly id: string;
  version: number;
  hash: string;
}

export interface WriterParts {
  readonly arena: Arena;
  readonly history: History;
  readonly random: Random;
  /** A few letters that are unique to this client. */
  readonly name: string;
  readonly token: string;
  readonly companyId: string;
  /** The outcome below which it creates its outcomes. */
  readonly parentId: string;
  readonly shared: readonly Pair[];
  /** The longest pause between two writes, in milliseconds. */
  readonly pause: number;
}

export class Writer {
  readonly #parts: WriterParts;
  readonly #files: Pair[] = [];
  readonly #outcomes: { id: string; label: string; status: string }[] = [];
  readonly #answered: Sent[] = [];
  #labels = 0;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** Writes until told to stop. Finishes the current write first, through restarts if necessary. */
  async run(signal: AbortSignal): Promise<void> {
    const { arena, random } = this.#parts;
    let generation = arena.generation;
    while (!signal.aborted) {
      if (arena.generation !== generation) {
        generation = arena.generation;
        await this.#sendAgain();
      }
      const dice = random.next();
      if (dice < 0.25) await this.createFile();
      else if (dice < 0.5) await this.#overwrite(this.#files);
      else if (dice < 0.6) await this.#overwrite(this.#parts.shared);
      else await this.#changeOutcome();
      await new Promise((resolve) => setTimeout(resolve, random.between(0, this.#parts.pause)));
    }
  }

  async createFile(): Promise<Pair | undefined> {
    const { history, companyId } = this.#parts;
    const label = this.#label();
    const { bytes, source } = this.#content(label);
    const attempt = fileAttempt(label, null, 0, bytes);
    history.files.push(attempt);
    const answer = await this.#write(createFile, { companyId, description: label, ...source });
    return this.#settle(attempt, answer, this.#files);
  }

  async #overwrite(from: readonly Pair[]): Promise<void> {
    const { history, random } = this.#parts;
    if (from.length === 0) return;
    const file = random.pick(from);
    const { id, version, hash } = file;
    const label = this.#label();
    const { bytes, source } = this.#content(label);
    const attempt = fileAttempt(label, id, version, bytes);
    history.files.push(attempt);
    const answer = await this.#write(writeFile, { id, version, hash, ...source });
    const saved = this.#settle(attempt, answer, undefined);
    if (saved !== undefined && saved.version > file.version) Object.assign(file, saved);
    else if (saved === undefined) await this.#look(file);
  }

  #settle(
    attempt: FileAttempt,
    answer: Answer<{ id: string; version: number; hash: string }>,
    keep: Pair[] | undefined,
  ): Pair | undefined {
    const { history } = this.#parts;
    if (answer.kind === "acknowledged") {
      history.acknowledged += 1;
      attempt.verdict = "acknowledged";
      attempt.saved = answer.output;
      const pair = { ...answer.output };
      keep?.push(pair);
      return pair;
    }
    if (answer.kind === "refused") {
      attempt.verdict = "refused";
      if (answer.code !== "conflict") history.problems.push(`${attempt.label} was refused: ${answer.code}`);
    }
    return undefined;
  }

  /** Reads the current version after a lost or outdated write. */
  async #look(file: Pair): Promise<void> {
    const answer = await this.#untilAnswered(viewHistory, { id: file.id, limit: 1 });
    const newest = answer.kind === "acknowledged" ? answer.output.versions[0] : undefined;
    if (newest !== undefined) Object.assign(file, { version: newest.version, hash: newest.hash });
    else this.#parts.history.problems.push(`file ${file.id} has no history: ${JSON.stringify(answer)}`);
  }

  async #changeOutcome(): Promise<void> {
    const { companyId, parentId, random } = this.#parts;
    const outcome = this.#outcomes.length === 0 ? undefined : random.pick(this.#outcomes);
    if (outcome === undefined || random.chance(0.3)) {
      const label = this.#label();
      const state = { title: `Outcome ${label}`, description: filler(random, 10, 3000) };
      const change = { ...state, status: "open", rationale: null };
      await this.#attempt({ action: "create", label, outcomeId: null, change }, createOutcome, {
        companyId,
        parents: [parentId],
        acceptance: label,
        ...state,
      });
      return;
    }
    const { id } = outcome;
    const words = `${this.#label()} ${filler(random, 5, 200)}`;
    const start = { label: outcome.label, outcomeId: id };
    if (outcome.status !== "open") {
      const change = { status: "open", rationale: null };
      await this.#attempt({ action: "reopen", ...start, change }, reopenOutcome, { id, reason: words });
      return;
    }
    const dice = random.next();
    if (dice < 0.5) {
      const change = random.chance(0.5) ? { title: words.trim() } : { description: words };
      await this.#attempt({ action: "update", ...start, change }, updateOutcome, { id, ...change });
    } else if (dice < 0.75) {
      const change = { status: "completed" };
      await this.#attempt({ action: "complete", ...start, change }, completeOutcome, { id, note: words });
    } else {
      const change = { status: "closed", rationale: words };
      await this.#attempt({ action: "close", ...start, change }, closeOutcome, { id, rationale: words });
    }
  }

  async #attempt<I extends z.ZodObject>(
    plan: { action: OutcomeAction; label: string; outcomeId: string | null; change: Partial<OutcomeState> },
    operation: Operation<I, typeof Outcome>,
    input: z.input<I>,
  ): Promise<void> {
    const { history } = this.#parts;
    const attempt: OutcomeAttempt = { ...plan, verdict: "open", id: undefined };
    history.outcomes.push(attempt);
    const answer = await this.#write(operation, input);
    const known = this.#outcomes.find(({ id }) => id === plan.outcomeId);
    if (answer.kind === "acknowledged") {
      history.acknowledged += 1;
      attempt.verdict = "acknowledged";
      attempt.id = answer.output.id;
      if (known !== undefined) known.status = answer.output.status;
      else this.#outcomes.push({ id: answer.output.id, label: plan.label, status: answer.output.status });
      return;
    }
    if (answer.kind === "refused") {
      attempt.verdict = "refused";
      history.problems.push(`${plan.action} of outcome ${plan.label} was refused: ${answer.code}`);
    }
    if (known === undefined) return;
    const now = await this.#untilAnswered(viewOutcome, { id: known.id });
    if (now.kind === "acknowledged") known.status = now.output.status;
    else history.problems.push(`outcome ${known.id} cannot be seen: ${JSON.stringify(now)}`);
  }

  /** Makes a write. With a key it is repeated until there is an answer. Without a key a lost answer stays lost. */
  async #write<I extends z.ZodObject, O extends z.ZodType>(
    operation: Operation<I, O>,
    input: z.input<I>,
  ): Promise<Answer<z.infer<O>>> {
    const { arena, history, random, token } = this.#parts;
    const key = random.chance(0.5) ? `key-${this.#label()}` : undefined;
    for (;;) {
      const answer = await arena.call(token, operation, input, key);
      if (answer.kind === "lost") {
        history.lost += 1;
        if (key === undefined) return answer;
        history.repeated += 1;
        await breath();
        continue;
      }
      if (answer.kind === "acknowledged" && key !== undefined) {
        const again = (): Promise<Answer<unknown>> => arena.call(token, operation, input, key);
        this.#answered.push({ key, again, output: answer.output });
        if (this.#answered.length > 4) this.#answered.shift();
      }
      return answer;
    }
  }

  async #untilAnswered<I extends z.ZodObject, O extends z.ZodType>(
    operation: Operation<I, O>,
    input: z.input<I>,
  ): Promise<Answer<z.infer<O>>> {
    const { arena, token } = this.#parts;
    for (;;) {
      const answer = await arena.call(token, operation, input);
      if (answer.kind !== "lost") return answer;
      await breath();
    }
  }

  /** A key that was answered before the daemon was killed gets the same answer from the next daemon. */
  async #sendAgain(): Promise<void> {
    const { history } = this.#parts;
    const sent = this.#answered.pop();
    if (sent === undefined) return;
    const answer = await sent.again();
    if (answer.kind === "lost") return;
    if (answer.kind === "acknowledged" && isDeepStrictEqual(answer.output, sent.output))
      history.answeredAgain += 1;
    else
      history.problems.push(`${sent.key} was answered differently: ${JSON.stringify(answer).slice(0, 300)}`);
  }

  /** Returns ten characters. The smallest content is only its label, and must have ten bytes. */
  #label(): string {
    this.#labels += 1;
    return `${this.#parts.name}-${String(this.#labels).padStart(9 - this.#parts.name.length, "0")}`;
  }

  /** Makes content of ten bytes to 300 kB, mostly small. A third of it is bytes that aren't text. */
  #content(label: string): { bytes: Buffer; source: { content: string; encoding: "utf8" | "base64" } } {
    const { random } = this.#parts;
    const size = Math.floor(
      random.chance(0.05) ? random.between(30_000, 300_000) : 10 * 3000 ** random.next(),
    );
    const rest = Math.max(0, size - label.length);
    if (random.chance(0.33)) {
      const bytes = Buffer.concat([Buffer.from(label), random.bytes(rest)]);
      return { bytes, source: { content: bytes.toString("base64"), encoding: "base64" } };
    }
    const content = label + filler(random, rest, rest);
    return { bytes: Buffer.from(content), source: { content, encoding: "utf8" } };
  }
}

/** The pause before a repeated call: a daemon without its database refuses at once. */
function breath(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

interface Sent {
  readonly key: string;
  readonly again: () => Promise<Answer<unknown>>;
  readonly output: unknown;
}

function fileAttempt(label: string, fileId: string | null, base: number, bytes: Buffer): FileAttempt {
  return {
    label,
    fileId,
    base,
    hash: hash("sha256", bytes),
    size: bytes.byteLength,
    verdict: "open",
    saved: undefined,
  };
}

const prose = "The quick brown fox jumps over the lazy dog; a journal remembers what was promised. ".repeat(
  4000,
);

function filler(random: Random, least: number, most: number): string {
  const length = random.between(least, most);
  const start = random.between(0, prose.length - length);
  return prose.slice(start, start + length);
}
