import { howToFind } from "./listing.ts";
import { shown } from "./visible-text.ts";

/**
 * A Refusal is an expected no: what happened and what to do next. Anything else that is thrown is a bug. Only this table says
 * which HTTP status and which exit code a refusal has.
 */
export const refusalCodes = {
  invalid: { http: 400, exit: 2 },
  unauthenticated: { http: 401, exit: 1 },
  forbidden: { http: 403, exit: 1 },
  not_found: { http: 404, exit: 1 },
  conflict: { http: 409, exit: 1 },
  gone: { http: 410, exit: 1 },
  too_large: { http: 413, exit: 1 },
  refused: { http: 422, exit: 1 },
  limited: { http: 429, exit: 1 },
  /** Stored content differs from what was written. */
  damaged: { http: 500, exit: 1 },
  unavailable: { http: 503, exit: 1 },
} as const;

export type RefusalCode = keyof typeof refusalCodes;

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly hint: string;
  /** Facts the caller needs for its next call, such as a file's current version. Never a secret or another agent's data. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: RefusalCode, message: string, hint: string, details?: Readonly<Record<string, unknown>>) {
    // A refusal may repeat the caller's input. Others read it too, in notices and in the ledger.
    super(shown(message));
    this.code = code;
    this.hint = shown(hint);
    this.details = details;
  }

  toBody(): RefusalBody {
    return {
      error: {
        code: this.code,
        message: this.message,
        hint: this.hint,
        ...(this.details === undefined ? {} : { details: this.details }),
      },
    };
  }
}

/** The refusal with which this work failed. Undefined if it succeeded. Any other error is passed on. */
export async function refusalOf(work: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

export interface RefusalBody {
  error: { code: string; message: string; hint: string; details?: Readonly<Record<string, unknown>> };
}

type Refusing = (message: string, hint: string, details?: Refusal["details"]) => Refusal;
const refusing =
  (code: RefusalCode): Refusing =>
  (message, hint, details) =>
    new Refusal(code, message, hint, details);

/** The most common refusal: the present state does not allow the call. */
export const refused = refusing("refused");
/** Another call was faster, or there is nothing left to do. */
export const conflict = refusing("conflict");
export const invalid = refusing("invalid");
export const forbidden = refusing("forbidden");
export const limited = refusing("limited");
export const tooLarge = refusing("too_large");
export const unavailable = refusing("unavailable");
export const damaged = refusing("damaged");

/** The same answer for a thing that does not exist, one in another company, and one that the caller can't know of. */
export function notFound(noun: string, id: string): Refusal {
  return new Refusal("not_found", `There is no ${noun} ${id}.`, howToFind(noun) ?? "Check the name or id.");
}
