import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import type { Client } from "../client/client.ts";
import * as contract from "../contract/approvals.ts";
import type { Output } from "../contract/operation.ts";
import { dollars, plural } from "../contract/phrases.ts";
import { idNamed } from "./resolving.ts";
import { when } from "./look.ts";
import { indented } from "./show.ts";
import { clientOf, type Context, nounOf, print } from "./terminal.ts";
import { decideQuestion, example, howToDecide, jsonFlag, notDecided, section } from "./texts.ts";
import { homeOf } from "./where.ts";

/**
 * `agency approvals show`, and the first step of `approve`, `reject` and `revise`. A decision is sent with the hash of the
 * request as this command line last displayed it. So a request that changed in the meantime is never decided unseen. The home
 * folder remembers the hashes, because show and approve are separate commands.
 */
type Shown = Output<typeof contract.viewApproval>;
type Timeline = Output<typeof contract.approvalTimeline>["timeline"];

export function addApprovals(program: Command, context: Context): void {
  nounOf(program, "approvals")
    .command("show")
    .alias("view")
    .description("Show a request with its changes, comments and steps.")
    .argument("<id>", "Id or short id of the request.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency approvals show A7"))
    .action(async (given: string, flags: { json?: true }) => {
      const client = clientOf(context.env);
      const { approval, timeline } = await lookAt(client, await idNamed(context, client, "approval", given));
      print(context, flags, { ...approval, timeline }, drawApproval(approval, timeline));
      remember(context, approval);
    });
}

/** The result of a decision, in a sentence. */
const drawsDecision = (output: unknown): string => {
  const { id, type, status, payload, requestedBy } = contract.Approval.parse(output);
  const asked: unknown = Object(payload["requestedConfigurationSnapshot"]).name;
  const name = type === "hire_agent" && typeof asked === "string" ? asked : undefined;
  const request = name === undefined ? `Request ${id}` : `The hire of ${name}`;
  const says = {
    approved: name === undefined ? `${request} is approved and takes effect now.` : `${name} is hired.`,
    rejected: `${request} is rejected.`,
    cancelled: `${request} is cancelled.`,
    revision_requested:
      requestedBy === null
        ? `${request} needs a revision. Resubmit it: agency approvals resubmit ${id}`
        : `${request} needs a revision from ${requestedBy.name}. You get a message when it is resubmitted.`,
    pending: `${request} waits for a decision of the board.`,
  };
  return `${says[status]}\nSee all of it: agency approvals show ${id}`;
};

export const approvalScreens: Readonly<Record<string, (output: unknown) => string>> = Object.fromEntries(
  ["approve", "reject", "revise", "approvals cancel", "approvals resubmit", "approvals request"].map(
    (command) => [command, drawsDecision],
  ),
);

/** The hash for the decision. A request that was never displayed is displayed now, and on a terminal the person is asked. */
export async function seenHash(
  context: Context,
  client: Client,
  operation: string,
  id: string,
  isJson: boolean,
): Promise<string> {
  const before = remembered(context.env)[id];
  if (before !== undefined) return before;
  const { approval, timeline } = await lookAt(client, id);
  const { terminal } = context;
  if (isJson) return approval.payloadHash;
  terminal.out(`${drawApproval(approval, timeline)}\n`);
  remember(context, approval);
  const verb = decideQuestion[operation] ?? "";
  if (terminal.ask !== undefined && !/^\s*y(es)?\s*$/i.test(await terminal.ask(verb))) throw notDecided(id);
  return approval.payloadHash;
}

async function lookAt(client: Client, id: string): Promise<{ approval: Shown; timeline: Timeline }> {
  const approval = await client.call(contract.viewApproval, { id });
  const timeline: Timeline = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await client.call(contract.approvalTimeline, { id, limit: 1000, ...(cursor && { cursor }) });
    timeline.push(...page.timeline);
    cursor = page.nextCursor ?? undefined;
  }
  return { approval, timeline };
}

function drawApproval(approval: Shown, timeline: Timeline): string {
  const { id, type, status, revision, requestedBy, createdAt, expiresAt, decision, payloadHash, abilities } =
    approval;
  const isOpen = decision === null;
  return [
    `Approval ${id}: ${type}, ${status === "revision_requested" ? "waiting for a revision" : status}, revision ${revision}`,
    `Requested by ${requestedBy?.name ?? "the board"} ${ago(createdAt)}.${isOpen && expiresAt !== null ? ` Expires ${ago(expiresAt)}.` : ""}`,
    ...(decision === null ? [] : [endOf(decision)]),
    "",
    ...drawChanges(approval.changes),
    "",
    "What happened:",
    ...timeline.flatMap(drawStep),
    "",
    `Hash of this request: ${payloadHash}`,
    ...(isYours(abilities) ? [howToDecide(id)] : []),
  ].join("\n");
}

/** Whether the person at the terminal can approve. From a position, only the board can. */
export const isYours = (abilities: Shown["abilities"]): boolean =>
  abilities.some(({ name, yours }) => name === contract.approve.name && yours);

/** Everything that approving would change. Nothing else takes effect. */
export function drawChanges(changes: contract.Changes): string[] {
  const { summary, place, headcount, rights, money, brain, fields, heldUp, obstacles } = changes;
  return [
    ...section("What approving changes:", summary.map(indented)),
    ...(place === null ? [] : [`Place: ${["board", ...place.path.map(({ name }) => name)].join(" > ")}`]),
    ...(headcount === null || headcount.limit === null ? [] : [`Limit of agents: ${headcount.limit}.`]),
    ...section(
      "Rights:",
      rights.map(
        ({ level, resource, title, from, held, chain }) =>
          `${level} on ${title ?? resource} (${resource}), from ${[...chain.map((link) => link.from), from?.name ?? "the board"].join(" > ")}${held ? "" : ", which does not hold it now"}`,
      ),
    ),
    ...section(
      "Budgets:",
      money.map(
        ({ pool, measure, before, after }) =>
          `${pool.title ?? pool.id}, ${measure}: ${amounts(measure, before)} now, ${amounts(measure, after)} after`,
      ),
    ),
    ...(brain === null || summary.some((line) => line.startsWith("Brain: "))
      ? []
      : [`Brain: ${brain.type}.`]),
    ...(brain === null || brain.command === null ? [] : [`Command that its brain runs: ${brain.command}`]),
    ...(brain === null || brain.secrets.length === 0 ? [] : [`Secrets: ${brain.secrets.join(", ")}`]),
    ...section("Everything in the request:", fields.map(drawField)),
    ...section(
      `${plural(heldUp.length, "thing")} waiting for it:`,
      heldUp.map(({ kind, title, id }) => `${kind} ${title ?? id}`),
    ),
    ...section("This request can't be approved now:", obstacles.map(indented)),
  ];
}

const drawField = ({ field, before, after }: contract.FieldChange): string =>
  before === null
    ? `${field}: ${indented(valueOf(after))}`
    : `${field}: ${indented(valueOf(before))}\n    now, and after: ${indented(valueOf(after))}`;

const valueOf = (value: unknown): string =>
  value === null || value === undefined ? "-" : typeof value === "string" ? value : JSON.stringify(value);

function amounts(measure: string, of: { limit: number | null; left: number | null } | null): string {
  const amount = (value: number | null): string =>
    value === null ? "no limit" : measure === "usd" ? dollars(value) : String(value);
  return of === null ? "no separate budget" : `${amount(of.limit)} (${amount(of.left)} left)`;
}

function drawStep({ kind, by, at, note, revision, selfDecided, diff }: Timeline[number]): string[] {
  const own = selfDecided ? " (self-decided)" : "";
  const what = kind === "revised" ? `revised (revision ${revision})` : kind.replaceAll("_", " ");
  return [
    `  ${authorOf(by)}, ${ago(at)}: ${what}${own}${note === null ? "" : `\n    │ ${indented(note)}`}`,
    ...diff.map(
      ({ field, before, after }) =>
        `    ${field}: ${indented(valueOf(before))} → ${indented(valueOf(after))}`,
    ),
  ];
}

function endOf({ result, reason, by, at, selfDecided }: NonNullable<Shown["decision"]>): string {
  if (reason === "timeout") return `It expired ${ago(at)}: the board did not decide in time.`;
  if (reason === "overtaken") return `Another change ended it ${ago(at)}; the board did not decide on it.`;
  return `${result} by ${authorOf(by)}, ${ago(at)}${selfDecided ? ", who requested it (self-decided)" : ""}.`.replace(
    /^./,
    (letter) => letter.toUpperCase(),
  );
}

const ago = (time: string): string => when(time, Date.now());

export const authorOf = ({ kind, agent, person }: Timeline[number]["by"]): string =>
  [person?.name, agent?.name].filter((name) => name !== undefined).join(" as ") || kind;

const Hashes = z.record(z.string(), z.string());
const mostRemembered = 200;

const fileOf = (env: NodeJS.ProcessEnv): string => join(homeOf(env), "shown-approvals.json");

function remembered(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  try {
    return Hashes.parse(JSON.parse(readFileSync(fileOf(env), "utf8")));
  } catch {
    // No approval was displayed yet.
    return {};
  }
}

/** Remembers the request if the result shows one. */
export function remember({ env }: Context, result: unknown): void {
  const shown = contract.Approval.pick({ id: true, payload: true, payloadHash: true }).safeParse(result);
  if (!shown.success) return;
  const { id, payloadHash } = shown.data;
  const { [id]: _, ...others } = remembered(env);
  const kept = [...Object.entries(others), [id, payloadHash]].slice(-mostRemembered);
  try {
    mkdirSync(dirname(fileOf(env)), { recursive: true, mode: 0o700 });
    writeFileSync(fileOf(env), JSON.stringify(Object.fromEntries(kept)), { mode: 0o600 });
  } catch {
    // Without a home folder, nothing is remembered. A decision then displays the request again.
  }
}
