import { z } from "zod";
import { listComments, resubmit, viewApproval } from "../../contract/approvals.ts";
import { grantPermission, listPermissions } from "../../contract/capabilities.ts";
import { hireAgent } from "../../contract/hiring.ts";
import { createFile, listFiles, readFile, writeFile } from "../../contract/knowledge.ts";
import { acknowledgeMessage, readInbox, sendMessage } from "../../contract/mail.ts";
import type { Operation, Output } from "../../contract/operation.ts";
import {
  completeOutcome,
  createOutcome,
  type Deliverable,
  myOutcomes,
  reopenOutcome,
  submitOutcome,
  viewOutcome,
} from "../../contract/outcomes.ts";
import { planWork, decideOutcome } from "../../contract/delegation.ts";
import { plural, quoteBlock } from "../../contract/phrases.ts";
import { submitSummary } from "../../contract/sessions.ts";
import { checkFile, combinedFile, type OpenedFile, revisedFile, sampleFile, wordCount } from "./samples.ts";
import { type Report, tasksFor } from "./tasks.ts";

/**
 * One session of an agent without a model. It sees and does only what its tools allow any agent. These few rules make a whole
 * organization:
 *   - A message from the board becomes an outcome, unless it is an answer. Every other message is acknowledged as noted.
 *   - An agent with reports divides its work among them (tasks.ts). The root agent without reports hires a coordinator, and a
 *     coordinator without reports hires the roles that the work needs. Every other agent does the work itself, and so do these
 *     if a plan or a hire is refused.
 *   - A submission is opened and accepted. An integration combines the results. The root agent reports the whole to the board.
 *   - Work and hire requests that are sent back are revised.
 */
export type CallTool = <I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  input: z.input<I>,
) => Promise<z.infer<O>>;
type Viewed = Output<typeof viewOutcome>;
type Messages = Output<typeof readInbox>["messages"];

/** The parts of briefing.json that the player needs. */
const Situation = z.object({
  agent: z.object({ id: z.string(), role: z.string() }),
  manager: z.unknown(),
  mandate: z.object({ id: z.string() }),
  stateDocument: z.object({ file: z.string() }),
  hiring: z.object({ allowed: z.boolean() }),
  reports: z.array(z.object({ id: z.string(), name: z.string(), role: z.string(), status: z.string() })),
});

/** The part of a hire request that the player changes when the request is sent back. */
const HireRequest = z.object({ requestedConfigurationSnapshot: z.object({ mandate: z.string() }) });

const coordinator = "Coordinator";

/** Plays one session. Returns the messages that it read. */
export async function play(call: CallTool, briefing: unknown): Promise<string[]> {
  const session = new Session(call, Situation.parse(briefing));
  const heard: string[] = [];
  for (let turns = 0; turns < 20; turns++) {
    const { messages } = await call(readInbox, {});
    for (const { from, body } of messages) if (from.kind !== "system" && body !== null) heard.push(body);
    // Verify before acknowledging the messages about submissions. If the session dies in between, these messages start another
    // session.
    const verified = await session.verifyReports();
    await session.grantRequests();
    await session.sortInbox(messages);
    const worked = await session.workOnce();
    if (messages.length === 0 && !verified && !worked) break;
  }
  await session.end();
  return heard;
}

class Session {
  readonly #call: CallTool;
  readonly #me: z.infer<typeof Situation>;
  readonly #isRoot: boolean;
  readonly #team: Report[];
  /** Notes for the state document and the summary. */
  readonly #did: string[] = [];
  #messages = 0;

  constructor(call: CallTool, me: z.infer<typeof Situation>) {
    this.#call = call;
    this.#me = me;
    this.#isRoot = me.manager === null;
    this.#team = me.reports.filter(({ status }) => status !== "paused");
  }

  async sortInbox(messages: Messages): Promise<void> {
    this.#messages += messages.length;
    for (const { id, from, body, inReplyTo } of messages) {
      let result = "noted";
      if (from.kind === "system" && body !== null) result = await this.#answer(body);
      if (this.#isRoot && from.kind === "board" && body !== null && inReplyTo === null) {
        const made = await this.#tried(createOutcome, {
          title: firstLineOf(body),
          description: body,
          parents: [this.#me.mandate.id],
          important: true,
          acceptance: "- the result is a knowledge file\n- the board has a message with the link",
        });
        if (made !== undefined) {
          result = `outcome ${made.id}`;
          this.#did.push(`took on "${made.title}" from the board`);
        }
      }
      await this.#call(acknowledgeMessage, { id, result });
    }
  }

  /** Some notices ask for a decision, or for a revision of a hire. The text around the id is Agency's own, never quoted. */
  async #answer(notice: string): Promise<string> {
    const escalated = /^Decide it: decide_outcome \{"id":"([0-9a-f-]{36})"/m.exec(notice)?.[1];
    if (escalated !== undefined) {
      const note = "It was revised as far as a rehearsal can. This version is accepted.";
      const said = await this.#tried(decideOutcome, { id: escalated, verdict: "pass", note });
      if (said === undefined) return "noted";
      this.#did.push(`accepted "${said.title}", which was sent back twice`);
      return "decided";
    }
    const hire = /^Read the thread with view_approval \{"id":"([0-9a-f-]{36})"/m.exec(notice)?.[1];
    if (hire === undefined) return "noted";
    const { comments } = await this.#call(listComments, { id: hire });
    const wish = comments.findLast(({ author }) => author === null)?.body ?? "(no comment)";
    const requested = HireRequest.safeParse((await this.#call(viewApproval, { id: hire })).payload);
    if (!requested.success) return "noted";
    const before = requested.data.requestedConfigurationSnapshot.mandate;
    const mandate = `${before}\n\nThe board asked for this change:\n${quoteBlock(wish)}`;
    const revised = await this.#tried(resubmit, {
      id: hire,
      payload: { mandate },
      decisionNote: `The mandate now says what you asked for: "${firstLineOf(wish)}"`,
    });
    if (revised === undefined) return "noted";
    this.#did.push(`revised a request for a hire: ${firstLineOf(wish)}`);
    return "revised";
  }

  /** Gives the right to hire to every report that asks for it. */
  async grantRequests(): Promise<void> {
    for (const { agent, resource } of (await this.#call(listPermissions, {})).requests) {
      if (resource !== "org:hire") continue;
      if ((await this.#tried(grantPermission, { to: agent.id, resource })) === undefined) continue;
      await this.#call(sendMessage, { to: agent.id, body: "You may hire now. Please continue." });
      this.#did.push(`let ${agent.name} hire`);
    }
  }

  /** Opens and accepts every submission of its reports. Returns whether there was any. */
  async verifyReports(): Promise<boolean> {
    const { outcomes } = await this.#call(myOutcomes, { status: "open", limit: 1000 });
    let any = false;
    for (const { id } of outcomes.filter((outcome) => outcome.kind !== "inbox"))
      for (const child of (await this.#call(viewOutcome, { id })).children) {
        if (child.status !== "submitted") continue;
        const { title, deliverables, delegatedBy } = await this.#call(viewOutcome, { id: child.id });
        // A goal is below the root agent's mandate, but the board decides about it.
        if (delegatedBy?.id !== this.#me.agent.id) continue;
        const opened = await this.#read(title, deliverables);
        const files = opened.map(({ id: file, content }) => `kb://${file} (${wordCount(content)} words)`);
        const note =
          files.length === 0
            ? "I read the note. It has no files that I could open. Accepted."
            : `I opened ${files.join(", ")}. Accepted.`;
        // Another agent or the board can decide first.
        const passed = await this.#tried(decideOutcome, { id: child.id, verdict: "pass", note });
        if (passed === undefined) continue;
        this.#did.push(`opened ${plural(files.length, "file")} of "${title}" and accepted it`);
        any = true;
      }
    return any;
  }

  /** Does one piece of work. Returns whether there was any. */
  async workOnce(): Promise<boolean> {
    const { outcomes } = await this.#call(myOutcomes, { status: "open", limit: 1000 });
    const next = outcomes.find(({ workable, kind }) => workable && kind !== "inbox");
    if (next === undefined) return false;
    const outcome = await this.#call(viewOutcome, { id: next.id });
    if (outcome.kind === "integration") await this.#combine(outcome);
    else if (!(await this.#divide(outcome))) await this.#doIt(outcome);
    return true;
  }

  /** Divides the outcome among the team, and hires a team if there is none. Returns whether the outcome was divided. */
  async #divide(outcome: Viewed): Promise<boolean> {
    // A part comes back if its hire was not approved or its agent left. It is then done, not divided again. Work that builds on
    // results of others, such as a check, is not divided either.
    const isPart = !outcome.delegated && !this.#isWhole(outcome);
    if (isPart || outcome.children.length > 0 || outcome.dependsOn.length > 0) return false;
    const { allowed } = this.#me.hiring;
    if (this.#team.length === 0 && this.#isRoot && allowed) await this.#hireCoordinator();
    const mayHireRoles = this.#me.agent.role === coordinator && allowed;
    if (this.#team.length === 0 && !mayHireRoles) return false;
    const tasks = tasksFor(outcome, this.#team, coordinator);
    const plan = await this.#tried(planWork, { outcome: outcome.id, tasks });
    if (plan === undefined) return false;
    const owners = new Set(plan.tasks.map(({ assignee }) => assignee.name));
    const to = [...owners].join(", ");
    this.#did.push(
      tasks.length === 1
        ? `delegated "${outcome.title}" to ${to}`
        : `divided "${outcome.title}" into ${tasks.length} parts for ${to}`,
    );
    return true;
  }

  async #hireCoordinator(): Promise<void> {
    const hired = await this.#tried(hireAgent, {
      name: coordinator,
      role: coordinator,
      mandate: "Divide the goals of the board into parts, find an agent for each, and combine the results.",
      grants: [{ resource: "org:hire" }],
    });
    if (hired === undefined) return;
    this.#team.push(hired.agent);
    this.#did.push(`${hired.approval === null ? "hired" : "asked the board for"} a ${coordinator}`);
  }

  /** Does the outcome itself. If the outcome was sent back, revises the delivered file. */
  async #doIt(outcome: Viewed): Promise<void> {
    const { id, title, history, acceptance, deliverables, context } = outcome;
    const requests = history
      .filter(({ action, why }) => action === reopenOutcome.name && why !== null)
      .map(({ why }) => why ?? "")
      .toReversed();
    const [before] = requests.length === 0 ? [] : await this.#read(title, deliverables);
    let file: string;
    if (before !== undefined) file = await this.#revise(title, before, requests);
    else {
      const found = await this.#readAll(context);
      const made = found.length > 0 ? checkFile(title, found, acceptance) : sampleFile(title);
      file = await this.#write(title, requests.length > 0 ? revisedFile(made, requests) : made);
    }
    const last = requests.at(-1);
    const note = `${last === undefined ? "" : `Revised as you asked: "${firstLineOf(last)}"\n\n`}The result is kb://${file}`;
    if (this.#isRoot && this.#isWhole(outcome)) await this.#report(title, file);
    await this.#call(outcome.delegated ? submitOutcome : completeOutcome, { id, note, files: [file] });
    this.#did.push(`${last === undefined ? "did" : "revised"} "${title}" with the result kb://${file}`);
  }

  /** Completes an integration with one file that has all results. The divided outcome is completed or submitted with it. */
  async #combine({ id, title: full, context }: Viewed): Promise<void> {
    const title = full.replace(/^Integrate: (?:Organize: )?/, "");
    const found = await this.#readAll(context);
    const [first, second] = found;
    const isOne = first !== undefined && second === undefined;
    // A single result that an agent below already combined is passed on as it is.
    const file = isOne ? first.id : await this.#write(title, combinedFile(title, found));
    if (this.#isRoot) await this.#report(title, file);
    await this.#call(completeOutcome, { id, note: `The result is kb://${file}`, files: [file] });
    this.#did.push(`${isOne ? "passed on the result" : "combined the results"} of "${title}": kb://${file}`);
  }

  /** Reports a whole to the board, never a part. The report comes first, so it is there when the board sees the end. */
  async #report(title: string, file: string): Promise<void> {
    await this.#call(sendMessage, { to: "board", body: `Done: ${title}\n\nThe result is kb://${file}` });
  }

  #isWhole({ parents }: Viewed): boolean {
    return parents.some(({ id }) => id === this.#me.mandate.id);
  }

  async #write(title: string, content: string): Promise<string> {
    const description = `Sample result of ${title}`.slice(0, 900).toWellFormed();
    return (await this.#call(createFile, { description, content })).id;
  }

  /** A new version of the file, or a copy if the file belongs to an agent below. */
  async #revise(title: string, { id, content }: OpenedFile, requests: readonly string[]): Promise<string> {
    const { version, hash, pinned } = await this.#call(readFile, { id });
    const revised = revisedFile(content, requests);
    if (pinned === true) return this.#write(title, revised);
    return (await this.#call(writeFile, { id, content: revised, version, hash })).id;
  }

  async #readAll(results: Viewed["context"]): Promise<OpenedFile[]> {
    const found = [];
    for (const { title, deliverables } of results) found.push(...(await this.#read(title, deliverables)));
    return found;
  }

  /** The text files among the deliverables. */
  async #read(title: string, deliverables: readonly Deliverable[]): Promise<OpenedFile[]> {
    const found: OpenedFile[] = [];
    for (const { id, mediaType, size } of deliverables) {
      if (!mediaType.startsWith("text/") || size > 20_000) continue;
      const file = await this.#tried(readFile, { id });
      if (file !== undefined) found.push({ id, title, content: file.content });
    }
    return found;
  }

  /** The answer, or undefined if the call was refused. The session notes the reason. */
  async #tried<I extends z.ZodObject, O extends z.ZodType>(
    operation: Operation<I, O>,
    input: z.input<I>,
  ): Promise<z.infer<O> | undefined> {
    try {
      return await this.#call(operation, input);
    } catch (error) {
      this.#did.push(
        `was refused ${operation.mcp?.tool ?? operation.name}: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    }
  }

  async end(): Promise<void> {
    if (this.#did.length === 0) this.#did.push(`read ${plural(this.#messages, "message")}, nothing to do`);
    const summary = this.#did.map((line) => `- ${line}`).join("\n");
    const { files } = await this.#call(listFiles, { kind: "state" });
    const state = files.find(({ id }) => id === this.#me.stateDocument.file);
    if (state !== undefined)
      await this.#call(writeFile, {
        id: state.id,
        content: `# State\n\nIn the last session:\n\n${summary}\n`,
        version: state.version,
        hash: state.hash,
      });
    await this.#call(submitSummary, { summary });
  }
}

function firstLineOf(body: string): string {
  const line = body.split("\n").find((candidate) => candidate.trim() !== "") ?? "Untitled goal";
  return line.trim().slice(0, 200).toWellFormed();
}
