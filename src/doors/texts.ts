import { plural } from "../contract/phrases.ts";
import { forbidden, invalid, limited, Refusal } from "../contract/refusal.ts";

/** What the doors themselves say. Every other refusal comes from behind them. */
export const unknownHost = (hosts: readonly string[]) =>
  forbidden("The request's Host header does not name this daemon.", `Use http://${hosts[0] ?? "127.0.0.1"}.`);

export const foreignOrigin = () =>
  forbidden(
    "The daemon does not answer requests from other web sites.",
    "Call the daemon directly, without an Origin header.",
  );

export const bodyTooLarge = (most: number) =>
  new Refusal(
    "too_large",
    `The request is larger than ${most} bytes, the maximum.`,
    "Send less, or split the content into several files.",
  );

export const bodyTooManyValues = (most: number) =>
  new Refusal(
    "too_large",
    `The body has more than ${most} values, the maximum.`,
    "Send fewer values in a call, and make several calls.",
  );

/** A refusal that ends by itself: the answer has the header Retry-After. */
const soon = { retryAfterSeconds: 1 };

export const tooManyCalls = (perSecond: number) =>
  limited(
    `You sent more than ${perSecond} calls per second for a longer time.`,
    "Wait a second, then continue more slowly. The guide limits.md lists all limits.",
    soon,
  );

export const tooManyAtOnce = () =>
  limited(
    "Too many of your calls are waiting (callsWaiting).",
    "Wait for answers before you send more calls.",
    soon,
  );

export const tooManyBytes = (most: number, who: string) =>
  limited(
    `The requests of ${who} that are not answered yet would have more than ${most} bytes, the maximum.`,
    "Wait until your other uploads are answered, then send this one again.",
    soon,
  );

export const bodyNotUtf8 = () =>
  invalid("The body is not valid UTF-8.", "Encode text as UTF-8, and bytes as base64.");

export const bodyTooDeep = (most: number) =>
  invalid(`The body is nested deeper than ${most} levels.`, "Send a flatter structure.");

export const bodyNotJson = (why: string) =>
  invalid(`The body is not valid JSON: ${why}`.slice(0, 300), "Send valid JSON.");

export const bodyNotDeclared = () =>
  invalid("The body is not declared as JSON.", "Send `Content-Type: application/json`.");

export const bodyNotObject = (operation: string) =>
  invalid(`The body of ${operation} must be a JSON object.`, "Send {…}.");

export const givenTwice = (key: string) =>
  invalid(`${key} is already in the path.`, `Leave ${key} out of the body and the query.`);

export const boardFollowsOnly = () =>
  forbidden(
    "Only the board can follow the events of a company.",
    "Call read_audit_log to see the events about you.",
  );

export const noSuchStream = () =>
  new Refusal(
    "not_found",
    "There is no such route.",
    "Use GET /api/events?company=<id>&after=<sequence number>.",
  );

export const notASequence = () =>
  invalid("after must be a sequence number.", "Start with after=0, or with the last seq you received.");

/** The answer to a bug. The log has the error under the same id. */
export const internalError = (id: string): { error: { code: string; message: string; hint: string } } => ({
  error: {
    code: "internal",
    message: `The daemon failed to handle this call (error ${id}).`,
    hint: "Try again later. If it fails again, give the board this error id: the daemon's log has the details.",
  },
});

export const unreadNotice = (count: number): string =>
  `You have ${plural(count, "unread message")}. Call read_inbox when you finish the current outcome.`;

export const stillWaiting = "Waiting for a person to decide.";

export const toolsHere = (tools: readonly string[]): string =>
  tools.length === 0 ? "This server has no tools." : `This server has the tools ${tools.join(", ")}.`;
