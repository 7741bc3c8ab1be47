import type { Operation } from "../contract/operation.ts";
import { conflict, forbidden, invalid, Refusal, refused } from "../contract/refusal.ts";

/** All texts of the dispatcher. */
export const credentialInvalid = "The credential is missing or not valid.";
export const agentInactive = "The agent of this credential is not active.";
export const sessionEnded =
  "This session has ended or was replaced by a newer one. Its calls are no longer accepted.";

export const unauthenticated = (message: string) =>
  new Refusal(
    "unauthenticated",
    message,
    "Send `Authorization: Bearer <token>`: a person's token, an agent's key or a live session's token. A browser needs its cookie and the header X-Agency-Page. To sign in: agency sign-in <link>.",
  );

const howToLink =
  "To make a new link for yourself: agency sign-in. If you have never signed in, ask a board person for one.";

export const linkUsed = () =>
  new Refusal(
    "unauthenticated",
    "This sign-in link was already used, or a newer link replaced it.",
    howToLink,
  );

export const linkUnknown = () =>
  new Refusal(
    "unauthenticated",
    "This sign-in link is not known here. It is incomplete, too old, or from another installation.",
    howToLink,
  );

export const linkExpired = () => new Refusal("unauthenticated", "This sign-in link has expired.", howToLink);

export const onlyPeopleName = () =>
  forbidden(
    "Only people can choose the agent they act as. The credential of an agent acts for that agent.",
    "Leave out the header X-Agency-As (--as), or use the credential of a person who holds the position.",
  );

export const peopleOnly = ({ name }: Operation) =>
  forbidden(
    `Only people can call ${name}: it is about the caller's own sign-in.`,
    "You don't need it: an agent's key or session token works without a sign-in.",
  );

export const viewersRead = ({ name }: Operation, person: string) =>
  forbidden(
    `${person} is a viewer. Viewers can read everything and change nothing, so ${name} is not allowed.`,
    "Ask a board person to do it, or to change your role: agency people update <name> --role member.",
  );

const noneYet = "Ask a board person to give you a position: agency agents update <agent> --person <name>.";

export const noPosition = (person: string) =>
  forbidden(`${person} is a member without a position. Members act only from a position.`, noneYet);

type Place = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly company_name: string;
};
const places = (positions: readonly Place[]): string =>
  positions.map(({ id, slug, company_name }) => `${slug} in ${company_name} (${id})`).join(", ");

export const notYourPosition = (as: string, positions: readonly Place[]) =>
  forbidden(
    `You don't hold a position called ${as}.`,
    positions.length === 0 ? noneYet : `Your positions: ${places(positions)}.`,
  );

export const whichPosition = (positions: readonly Place[]) =>
  invalid(
    `You hold ${positions.length} positions, and the call does not name one.`,
    `Add --as <position>, or the header X-Agency-As. Your positions: ${places(positions)}.`,
  );

export const paused = (name: string) =>
  forbidden(
    `${name} is paused, so its calls are refused.`,
    "Its manager or the board can resume it: resume_agent, agency agents resume.",
  );

export const companyIsFrozen = ({
  name,
  reason,
}: {
  readonly name: string;
  readonly reason: string | null;
}) =>
  refused(
    `${name} is frozen${reason === null ? "" : ` (${reason})`}, so nothing can be changed now.`,
    "You can still read. Stop now. Your open work continues when the board thaws the company (agency thaw).",
  );

export const companyArchived = ({ name }: { readonly name: string }) =>
  refused(
    `${name} is archived, so it can only be read.`,
    `Take it out of the archive first: agency companies unarchive "${name}".`,
  );

export const keyInvalid = () =>
  invalid("The idempotency key is not valid.", "Use 1 to 200 printable ASCII characters without spaces.");

export const keyReused = () =>
  conflict(
    "This idempotency key was already used for another call.",
    "Use a new key for a new call. To repeat a call, send exactly the same input.",
  );

export const boardOnly = ({ name, fromPosition }: Operation) =>
  forbidden(
    `Only the board can call ${name}.`,
    fromPosition === undefined
      ? "Ask the board, through your manager: send_message."
      : `Call ${fromPosition.mcp?.tool ?? fromPosition.name} (${fromPosition.http.method} ${fromPosition.http.path}): it lists your own.`,
  );

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

/** The caller knows the value, but may not know the secret's name, so the refusal names only the key. */
export const secretInside = (key: string): Refusal =>
  invalid(
    `\`${key}\` contains the value of a secret of the company.`,
    'Leave the value out. A configuration can refer to a secret by its name: {"secret":"<name>"}.',
  );
