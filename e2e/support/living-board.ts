// The board of an organization of actors: it sets goals, writes messages, and now and then stops an agent. Like the actors, it
// remembers its attempts and the answers.
import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import { sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import type { Operation } from "../../src/contract/operation.ts";
import {
  type Agent,
  listAgents,
  pauseAgent,
  resumeAgent,
  terminateAgent,
} from "../../src/contract/agents.ts";
import { listOutcomes, updateOutcome } from "../../src/contract/outcomes.ts";
import { reclaimOutcome } from "../../src/contract/delegation.ts";
import type { Answer, Arena } from "./arena.ts";
import type { Staff } from "./agents.ts";
import type { Random } from "./random.ts";

export class Board {
  readonly attempts: { kind: "letter"; label: string; id: string | undefined }[] = [];
  readonly unexpected: string[] = [];
  /** Stops of sessions that were acknowledged. */
  stops = 0;
  readonly #arena: Arena;
  readonly #token: string;
  readonly #staff: Staff;
  readonly #companyId: string;
  readonly #random: Random;
  #labels = 0;

  constructor(parts: { arena: Arena; staff: Staff; token: string; companyId: string; random: Random }) {
    this.#arena = parts.arena;
    this.#token = parts.token;
    this.#staff = parts.staff;
    this.#companyId = parts.companyId;
    this.#random = parts.random;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#act();
      await sleep(this.#random.between(20, 150));
    }
  }

  /** Gives a goal to every agent that takes goals. The organization then has work to do. */
  async giveGoals(): Promise<void> {
    for (const id of [this.#staff.rootId, ...this.#staff.managerIds]) await this.#letter(id, "goal ", false);
  }

  /** Does everything that only the board can do: resumes paused agents, and unblocks failed or disputed work. */
  async helpOut(): Promise<void> {
    for (const { id, status } of await this.#agents())
      if (status === "paused") await this.#call(resumeAgent, { id });
    const open = await this.#call(listOutcomes, { companyId: this.#companyId, status: "open", limit: 1000 });
    if (open.kind !== "acknowledged") return;
    for (const { id, kind, blocked, responsible } of open.output.outcomes) {
      if (blocked === null || !/no progress|sent back twice/.test(blocked.reason)) continue;
      if (kind === "inbox") await this.#letter(responsible?.id ?? "", "try again ", false);
      else await this.#call(updateOutcome, { id, blocked: null });
    }
  }

  /** Counts the open outcomes, without standing ones, and the undelivered messages. */
  async openWork(): Promise<number> {
    let open = 0;
    for (const status of ["open", "submitted"] as const) {
      const answer = await this.#call(listOutcomes, { companyId: this.#companyId, status, limit: 1000 });
      if (answer.kind !== "acknowledged") return Number.NaN;
      open += answer.output.outcomes.filter(({ kind }) => kind !== "perpetual" && kind !== "mandate").length;
    }
    return open;
  }

  async #act(): Promise<void> {
    const dice = this.#random.next();
    if (dice < 0.3) {
      const { rootId, managerIds } = this.#staff;
      if (await this.#wantsWork())
        await this.#letter(this.#random.pick([rootId, ...managerIds]), "goal ", false);
      return;
    }
    const agents = await this.#agents();
    if (agents.length === 0) return;
    const { id, status } = this.#random.pick(agents);
    if (dice < 0.55) await this.#letter(id, "", false);
    else if (dice < 0.75) await this.#letter(id, "", true);
    else if (dice < 0.8) await this.#stop(pauseAgent, { id });
    else if (dice < 0.93) {
      if (status === "paused") await this.#call(resumeAgent, { id });
    } else if (dice < 0.96) {
      const workers = agents.filter(({ role }) => role === "Worker");
      if (workers.length > 0) await this.#stop(terminateAgent, { id: this.#random.pick(workers).id });
    } else {
      const workers = agents.filter(({ role }) => role === "Worker");
      if (workers.length > 0)
        await this.#stop(reclaimOutcome, { id: this.#random.pick(workers).mandateId, reason: "the board" });
    }
  }

  async #wantsWork(): Promise<boolean> {
    const open = await this.#call(listOutcomes, { companyId: this.#companyId, status: "open", limit: 1000 });
    return open.kind === "acknowledged" && open.output.outcomes.length < 40;
  }

  async #agents(): Promise<Agent[]> {
    const answer = await this.#call(listAgents, { companyId: this.#companyId, limit: 1000 });
    if (answer.kind !== "acknowledged") return [];
    return answer.output.agents.filter(({ status }) => status !== "terminated");
  }

  async #letter(to: string, start: string, later: boolean): Promise<void> {
    const body = `${start}board-${(this.#labels += 1)}`;
    const key = this.#random.chance(0.5) ? `key-${this.#labels}` : undefined;
    const attempt: (typeof this.attempts)[number] = { kind: "letter", label: body, id: undefined };
    this.attempts.push(attempt);
    const input = { companyId: this.#companyId, to, body };
    for (let tries = 0; tries < (key === undefined ? 1 : 50); tries++) {
      const deliverAt = new Date(Date.now() + this.#random.between(100, 2500)).toISOString();
      const answer = later
        ? await this.#call(sendDeferredMessage, { ...input, deliverAt })
        : await this.#call(sendMessage, input, key);
      if (answer.kind === "acknowledged") attempt.id = answer.output.id;
      if (answer.kind !== "lost" || later) return;
      await sleep(20);
    }
  }

  async #stop<I extends z.ZodObject>(operation: Operation<I>, input: z.input<I>): Promise<void> {
    if ((await this.#call(operation, input)).kind === "acknowledged") this.stops += 1;
  }

  async #call<I extends z.ZodObject, O extends z.ZodType>(
    operation: Operation<I, O>,
    input: z.input<I>,
    key?: string,
  ): Promise<Answer<z.infer<O>>> {
    const answer = await this.#arena.call(this.#token, operation, input, key);
    // Agents come and go, and some are paused already. A refusal for that reason isn't a fault.
    if (answer.kind === "refused" && !["refused", "conflict", "not_found"].includes(answer.code))
      this.unexpected.push(`${operation.name} was refused: ${answer.code}`);
    return answer;
  }
}
