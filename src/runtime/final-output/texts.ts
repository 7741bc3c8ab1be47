import { onOneLine } from "../../contract/visible-text.ts";
import { quoteBlock } from "../../contract/phrases.ts";
import { refused, type Refusal } from "../../contract/refusal.ts";

/** All texts that agents, managers and the board read about a session's final output. */
interface Named {
  readonly id: string;
  readonly title: string;
}

/** To the agent. */
export const refusedLines = (lines: readonly { readonly line: string; readonly why: string }[]): string =>
  [
    "These directives were not carried out:",
    ...lines.flatMap(({ line, why }) => [quoteBlock(line), `  ${onOneLine(why)}`]),
  ].join("\n");

/** To the board, instead of another message to the agent. */
export const keepsAsking = (agent: { readonly id: string; readonly name: string }, refused: string): string =>
  `${agent.name} (${agent.id}) repeats directives that were refused. Agency no longer answers them. Read its sessions (agency agents sessions ${agent.id}), or pause it (agency agents pause ${agent.id}).\n\n${refused}`;

export const notSent =
  "This text was not sent to anyone, and the message still waits for an answer. To reply, start with the line @<name> (@board for the board). To have work done, use directives.";

export const nothingToDivide = (): Refusal =>
  refused("You have no open outcome to divide or delegate.", "Wait for work, or create an outcome first.");

export const notYoursToJudge = (id: string, waiting: readonly Named[]): Refusal =>
  refused(
    `No outcome with the id ${id.slice(0, 60)} is waiting for your verdict.`,
    waiting.length === 0
      ? "You have nothing to review now."
      : `Use the id of one that is: ${waiting.map((one) => `${one.id} ("${one.title.slice(0, 60)}")`).join(", ")}.`,
  );

export const verdictMissing = ({ id, title }: Named): string =>
  `Your last session gave no readable verdict on "${title}". End the next one with the line "VERDICT[${id}]: PASS", or with "VERDICT[${id}]: REWORK" followed by what is missing.`;

/** To the author of a text that could not be sent. */
export const misaddressed = (to: string, why: string, body: string): string =>
  `Your message to @${onOneLine(to)} was not sent: ${onOneLine(why)}.\n\nYour text:\n${quoteBlock(body)}`;
export const unknownReceiver = (to: string): string => `there is no agent called ${to}`;
export const receiverLeft = (name: string): string => `${name} has left the company`;
export const withoutRoute = (to: string): string =>
  `you have no mail route to ${to}, and no message from ${to} that you could still answer`;
/** The sentence of a refusal, to continue after a colon. */
export const asClause = (sentence: string): string => sentence.replace(/\.$/, "");

/** To the board, instead of another notice to the author. */
export const keepsWriting = (agent: { readonly id: string; readonly name: string }, to: string): string =>
  `${agent.name} (${agent.id}) keeps writing to @${onOneLine(to)}, which does not get its messages. ${agent.name} gets no more notices about it. Read its sessions: agency agents sessions ${agent.id}`;

/** Why a message was not sent. */
export const chainEnded = (turns: number): string => `${turns} automatic replies in a row is the maximum`;

/** To the board. */
export const chainStopped = (name: string, other: string, turns: number, messageId: string): string =>
  `${name} and ${other} have answered each other ${turns} times without a person, so Agency stopped them. The last message of ${name} was not sent. Read it: agency mail view ${messageId}`;

/** Why a directive can't be parsed. */
export const cannotParse = (why: string): string => `This can't be parsed: ${why}.`;

export const malformed = {
  notAtStart: "a directive must be in capitals and at the very start of its line",
  repeated: "it repeats text that you were given. If you want this, write it differently",
  openFence: "its code fence is not closed",
  tooEarly: "it is before the last 64 kB of your output, and only those are read. Print directives last",
  planElsewhere:
    "a plan is JSON in a code fence named plan (```plan). If this belongs to your result and is not a plan to carry out, put it into a fence named text (```text)",
  tooMany: (most: number): string => `an output may have at most ${most} directives`,
  format: (word: string): string => `the format is ${word}[…]: …, on one line`,
  emptyBrackets: "the brackets are empty",
  noText: "there is no text after the colon",
  badText: (most: number): string =>
    `the text has more than ${most} characters, or characters that can't be stored`,
  verdict: "a verdict is PASS, or REWORK or CLOSE followed by the reason",
  role: "the role must be a name of 1 to 64 characters",
  optionPlace: "options go after one |, as in HIRE[<role> | model=<model>]: …",
  option: (option: string, efforts: readonly string[]): string =>
    `${option} is not model=<model> or effort=<${efforts.join("|")}>, each at most once`,
  noOption: "there is no option after the |",
  notJson: (why: string): string => `it is not JSON (${why})`,
  notTasks: (why: string): string => `it is not a list of tasks: ${why}`,
};
