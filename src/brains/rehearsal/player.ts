import type { z } from "zod";
import { grantPermission, listPermissions, requestPermission } from "../../contract/capabilities.ts";
import { createFile, listFiles, writeFile } from "../../contract/knowledge.ts";
import { acknowledgeMessage, readInbox, sendMessage } from "../../contract/mail.ts";
import type { Operation, Output } from "../../contract/operation.ts";
import {
  completeOutcome,
  createOutcome,
  myOutcomes,
  submitOutcome,
  updateOutcome,
  viewOutcome,
} from "../../contract/outcomes.ts";
import { notCarriedOut } from "../../contract/phrases.ts";
import { listRoster } from "../../contract/roster.ts";
import { submitSummary } from "../../contract/sessions.ts";
import { placeholder } from "./speaker.ts";

/**
 * What an agent without a model does in one session. It sees only what its tools show to any agent, and it delegates with
 * directives in its final output. These few rules make a whole organization:
 *   - A message from the board becomes an outcome. Every other message is acknowledged as noted.
 *   - The root agent delegates the board's outcomes to a coordinator. It hires one if it has none.
 *   - A coordinator without the right to hire requests it, and its boss grants it. With that right it divides its outcome
 *     between a writer and a checker.
 *   - Every other agent does the work itself.
 *   - A submission is completed. An integration combines the results. The root agent reports the whole to the board.
 */
export type CallTool = <I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  input: z.input<I>,
) => Promise<z.infer<O>>;
type Viewed = Output<typeof viewOutcome>;

/** Returns the messages it read and its final output: directives, if it delegates, or nothing. */
export async function play(call: CallTool): Promise<{ heard: string[]; words: string }> {
  const did: string[] = [];
  const heard: string[] = [];
  let words = "";
  let isRefused = false;
  const me = await whoAmI(call);
  for (let turns = 0; turns < 20; turns++) {
    const { messages } = await call(readInbox, {});
    // Verify before acknowledging the messages about submissions. If the session dies in between, only those messages start
    // another one.
    const verified = await verifyReports(call, did);
    // Read rights after the inbox: a right that a message announces is effective by then.
    const rights = await call(listPermissions, {});
    await answerRequests(call, rights.requests, did);
    await sortInbox(call, me, messages, did);
    for (const { from, body } of messages) if (from.kind !== "system" && body !== null) heard.push(body);
    isRefused ||= messages.some(({ body }) => body?.startsWith(notCarriedOut) === true);
    const mayHire = rights.grants.some(({ resource, stands }) => resource === "org:hire" && stands);
    const worked = await workOnce(call, { ...me, mayHire, isRefused }, did);
    if (typeof worked === "string") {
      // Directives take effect when this session ends. The next session continues from there.
      words = worked;
      break;
    }
    if (messages.length === 0 && !verified && !worked) break;
  }
  await saveState(call, did);
  await call(submitSummary, {
    summary: did.length === 0 ? "There was nothing to do." : did.map((line) => `- ${line}`).join("\n"),
  });
  return { heard, words };
}

interface Me {
  readonly id: string;
  readonly role: string;
  readonly isRoot: boolean;
}

interface Standing extends Me {
  readonly mayHire: boolean;
  /** Its directives were refused. It then does the work itself. */
  readonly isRefused: boolean;
}

async function whoAmI(call: CallTool): Promise<Me> {
  const { agents } = await call(listRoster, { limit: 1000 });
  const { outcomes } = await call(myOutcomes, { limit: 1000 });
  const own =
    outcomes[0] === undefined ? undefined : (await call(viewOutcome, { id: outcomes[0].id })).responsible;
  const row = agents.find(({ id }) => id === own?.id);
  if (row === undefined) throw new Error("the agent has no outcome, so there is nothing to rehearse");
  return { id: row.id, role: row.role, isRoot: row.boss === null };
}

async function sortInbox(
  call: CallTool,
  me: Me,
  messages: Output<typeof readInbox>["messages"],
  did: string[],
): Promise<void> {
  for (const { id, from, body } of messages) {
    let result = "noted";
    if (me.isRoot && from.kind === "board" && body !== null) {
      const made = await call(createOutcome, {
        title: titleOf(body),
        description: body,
        parents: [me.id],
        important: true,
        acceptance: "- the result is a knowledge file\n- the board has a message with the link",
      });
      result = `outcome ${made.id}`;
      did.push(`took on "${made.title}" from the board`);
    }
    await call(acknowledgeMessage, { id, result });
  }
}

/** Grants the right to hire to every report that requests it. */
async function answerRequests(
  call: CallTool,
  requests: Output<typeof listPermissions>["requests"],
  did: string[],
): Promise<void> {
  for (const { agent, resource } of requests) {
    if (resource !== "org:hire") continue;
    await call(grantPermission, { to: agent.id, resource });
    await call(sendMessage, { to: agent.id, body: "You may hire now. Please continue." });
    did.push(`let ${agent.name} hire`);
  }
}

/** Does one piece of work. Returns false if there was none, or directives to end the session with. */
async function workOnce(call: CallTool, me: Standing, did: string[]): Promise<boolean | string> {
  const { outcomes } = await call(myOutcomes, { status: "open", limit: 1000 });
  const waits = outcomes.find(({ blocked }) => blocked?.reason === noRightToHire);
  if (waits !== undefined && me.mayHire) await call(updateOutcome, { id: waits.id, blocked: null });
  const next =
    (me.mayHire ? waits : undefined) ?? outcomes.find(({ workable, kind }) => workable && kind !== "inbox");
  if (next === undefined) return false;
  const outcome = await call(viewOutcome, { id: next.id });
  if (outcome.kind === "integration") {
    await combine(call, me, outcome, did);
    return true;
  }
  // A part can come back, because its hire was not approved or its agent left. It is done, not divided again.
  const cameBack = !outcome.delegated && /^(Organize|Draft|Check): /.test(outcome.title);
  if (!cameBack && !me.isRefused && outcome.children.length === 0) {
    if (me.isRoot && me.mayHire) return toCoordinator(call, me, outcome, did);
    if (me.role === coordinator && outcome.delegated) {
      if (me.mayHire) return toSpecialists(outcome, did);
      await askToHire(call, outcome, did);
      return true;
    }
  }
  await doIt(call, me, outcome, did);
  return true;
}

const coordinator = "Coordinator";
const noRightToHire = "needs the right to hire";

async function askToHire(call: CallTool, outcome: Viewed, did: string[]): Promise<void> {
  await call(requestPermission, {
    resource: "org:hire",
    reason: `"${outcome.title}" needs a writer and a checker`,
  });
  await call(updateOutcome, { id: outcome.id, blocked: { reason: noRightToHire } });
  did.push("requested the right to hire");
}

/** Delegates to the coordinator. If there is none, the same output hires one. */
async function toCoordinator(call: CallTool, me: Me, outcome: Viewed, did: string[]): Promise<string> {
  const { agents } = await call(listRoster, { limit: 1000 });
  const there = agents.find(
    ({ boss, role, status }) => boss?.id === me.id && role === coordinator && status !== "paused",
  );
  did.push(`delegated "${outcome.title}" to ${there?.name ?? `a new ${coordinator}`}`);
  return [
    ...(there === undefined ? [`HIRE[${coordinator}]: Organize the work the board asks for.`] : []),
    `DELEGATE[${there?.id ?? coordinator}]: Organize: ${outcome.title}`,
  ].join("\n");
}

/** A plan for a writer and a checker. The daemon hires the roles the team lacks. */
function toSpecialists(outcome: Viewed, did: string[]): string {
  const title = outcome.title
    .replace(/^Organize: /, "")
    .slice(0, 280)
    .toWellFormed();
  const acceptance = "- the result is a knowledge file";
  const tasks = [
    { title: `Draft: ${title}`, assignee: "Writer", acceptance },
    { title: `Check: ${title}`, assignee: "Checker", acceptance, dependsOn: [0] },
  ];
  did.push(`divided "${outcome.title}" between a writer and a checker`);
  return ["```plan", JSON.stringify(tasks, null, 2), "```"].join("\n");
}

/** Completes every submission of its reports. Returns whether there was one. */
async function verifyReports(call: CallTool, did: string[]): Promise<boolean> {
  const { outcomes } = await call(myOutcomes, { status: "open", limit: 1000 });
  let any = false;
  for (const { id } of outcomes) {
    const outcome = await call(viewOutcome, { id });
    for (const child of outcome.children) {
      if (child.status !== "submitted") continue;
      await call(completeOutcome, {
        id: child.id,
        note: "Checked against the acceptance criteria.",
      });
      did.push(`verified "${child.title}"`);
      any = true;
    }
  }
  return any;
}

async function doIt(call: CallTool, me: Me, outcome: Viewed, did: string[]): Promise<void> {
  const { id, title } = outcome;
  const text = `${placeholder}\n\nOutcome: kb://${id}`;
  // The board is told about the whole only, never about a part.
  const isWhole = me.isRoot && !/^(Organize|Draft|Check): /.test(title);
  const result = await writeDown(call, title, text, isWhole);
  await call(outcome.delegated ? submitOutcome : completeOutcome, {
    id,
    note: `The result is ${result}`,
  });
  did.push(`did "${title}" with the result ${result}`);
}

/** Writes one file that links all results, and completes the integration. The divided outcome is completed with it. */
async function combine(call: CallTool, me: Me, outcome: Viewed, did: string[]): Promise<void> {
  const title = outcome.title.replace(/^Integrate: /, "");
  const parts = outcome.dependsOn.map((part) => `- ${part.title} (${part.status}) kb://${part.id}`);
  const result = await writeDown(call, title, `Combined from:\n\n${parts.join("\n")}`, me.isRoot);
  await call(completeOutcome, { id: outcome.id, note: `The result is ${result}` });
  did.push(`combined the results of "${title}" in ${result}`);
}

/** Writes the result to a file and sends the file to the boss. The board also gets a message about a whole. */
async function writeDown(call: CallTool, title: string, text: string, isWhole: boolean): Promise<string> {
  const { id } = await call(createFile, {
    description: `Result of ${title}`.slice(0, 900),
    content: `# ${title}\n\n${text}\n`,
  });
  const result = `kb://${id}`;
  await call(sendMessage, { to: "boss", file: id });
  if (isWhole) await call(sendMessage, { to: "board", body: `Done: ${title}\n\nThe result is ${result}` });
  return result;
}

async function saveState(call: CallTool, did: string[]): Promise<void> {
  const { files } = await call(listFiles, { kind: "state" });
  const state = files[0];
  if (state === undefined) return;
  const content = `# State\n\n${did.length === 0 ? "Nothing to do." : did.map((line) => `- ${line}`).join("\n")}\n`;
  await call(writeFile, { id: state.id, content, version: state.version, hash: state.hash });
}

function titleOf(body: string): string {
  const line = body.split("\n").find((candidate) => candidate.trim() !== "") ?? "Untitled goal";
  return line.trim().slice(0, 200).toWellFormed();
}
