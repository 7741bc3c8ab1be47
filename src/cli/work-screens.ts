import { z } from "zod";
import { listPermissions } from "../contract/capabilities.ts";
import { Message, readInbox } from "../contract/mail.ts";
import type { Output } from "../contract/operation.ts";
import {
  type HistoryEntry,
  Outcome,
  UnreadableLink,
  viewOutcome,
  viewTimeline,
} from "../contract/outcomes.ts";
import { planWork } from "../contract/delegation.ts";
import { viewMe } from "../contract/people.ts";
import { viewTranscript } from "../contract/sessions.ts";
import { dollars, plural, removedSentences, thousands } from "../contract/phrases.ts";
import { onOneLine } from "../contract/visible-text.ts";
import { commandsForTools } from "./tool-commands.ts";
import { indented } from "./show.ts";
import { type Screens, when } from "./look.ts";
import { section } from "./texts.ts";

const ago = (time: string): string => when(time, Date.now());

/** Screens for a person who works from a position: the inbox, an outcome, their rights, and their own record. */
const drawsMessage = (output: unknown): string => drawMessage(SentMessage.parse(output)).join("\n");
const drawsOutcome = (output: unknown): string => drawOutcome(ShownOutcome.parse(output));

export const workScreens: Screens = {
  inbox: (output) => drawInbox(readInbox.output.parse(output)),
  ...Object.fromEntries(
    ["send", "mail view", "mail defer", "mail cancel", "mail acknowledge"].map((command) => [
      command,
      drawsMessage,
    ]),
  ),
  me: (output) => drawMe(viewMe.output.parse(output)),
  ...Object.fromEntries(
    ["view", "create", "update", "submit", "complete", "close", "reopen", "delegate", "reclaim"]
      .map((verb) => `outcomes ${verb}`)
      .concat("decide", "goals create")
      .map((command) => [command, drawsOutcome]),
  ),
  "outcomes plan": (output) => drawPlan(planWork.output.parse(output)),
  "outcomes timeline": (output) => drawTimeline(viewTimeline.output.parse(output)),
  "sessions transcript": (output) => drawTranscript(viewTranscript.output.parse(output)),
  "access mine": (output) => drawRights(listPermissions.output.parse(output)),
};

function drawTimeline({ cost, entries, removed = [] }: Output<typeof viewTimeline>): string {
  const spent =
    cost === null
      ? []
      : [
          `Cost with everything below it: ${dollars(cost.usd)}, ${thousands(cost.inputTokens + cost.outputTokens)} tokens, ${plural(cost.sessions, "session")}`,
          "",
        ];
  return [
    ...spent,
    ...entries.map(({ at, by, says, subject }) => {
      const ids = [subject, by.sessionId && `session ${by.sessionId}`].filter(Boolean);
      return `${ago(at)}: ${says}${ids.length === 0 ? "" : ` (${ids.join(", ")})`}`;
    }),
    ...removedSentences(removed),
  ].join("\n");
}

export function drawTranscript({ entries, truncated }: Output<typeof viewTranscript>): string {
  const lines = entries.map(
    ({ at, kind, tool, text, hidden }) =>
      `${at} ${kind}${tool === undefined ? "" : ` ${tool}`}: ${hidden === true ? "(you can't read this result)" : indented(text.trimStart())}`,
  );
  if (lines.length === 0) return "The session has said and done nothing that you can read.";
  return [...(truncated ? ["(earlier entries are left out)"] : []), ...lines].join("\n");
}

/** Calls that send a message also return the links that the recipient can't open. */
const SentMessage = Message.extend({ unreadable: z.array(UnreadableLink).optional() });

/** The output of calls that change an outcome, with the extra fields of viewing one. */
const ShownOutcome = Outcome.extend({
  ...viewOutcome.output.pick({ context: true, history: true }).partial().shape,
  unreadable: z.array(UnreadableLink).optional(),
});

function drawInbox({ messages, waiting, nextCursor }: Output<typeof readInbox>): string {
  const head =
    waiting === 0
      ? "No message waits for you."
      : `${plural(waiting, "message")} ${waiting === 1 ? "waits" : "wait"} for you, oldest first.`;
  const rest = waiting - messages.length;
  return [
    head,
    ...messages.flatMap((message) => ["", ...drawMessage(message)]),
    ...(rest > 0 && nextCursor === null
      ? ["", `… and ${rest} more. To see them, add: --limit ${waiting}`]
      : []),
    ...(nextCursor === null ? [] : ["", `For more, add: --cursor "${nextCursor}"`]),
  ].join("\n");
}

function drawMessage(message: z.infer<typeof SentMessage>): string[] {
  const { id, from, to, sentAt, deliveredAt, deliverAt, acknowledgedAt, result, failure } = message;
  const state =
    failure !== null
      ? `not delivered: ${failure}`
      : message.cancelledAt !== null
        ? `cancelled ${ago(message.cancelledAt)}`
        : deliveredAt === null
          ? `will be delivered ${ago(deliverAt)}`
          : acknowledgedAt === null
            ? null
            : `acknowledged ${ago(acknowledgedAt)}${result === null ? "" : `: ${result}`}`;
  return [
    `From ${from.name} to ${to.name}, ${ago(sentAt)} (message ${id})`,
    ...(message.inReplyTo === null ? [] : [`  answers message ${message.inReplyTo}`]),
    `    │ ${indented(message.body ?? `(too long to show here: agency kb read ${message.file})`)}`,
    ...message.files.map((file) => `  file: ${file.description} (agency kb read ${file.id})`),
    ...commandsForTools(message.body ?? "").map((line) => `  ${line}`),
    ...(message.unreadable ?? []).map(({ says }) => `  ${says}`),
    ...(message.unreadable !== undefined
      ? [`  ${state ?? "delivered"}. See what becomes of it: agency mail view ${id}`]
      : state === null
        ? [
            ...(from.kind === "system" ? [] : [`  answer it: agency send "<text>" --in-reply-to ${id}`]),
            `  done with it: agency mail acknowledge ${id} "<what you did>"`,
          ]
        : [`  ${state}`]),
  ];
}

function drawMe({ person, role, positions, actingAs, signIns }: Output<typeof viewMe>): string {
  const can = {
    board: "You govern every company.",
    member: "You act only from your positions.",
    viewer: "You can read everything and change nothing.",
  };
  return [
    `You are ${person.name} (${role}). ${can[role]}`,
    ...section(
      "Your positions:",
      positions.map(
        ({ name, role: job, company, slug, id }) =>
          `${name} (${job}) in ${company.name}: ${id === actingAs?.id ? "your commands run from here" : `add --as ${slug}`}`,
      ),
    ),
    ...(positions.length === 0 && role === "member"
      ? ["You hold no position yet. A board person gives you one."]
      : []),
    ...section(
      "Signed in:",
      signIns.map(
        ({ label, createdAt, expiresAt, current, id }) =>
          `${label}${current ? ", this one" : ""}, ${ago(createdAt)}${expiresAt === null ? "" : `, expires ${ago(expiresAt)}`} (${id})`,
      ),
    ),
  ].join("\n");
}

function drawOutcome(outcome: z.infer<typeof ShownOutcome>): string {
  const { id, title, status, kind, responsible, delegatedBy, blocked, deliverables, rationale } = outcome;
  const { context = [], history = [], unreadable = [] } = outcome;
  const text = (heading: string, words: string | null): string[] =>
    words === null || words.trim() === "" ? [] : [heading, `    │ ${indented(words)}`];
  const isOpen = status === "open" && kind !== "mandate" && kind !== "perpetual";
  return [
    `${title} [${status}]`,
    `Outcome ${id} (${kind})${isOpen ? `, ${outcome.workable ? "ready to work on" : "not workable now"}` : ""}.`,
    `Responsible: ${responsible?.name ?? "no one"}${delegatedBy === null ? "" : `. ${delegatedBy.name} delegated it and verifies the result`}.`,
    ...(blocked === null
      ? []
      : [`Blocked: ${blocked.reason}${blocked.until === null ? "" : ` (ends ${ago(blocked.until)})`}`]),
    ...text("Description:", outcome.description),
    ...text("Acceptance criteria:", outcome.acceptance),
    ...text("Why it was closed:", rationale),
    ...section("Serves:", outcome.parents.map(drawNeighbour)),
    ...section("Parts:", outcome.children.map(drawNeighbour)),
    ...section("Waits for:", outcome.dependsOn.map(drawNeighbour)),
    ...context.flatMap((part) => text(`Result of "${part.title}":`, part.text)),
    ...section(
      "Files that came with these results:",
      context.flatMap((part) => part.deliverables.map(drawFile)),
    ),
    ...(outcome.result === null ? [] : [`Result: agency kb read ${outcome.result}`]),
    ...section("Deliverables:", deliverables.map(drawFile)),
    ...(outcome.result === null && deliverables.length === 0
      ? []
      : [`Save all of it: agency results ${id} --to <folder>`]),
    ...unreadable.map(({ says }) => says),
    ...section("What happened:", history.map(drawEntry)),
  ].join("\n");
}

function drawEntry({ at, action, who, why, changes }: HistoryEntry): string {
  const value = (one: unknown): string =>
    onOneLine(typeof one === "string" ? (one === "" ? "(empty)" : one) : JSON.stringify(one ?? null));
  return [
    `${ago(at)}: ${deeds[action.replace("outcome.", "")] ?? action} by ${who}`,
    ...(why === null ? [] : [`    │ ${indented(why)}`]),
    ...Object.entries(changes).flatMap(([field, { before, after }]) => [
      `    ${field} before: ${value(before)}`,
      `    ${field} now: ${value(after)}`,
    ]),
  ].join("\n");
}

const deeds: Readonly<Record<string, string>> = {
  create: "created",
  update: "changed",
  delegate: "delegated",
  submit: "submitted",
  complete: "completed",
  close: "closed",
  reopen: "sent back or reopened",
  reclaim: "taken back",
  decide: "decided",
};

const drawNeighbour = ({ id, title, status }: z.infer<typeof Outcome>["parents"][number]): string =>
  title === null ? `an outcome that you can't read (${id})` : `${title} [${status ?? "-"}] (${id})`;

const drawFile = ({
  id,
  description,
  version,
  accepted,
}: z.infer<typeof Outcome>["deliverables"][number]): string =>
  `${description}, version ${version}${accepted ? "" : ", not accepted yet"} (agency kb read ${id})`;

function drawPlan({ tasks, hired, integration }: Output<typeof planWork>): string {
  return [
    ...section(
      `Delegated ${plural(tasks.length, "task")}:`,
      tasks.map(
        ({ id, title, assignee, waits }) =>
          `${title}: ${assignee.name}${waits ? ", when the hire is approved" : ""} (${id})`,
      ),
    ),
    ...section(
      "Hired:",
      hired.map(
        ({ name, role, approvalId }) =>
          `${name} (${role})${approvalId === null ? "" : `, waiting for the board: agency approvals show ${approvalId}`}`,
      ),
    ),
    `When all tasks are completed, combine the results in outcome ${integration}.`,
  ].join("\n");
}

function drawRights({ grants, structural, requests, nextCursor }: Output<typeof listPermissions>): string {
  return [
    ...section(
      "Granted to you:",
      grants.map(
        ({ level, resource, by, origin, stands, scope, id }) =>
          `${level} on ${resource}, ${origin === "creation" ? "you created it" : `from ${by?.name ?? "the board"}`}${scope.title === null ? "" : `, for "${scope.title}"`}${stands ? "" : ", not in force"} (${id})`,
      ),
    ),
    ...section(
      "From your position:",
      structural.map(({ levels, resource, because }) => `${levels.join(", ")} on ${resource}: ${because}`),
    ),
    ...section(
      "Your reports ask you for:",
      requests.flatMap(({ agent, resource, level, reason }) => [
        `${agent.name}: ${level} on ${resource}\n    │ ${indented(reason)}`,
        `agency access grant ${agent.id} ${resource} --level ${level}`,
      ]),
    ),
    ...(nextCursor === null ? [] : [`For more, add: --cursor "${nextCursor}"`]),
  ].join("\n");
}
