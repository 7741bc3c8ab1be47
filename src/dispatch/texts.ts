import type { Operation } from "../contract/operation.ts";
import { conflict, forbidden, invalid, Refusal, refused } from "../contract/refusal.ts";

/** Everything the dispatcher says itself. */
export const credentialInvalid = "The credential is missing or not valid.";
export const agentInactive = "The agent of this credential is not active.";
export const sessionEnded =
  "This session has ended or was replaced by a newer one. Its calls are no longer accepted.";

export const unauthenticated = (message: string) =>
  new Refusal(
    "unauthenticated",
    message,
    "Send `Authorization: Bearer <token>`: the board token from the home folder, an agent's key or a live session's token.",
  );

export const paused = (name: string) =>
  forbidden(
    `${name} is paused.`,
    "Its manager or the board can resume it: resume_agent, agency agents resume.",
  );

export const keyInvalid = () =>
  invalid("The idempotency key is not valid.", "Use 1 to 200 printable ASCII characters without spaces.");

export const keyReused = () =>
  conflict(
    "This idempotency key was already used for another call.",
    "Use a new key for a new call. To repeat a call, send exactly the same input.",
  );

export const boardOnly = ({ name }: Operation) =>
  forbidden(`Only the board can call ${name}.`, "Ask the board, through your manager: send_message.");

export const agentsOnly = ({ name }: Operation) =>
  refused(
    `Only agents can call ${name}: it is about the caller, and the board is not an agent.`,
    "Ask about a company or an agent instead. GET /api/openapi.json lists every operation.",
  );

export const companyIdMissing = (companies: readonly { readonly id: string; readonly name: string }[]) =>
  companies.length === 0
    ? invalid("There is no company yet.", "Create one: agency companies create <name>.")
    : invalid(
        "There are several companies, and companyId is missing.",
        `Add companyId. Companies here: ${companies.map(({ id, name }) => `${name} (${id})`).join(", ")}.`,
      );

export const cursorInvalid = () =>
  invalid(
    "The cursor is not from this list.",
    "Pass the nextCursor of the previous page unchanged, or leave out cursor to start again.",
  );

export const secretInside = (): Refusal =>
  invalid(
    "An argument contains a secret of the company where no secret can be.",
    "Remove the secret from the argument.",
  );
