import { plural } from "../contract/phrases.ts";
import { forbidden, invalid, limited, Refusal, tooLarge, unavailable } from "../contract/refusal.ts";

/** Texts of the doors themselves. All other refusals come from dispatch and the domains. */
export const unknownHost = (origins: readonly string[]) =>
  forbidden(
    "The request's Host header does not name this daemon.",
    `Use ${origins.at(-1) ?? "http://127.0.0.1"}. For another name, start the daemon with --origin.`,
  );

export const foreignOrigin = () =>
  forbidden(
    "The daemon does not answer requests from other web sites.",
    "Call the daemon directly, without an Origin header.",
  );

export const noCompanyExists = () =>
  unavailable(
    "There is no company yet.",
    "`agency up` creates the first one. Otherwise: agency companies create <name>.",
  );

export const bodyTooLarge = (most: number) =>
  tooLarge(
    `The request is larger than ${most} bytes, the maximum.`,
    "Send less, or split the content into several files.",
  );

export const bodyTooManyValues = (most: number) =>
  tooLarge(
    `The body has more than ${most} values, the maximum.`,
    "Send fewer values in a call, and make several calls.",
  );

/** For a refusal that ends by itself: the answer has the header Retry-After. */
const soon = { retryAfterSeconds: 1 };

export const tooManyCalls = (perSecond: number) =>
  limited(
    `You sent more than ${perSecond} calls per second for too long.`,
    "Wait a second, then continue more slowly. The guide limits.md lists all limits.",
    soon,
  );

export const tooManyAtOnce = (waiting: number, most: number) =>
  limited(
    `You have ${plural(waiting, "call")} waiting; the limit is ${most} (callsWaiting).`,
    "Wait for answers before you send more calls.",
    soon,
  );

export const callerGone = () =>
  unavailable(
    "You closed the connection before this call began, so nothing was done.",
    "Send the call again and wait for the answer.",
  );

export const tooManyBytes = (most: number, who: string) =>
  limited(
    `The requests of ${who} that are not answered yet would have more than ${most} bytes, the maximum.`,
    "Wait until your other uploads are answered, then send this one again.",
    soon,
  );

export const tooManyStreams = (most: number) =>
  limited(
    `You have ${most} streams of notices open at the MCP doors, the maximum.`,
    "Close one of them, then open this one again.",
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

export const secretInAddress = () =>
  invalid(
    "This call takes a secret, so its URL can't have a query string.",
    "Send all arguments in the body.",
  );

export const boardFollowsOnly = () =>
  forbidden(
    "Only the board can follow the events of a company.",
    "Call read_audit_log to see the events about you.",
  );

export const boardFollowsTranscripts = () =>
  forbidden(
    "Only people can follow a transcript.",
    "Call read_transcript with `after` to read the next part.",
  );

export const noSuchStream = () =>
  new Refusal(
    "not_found",
    "There is no such route.",
    "Use GET /api/events?company=<id>&after=<sequence number>.",
  );

export const notASequence = () =>
  invalid(
    "`after` must be a sequence number.",
    "Start with after=0, with after=now, or with the last seq you received.",
  );

export const howToBatch =
  'Send {"calls": [{"operation": "company.list", "input": {}}]}, with up to 20 calls.';

export const noSuchBatch = () =>
  new Refusal("not_found", "There is no such route.", `Use POST /api/batch. ${howToBatch}`);

export const batchOfReadsOnly = (operation: string) =>
  invalid(
    `${operation} can't be part of a batch.`,
    "Send it in a separate request. A batch takes only reads that answer with JSON.",
  );

/** The answer after a bug. The log has the error under the same id. */
export const internalError = (id: string): { error: { code: string; message: string; hint: string } } => ({
  error: {
    code: "internal",
    message: `The daemon failed to handle this call (error ${id}).`,
    hint: "Try again later. If it fails again, give the board this error id: the daemon's log has the details.",
  },
});

const area = {
  kb: "Knowledge: versioned files that outlive sessions. `kb://<file id>` in a text links to one.",
  outcome:
    "Outcomes: the results to reach. The children of an outcome say how to reach it. Its parents say why.",
  mail: "Mail: sending a message never waits for a reply. Acknowledge each message you have dealt with.",
  permissions:
    "Rights: a resource is `kb:<file id>`, `outcome:<id>`, `mail:<agent id>`, `mcp:<server>`, `repo:<name>`, `net:<host>`, `org:hire` or `org:consult`.",
  repo: "Repositories: clone one into your workspace, commit there with git, then publish your branch for review.",
  audit: "Record: what you did, and the summary that ends your session.",
  org: "Organization: agents, plans, hires and approvals. People decide on most hires.",
};

/** The instructions that a client gets when it connects to a server. The server without a name has all tools. */
export const instructionsOf = (server: string): string =>
  [
    "Agency runs an organization of agents. You act as the agent that your credential names, with its rights.",
    ...Object.entries(area).flatMap(([name, about]) => (name === server || server === "" ? [about] : [])),
    "tools/list shows what you can use now. A refusal says what is missing and what to do next.",
    ...(server === ""
      ? ["A session starts with read_inbox and my_outcomes and ends with submit_summary."]
      : []),
  ].join("\n");

export const stillWaiting = "Waiting for a person to decide.";

export const toolsHere = (tools: readonly string[]): string =>
  tools.length === 0 ? "This server has no tools." : `This server has the tools ${tools.join(", ")}.`;

export const signedInPage = (server: string): string =>
  `You are signed in for the MCP server ${server}. You can close this page.\n`;

export const tellsItsOwn = "This page is only for sign-ins: agency servers signin <name>\n";
