import { objectFields } from "../contract/object-fields.ts";
import type { Limits } from "../contract/limits.ts";
import type { Dispatch } from "../dispatch/dispatch.ts";
import { type Caller, hashToken } from "../dispatch/identity.ts";
import { type Connection, LateAnswers } from "./late-answers.ts";
import { Slots } from "./slots.ts";
import { callerGone, tooManyAtOnce, tooManyBytes, tooManyCalls, tooManyStreams } from "./texts.ts";
import { inMap } from "../contract/in-map.ts";

/**
 * Limits for each caller, which keep one caller from slowing down the others. A caller is a credential. Callers without a valid
 * credential have a small account for each address.
 *
 * A request passes these gates:
 *   admit()       looks at the credential before a byte of the body is read. Limits the caller's rate, and its share of a turn
 *                 of the event loop. A refusal for the rate comes late (late-answers.ts)
 *   Account.hold  limits the bytes of requests that are not answered yet
 *   fairly()      limits how many calls of a caller run at a time. Of calls that take long, one runs at a time in all, with
 *                 rests in between, and each caller has one in line
 *   mayWait()     limits how many of a caller's calls wait for a person
 *
 * The check in admit() only decides whose account counts. It may be a few seconds old: the transaction of every call checks the
 * credential again.
 */
export interface CallerParts {
  readonly limits: Limits;
  readonly authenticate: (token: string | undefined) => Promise<Caller>;
  /** Milliseconds on a clock that only moves forward. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  /** Aborts when the daemon stops. Every late answer then leaves at once. */
  readonly closing: AbortSignal;
}

export class Callers {
  readonly #parts: CallerParts;
  /** Accounts by the hash of the credential, or by the address. */
  readonly #known = new Map<string, Account>();
  readonly #strangers: Account;
  readonly #late: LateAnswers;
  readonly #heavy = new Slots(1, Number.MAX_SAFE_INTEGER);
  #held = 0;
  #sweptAt = 0;

  constructor(parts: CallerParts) {
    this.#parts = parts;
    this.#strangers = this.#newAccount(parts.limits.strangerCallsPerSecond);
    this.#late = new LateAnswers(parts.closing);
  }

  /**
   * The account of this credential. Waits for the credential's turn. Throws if the credential is not valid, and throws late if
   * the account is used up.
   */
  async admit(token: string | undefined, socket: Connection): Promise<Account> {
    this.#sweep(this.#parts.clock());
    const known = this.#accountOf(token);
    await (known ?? this.#strangers).turn();
    const now = this.#parts.clock();
    if (known !== undefined && now - known.checkedAt < trustMilliseconds) return this.#charge(known, socket);
    const caller = await this.#parts.authenticate(token).catch(async (error: unknown) => {
      await this.#charge(known ?? this.#accountAt(socket), socket);
      throw error;
    });
    const account = known ?? this.#open(token, caller);
    account.checkedAt = now;
    return this.#charge(account, socket);
  }

  /**
   * The account of the callers at this address without a credential. Throws late if it is used up. Requests for the daemon's
   * health have a separate account, because others rely on them.
   */
  async admitStranger(socket: Connection, asks?: "health"): Promise<Account> {
    await this.#strangers.turn();
    return this.#charge(this.#accountAt(socket, asks), socket);
  }

  async #charge(account: Account, socket: Connection): Promise<Account> {
    if (account.charge(this.#parts.clock())) return account;
    await this.#late.wait(account, socket);
    throw tooManyCalls(account.perSecond);
  }

  /** Runs the calls of each caller a few at a time, and long ones one at a time. */
  fairly(dispatch: Dispatch): Dispatch {
    return (request) => {
      const { operation, token, bytes = 0 } = request;
      const account = this.#accountOf(token) ?? this.#strangers;
      const isLong =
        operation.heavy?.(objectFields(request.input)) === true || bytes > this.#parts.limits.bodyBytes;
      const work = (): Promise<unknown> => dispatch(request);
      return isLong
        ? account.heavy.run(async () => {
            // A flood leaves many such calls in line. No client waits for their answers.
            if (request.gone?.aborted === true) throw callerGone();
            return this.#rested(work);
          }, tooManyAtOnce)
        : account.calls.run(work, tooManyAtOnce);
    };
  }

  /**
   * Counts a waiting call until the returned function is called. Undefined if too many calls of this caller wait for a person.
   */
  mayWait(token: string | undefined): (() => void) | undefined {
    const account = this.#accountOf(token) ?? this.#strangers;
    if (account.waiting >= mostWaits) return undefined;
    account.waiting++;
    return () => account.waiting--;
  }

  /** Runs long work in its turn. A rest of twice its time follows, so long work takes at most a third of the time. */
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
    // Two first requests with a credential may arrive together. The first account stays.
    return inMap(this.#known, hashToken(token ?? ""), () => this.#newAccount(rate));
  }

  #accountAt({ remoteAddress = "" }: Connection, asks = ""): Account {
    const key = `${asks} ${remoteAddress}`;
    if (this.#known.size >= mostAccounts && !this.#known.has(key)) return this.#strangers;
    const account = inMap(this.#known, key, () =>
      this.#newAccount(this.#parts.limits.strangerCallsPerSecond),
    );
    account.checkedAt = this.#parts.clock();
    return account;
  }

  #newAccount(perSecond: number): Account {
    return new Account(this.#parts, perSecond, this.#count, (account, socket) =>
      this.#late.wait(account, socket),
    );
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
/** Above this number, callers from new addresses share one account. */
const mostAccounts = 10_000;
/** After a quiet time, a caller may make as many calls at once as it could make in this many seconds. */
const burstSeconds = 25;
/** The most open requests for agents that an agent may have. Each looks for an answer up to five times a second. */
const mostWaits = 20;
/** One stream for each server of an agent, and room for clients that connect again before their last stream has ended. */
const mostStreams = 50;
const turnMilliseconds = 3;

export class Account {
  readonly calls: Slots;
  readonly heavy: Slots;
  readonly parsing: Slots;
  readonly perSecond: number;
  checkedAt = 0;
  waiting = 0;
  #listening = 0;
  #turnBegan = 0;
  #lastInLine = Promise.resolve();
  readonly #heldPerCaller: number;
  readonly #countAll: (bytes: number) => void;
  readonly #clock: () => number;
  readonly #late: (account: Account, socket: Connection) => Promise<void>;
  #left: number;
  #filledAt: number;
  #held = 0;

  constructor(
    { limits, clock }: CallerParts,
    perSecond: number,
    countAll: (bytes: number) => void,
    late: (account: Account, socket: Connection) => Promise<void>,
  ) {
    this.#late = late;
    this.calls = new Slots(limits.callsAtOnce, limits.callsWaiting);
    this.heavy = new Slots(1, limits.callsWaiting);
    this.parsing = new Slots(1, limits.callsWaiting);
    this.perSecond = perSecond;
    this.#heldPerCaller = limits.heldBytesPerCaller;
    this.#countAll = countAll;
    this.#clock = clock;
    this.#left = perSecond * burstSeconds;
    this.#filledAt = clock();
  }

  get isIdle(): boolean {
    return (
      this.calls.isIdle &&
      this.heavy.isIdle &&
      this.#held === 0 &&
      this.waiting === 0 &&
      this.#listening === 0
    );
  }

  /**
   * Calls that a caller sends together would all run before another request is read. So they pass one after another. Once they
   * have taken a few milliseconds, the rest waits for the next turn of the event loop.
   */
  async turn(): Promise<void> {
    const before = this.#lastInLine;
    const passed = Promise.withResolvers<void>();
    this.#lastInLine = passed.promise;
    await before;
    if (this.#clock() - this.#turnBegan >= turnMilliseconds) {
      await new Promise(setImmediate);
      this.#turnBegan = this.#clock();
    }
    // The next tick comes when this call has run as far as it can without waiting.
    process.nextTick(passed.resolve);
  }

  /** Counts a stream of notices until the returned function is called. Throws late if there are too many. */
  async listen(socket: Connection): Promise<() => void> {
    if (this.#listening >= mostStreams) {
      await this.#late(this, socket);
      throw tooManyStreams(mostStreams);
    }
    this.#listening++;
    return () => this.#listening--;
  }

  /** Whether the rate allows one more call. */
  charge(now: number): boolean {
    const most = this.perSecond * burstSeconds;
    this.#left = Math.min(most, this.#left + ((now - this.#filledAt) / 1000) * this.perSecond);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }

  /** Counts the bytes of a request until the request is answered. */
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
