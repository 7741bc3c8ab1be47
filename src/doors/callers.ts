import type { Limits } from "../contract/limits.ts";
import type { Dispatch } from "../dispatch/dispatch.ts";
import { type Caller, hashToken } from "../dispatch/identity.ts";
import { Slots } from "./slots.ts";
import { tooManyAtOnce, tooManyBytes, tooManyCalls } from "./texts.ts";

/**
 * What each caller may take, in order that none can slow the others down. A caller is a credential; all callers without a
 * valid one share a single small account.
 *
 * A request passes three gates. admit() looks at the credential before a byte of the body is read, and limits the rate.
 * `Account.hold` limits the bytes of requests that are not answered yet. fairly() limits how many calls of a caller run at a
 * time; calls that take long run one at a time in all with rests between them, and each caller has one of them in line.
 *
 * The check in admit() only decides whose account counts. It may be a few seconds old: the transaction of every call checks
 * the credential again.
 */
export interface CallerParts {
  readonly limits: Limits;
  readonly authenticate: (token: string | undefined) => Promise<Caller>;
  /** Milliseconds on a clock that only moves forward. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

export class Callers {
  readonly #parts: CallerParts;
  readonly #known = new Map<string, Account>();
  readonly #strangers: Account;
  readonly #heavy = new Slots(1, Number.MAX_SAFE_INTEGER);
  #held = 0;
  #sweptAt = 0;

  constructor(parts: CallerParts) {
    this.#parts = parts;
    this.#strangers = new Account(parts, parts.limits.strangerCallsPerSecond, this.#count);
  }

  /** The account of this credential. Throws if the credential is not valid, or if the account is used up. */
  async admit(token: string | undefined): Promise<Account> {
    const now = this.#parts.clock();
    this.#sweep(now);
    const known = this.#accountOf(token);
    if (known !== undefined && now - known.checkedAt < trustMilliseconds) return known.charge(now);
    const caller = await this.#parts.authenticate(token).catch((error: unknown) => {
      (known ?? this.#strangers).charge(now);
      throw error;
    });
    const account = known ?? this.#open(token, caller);
    account.checkedAt = now;
    return account.charge(now);
  }

  /** Runs the calls of each caller a few at a time, and long ones one at a time. */
  fairly(dispatch: Dispatch): Dispatch {
    return (request) => {
      const { operation, token, bytes = 0 } = request;
      const account = this.#accountOf(token) ?? this.#strangers;
      const isLong =
        operation.heavy?.({ ...Object(request.input) }) === true || bytes > this.#parts.limits.bodyBytes;
      const work = (): Promise<unknown> => dispatch(request);
      return isLong
        ? account.heavy.run(() => this.#rested(work), tooManyAtOnce)
        : account.calls.run(work, tooManyAtOnce);
    };
  }

  /** Runs long work in its turn. The next turn comes after a rest: long work takes a third of the time at most. */
  #rested<T>(work: () => Promise<T>): Promise<T> {
    const answer = Promise.withResolvers<T>();
    void this.#heavy.run(async () => {
      const begun = this.#parts.clock();
      const running = work();
      answer.resolve(running);
      await running.catch(() => undefined);
      await this.#parts.sleep(Math.min(2000, 2 * (this.#parts.clock() - begun)));
    }, tooManyAtOnce);
    return answer.promise;
  }

  #accountOf(token: string | undefined): Account | undefined {
    return token === undefined ? undefined : this.#known.get(hashToken(token));
  }

  #open(token: string | undefined, { actor }: Caller): Account {
    const { limits } = this.#parts;
    const rate = actor.kind === "agent" ? limits.agentCallsPerSecond : limits.boardCallsPerSecond;
    const account = new Account(this.#parts, rate, this.#count);
    // Two first requests of a credential may arrive together. The first account stays.
    return this.#known.getOrInsert(hashToken(token ?? ""), account);
  }

  readonly #count = (bytes: number): void => {
    const { heldBytes } = this.#parts.limits;
    if (bytes > 0 && this.#held + bytes > heldBytes) throw tooManyBytes(heldBytes, "all callers together");
    this.#held += bytes;
  };

  #sweep(now: number): void {
    if (now - this.#sweptAt < keepMilliseconds) return;
    this.#sweptAt = now;
    for (const [key, account] of this.#known)
      if (account.isIdle && now - account.checkedAt > keepMilliseconds) this.#known.delete(key);
  }
}

const trustMilliseconds = 2000;
const keepMilliseconds = 60_000;
/** A caller that was quiet may catch up: as many calls at once as in this many seconds at the steady rate. */
const burstSeconds = 25;

export class Account {
  readonly calls: Slots;
  readonly heavy: Slots;
  readonly parsing: Slots;
  checkedAt = 0;
  readonly #perSecond: number;
  readonly #heldPerCaller: number;
  readonly #countAll: (bytes: number) => void;
  #left: number;
  #filledAt: number;
  #held = 0;

  constructor({ limits, clock }: CallerParts, perSecond: number, countAll: (bytes: number) => void) {
    this.calls = new Slots(limits.callsAtOnce, limits.callsWaiting);
    this.heavy = new Slots(1, limits.callsWaiting);
    this.parsing = new Slots(1, limits.callsWaiting);
    this.#perSecond = perSecond;
    this.#heldPerCaller = limits.heldBytesPerCaller;
    this.#countAll = countAll;
    this.#left = perSecond * burstSeconds;
    this.#filledAt = clock();
  }

  get isIdle(): boolean {
    return this.calls.isIdle && this.heavy.isIdle && this.#held === 0;
  }

  charge(now: number): this {
    const most = this.#perSecond * burstSeconds;
    this.#left = Math.min(most, this.#left + ((now - this.#filledAt) / 1000) * this.#perSecond);
    this.#filledAt = now;
    if (this.#left < 1) throw tooManyCalls(this.#perSecond);
    this.#left--;
    return this;
  }

  /** Counts bytes of a request until it is answered. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.#heldPerCaller) throw tooManyBytes(this.#heldPerCaller, "one caller");
    this.#countAll(bytes);
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#countAll(-bytes);
    this.#held -= bytes;
  }
}
