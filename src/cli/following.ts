import type { Client } from "../client/client.ts";
import { approve, reject, requestRevision, viewApproval } from "../contract/approvals.ts";
import { type AttentionItem, viewAttention } from "../contract/attention.ts";
import { listCosts } from "../contract/budgets.ts";
import { readFile, readVersion } from "../contract/knowledge.ts";
import { boardInbox, type Message } from "../contract/mail.ts";
import { type Outcome, type OutcomeSummary, viewOutcome, viewSubtree } from "../contract/outcomes.ts";
import { decideOutcome } from "../contract/delegation.ts";
import { dollars, plural } from "../contract/phrases.ts";
import { Refusal } from "../contract/refusal.ts";
import { listSessions } from "../contract/sessions.ts";
import { drawChanges } from "./approvals.ts";
import { briefly, cut, lasting, padded, stated, styled } from "./look.ts";
import { indented } from "./show.ts";
import { type Context, Interrupted } from "./terminal.ts";
import { continues, howToDecide, howToDecideResult, stillOpen } from "./texts.ts";

/**
 * Follows one goal: its outcomes, the sessions that work on them, and everything about it that needs a person. Nothing else of
 * the company is shown or decided. On a terminal the picture is redrawn in place; otherwise each change is one line.
 *
 * It ends when the goal is completed or closed, when the time is over, or on Ctrl-C. Without a terminal to ask at, it also ends
 * when nothing moves until a person decides something.
 */
export interface Followed {
  /** The id of the outcome. */
  readonly goal: string;
  readonly status: "done" | "closed" | "submitted" | "waiting" | "at_rest" | "timeout" | "interrupted";
  readonly messages: readonly Message[];
  readonly deliverables: Outcome["deliverables"];
  readonly costUsd: number;
  readonly seconds: number;
}

interface Options {
  readonly seconds: number;
  /** Approve the requests of this goal without asking. */
  readonly yes: boolean;
  /** Accept the result without asking. */
  readonly accept: boolean;
  readonly isJson: boolean;
}

interface Picture {
  readonly goal: OutcomeSummary;
  readonly rows: readonly Row[];
  readonly items: readonly AttentionItem[];
  readonly atWork: number;
  readonly costUsd: number;
}

interface Row {
  readonly id: string;
  readonly depth: number;
  readonly title: string;
  readonly state: string;
  readonly agent: string;
  readonly milliseconds: number;
  readonly costUsd: number;
}

export async function followGoal(
  context: Context,
  client: Client,
  { companyId, id, stopsWithUs }: { companyId: string; id: string; stopsWithUs: boolean },
  options: Options,
): Promise<Followed> {
  const { terminal } = context;
  const asks = options.isJson ? undefined : terminal.ask;
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const told = new Set<string>();
  let isInterrupted = false;
  const release = terminal.onInterrupt?.(() => (isInterrupted = true));
  let picture: Picture | undefined;
  const drawn = new Map<string, string>();
  let calm = 0;
  const end = async (status: Followed["status"]): Promise<Followed> => {
    terminal.redraw?.("");
    const { deliverables } = await client.call(viewOutcome, { id });
    const ids = new Set(
      picture?.items.flatMap(({ kind, subject }) => (kind === "question" ? [subject.id] : [])),
    );
    const { messages } = await client.call(boardInbox, { companyId, limit: 1000 });
    return {
      goal: id,
      status,
      messages: messages.filter((message) => ids.has(message.id)),
      deliverables,
      costUsd: picture?.costUsd ?? 0,
      seconds: elapsed(),
    };
  };
  try {
    while (elapsed() < options.seconds) {
      picture = await look(client, companyId, id);
      if (!options.isJson) show(context, picture, drawn, elapsed());
      const { status } = picture.goal;
      if (status === "completed" || status === "closed") {
        if (!options.isJson) await conclude(context, client, picture, elapsed());
        return await end(status === "completed" ? "done" : "closed");
      }
      const approvals = picture.items.filter(({ kind }) => kind === "approval");
      let acted = false;
      for (const item of approvals)
        acted = (await decide(context, client, item, { ...options, ask: asks }, told)) || acted;
      if (status === "submitted") {
        const verdict = await judge(context, client, id, { ...options, ask: asks }, told);
        if (verdict === "later") return await end("submitted");
        acted = true;
      }
      for (const item of picture.items)
        if (!options.isJson && status !== "submitted") announce(context, item, told);
      const isStill = picture.atWork === 0 && picture.items.length > 0 && !acted;
      calm = isStill ? calm + 1 : 0;
      // Three calm looks in a row are needed: one alone could miss a session that is about to start.
      if (calm >= 3 && asks === undefined) {
        if (!options.isJson) terminal.out(stillOpen(picture.items.length, id));
        return await end("waiting");
      }
      for (let wait = 0; wait < 4 && !isInterrupted; wait++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      if (isInterrupted) {
        if (!options.isJson) terminal.out(`\n${continues(id, stopsWithUs)}`);
        return await end("interrupted");
      }
    }
    if (!options.isJson)
      terminal.out(
        `The agents are still working after ${lasting(elapsed() * 1000)}. To follow: agency follow ${id}`,
      );
    return await end("timeout");
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    terminal.out(`\n${continues(id, stopsWithUs)}`);
    return await end("interrupted");
  } finally {
    release?.();
  }
}

async function look(client: Client, companyId: string, id: string): Promise<Picture> {
  const [{ outcomes }, { sessions }, { items }, { costs }] = await Promise.all([
    client.call(viewSubtree, { id, limit: 1000 }),
    client.call(listSessions, { companyId, live: true, limit: 1000 }),
    client.call(viewAttention, { companyId, outcome: id, limit: 1000 }),
    client.call(listCosts, { companyId, by: "outcome", limit: 1000 }),
  ]);
  const now = Date.now();
  const byId = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  const working = new Map(
    sessions.flatMap(({ outcome, agent }) =>
      outcome?.id != null && byId.has(outcome.id) ? [[outcome.id, agent.name] as const] : [],
    ),
  );
  const costOf = new Map(costs.map((cost) => [cost.id, cost]));
  const rows: Row[] = [];
  const drawn = new Set<string>();
  const add = (outcome: (typeof outcomes)[number], depth: number): void => {
    if (drawn.has(outcome.id)) return;
    drawn.add(outcome.id);
    const isOver = ["completed", "closed"].includes(outcome.status);
    const state = working.has(outcome.id)
      ? "working"
      : outcome.status === "open"
        ? outcome.blocked === null
          ? "waiting"
          : "blocked"
        : outcome.status;
    rows.push({
      id: outcome.id,
      depth,
      title: outcome.title,
      state,
      agent: working.get(outcome.id) ?? outcome.responsible?.name ?? "unassigned",
      milliseconds: (isOver ? Date.parse(outcome.updatedAt) : now) - Date.parse(outcome.createdAt),
      costUsd: costOf.get(outcome.id)?.own.costUsd ?? 0,
    });
    for (const child of outcomes) if (child.parents.includes(outcome.id)) add(child, depth + 1);
  };
  const goal = byId.get(id);
  if (goal === undefined) throw new Error("The daemon did not list the goal.");
  add(goal, 0);
  return { goal, rows, items, atWork: working.size, costUsd: costOf.get(id)?.total.costUsd ?? 0 };
}

/**
 * On a terminal, replaces the last picture by the whole new one. Otherwise prints a line for each outcome that changed its
 * state.
 */
function show({ terminal }: Context, picture: Picture, drawn: Map<string, string>, seconds: number): void {
  if (terminal.redraw !== undefined) {
    terminal.redraw(drawPicture(picture, terminal.columns ?? 80, seconds));
    return;
  }
  for (const row of picture.rows) {
    if (drawn.get(row.id) === row.state) continue;
    drawn.set(row.id, row.state);
    terminal.out(
      `${padded(`[${briefly(seconds * 1000)}]`, 6)} ${row.state.padEnd(9)} ${row.agent}: ${row.title}`,
    );
  }
}

const symbols: Readonly<Record<string, string>> = {
  working: "●",
  waiting: "○",
  blocked: "◌",
  submitted: "◐",
  completed: "✓",
  closed: "✗",
};

/** As many rows as fit. Ended outcomes are left out first, the last ones first. */
const mostRows = 20;

function drawPicture({ rows, costUsd, atWork }: Picture, columns: number, seconds: number): string {
  const live = rows.filter(({ state }) => state !== "completed" && state !== "closed");
  const shown = rows.length <= mostRows ? rows : live.slice(0, mostRows);
  const agentWidth = Math.min(16, Math.max(...shown.map(({ agent }) => agent.length)));
  const lines = shown.map((row) => {
    const time = briefly(row.milliseconds).padStart(4);
    const cost = row.costUsd === 0 ? "" : dollars(row.costUsd);
    const titleWidth = Math.max(10, columns - agentWidth - 30 - row.depth * 2);
    const state = padded(stated(row.state), 9);
    return `${"  ".repeat(row.depth)}${symbols[row.state] ?? " "} ${padded(cut(row.title, titleWidth), titleWidth)}  ${state}  ${padded(cut(row.agent, agentWidth), agentWidth)} ${time} ${cost}`.trimEnd();
  });
  const more = rows.length - shown.length;
  return [
    ...lines,
    ...(more > 0 ? [styled("dim", `… and ${more} more: agency tree --all`)] : []),
    styled(
      "dim",
      `${plural(atWork, "agent")} at work, ${briefly(seconds * 1000)}, ${dollars(costUsd)}. Ctrl-C to leave; the work continues.`,
    ),
  ].join("\n");
}

interface Asking extends Options {
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

/** Decides a request, or announces it once. Returns whether something was decided. */
async function decide(
  context: Context,
  client: Client,
  item: AttentionItem,
  { yes, ask, isJson }: Asking,
  told: Set<string>,
): Promise<boolean> {
  const { terminal } = context;
  const { id } = item.subject;
  if (id === null || item.facts["status"] !== "pending") return false;
  const approval = await client.call(viewApproval, { id });
  const { changes, payloadHash, revision } = approval;
  const key = `${id} ${revision}`;
  if (told.has(key)) return false;
  const summary = changes.summary.map((line) => `  ${indented(line)}`).join("\n");
  const whole = drawChanges(changes)
    .map((line) => `  ${line}`)
    .join("\n");
  if (!yes && ask === undefined) {
    // With --json a program reads the result, but a person still has to see pending requests.
    const say = isJson ? terminal.err : terminal.out;
    say(`Request ${id} needs your decision: ${item.title}\n${whole}\n${howToDecide(id)}\n`);
    told.add(key);
    return false;
  }
  terminal.redraw?.("");
  let shown = `\n${styled("bold", `${item.by?.title ?? "An agent"} asks: ${item.title}`)}\n${summary}`;
  for (;;) {
    const answer = yes ? "y" : letterOf(await ask?.(`${shown}\nApprove? [y]es [n]o [r]evise [d]etails: `));
    shown = "";
    try {
      // The hash ties the decision to the displayed request. If the request has changed since, it is shown again.
      if (answer === "y") {
        await client.call(approve, { id, payloadHash });
        if (!isJson) terminal.out(`Approved: ${changes.summary[0] ?? item.title}\n`);
      } else if (answer === "n") {
        const decisionNote = (await ask?.("Why not? (optional) "))?.trim();
        await client.call(reject, { id, payloadHash, ...(decisionNote && { decisionNote }) });
        terminal.out(`Rejected: ${item.title}\n`);
      } else if (answer === "r") {
        const decisionNote = (await ask?.("What should change? "))?.trim();
        if (!decisionNote) continue;
        await client.call(requestRevision, { id, payloadHash, decisionNote });
        terminal.out("Sent back. You are asked again when the request is revised.\n");
      } else if (answer === "d") {
        shown = `\n${whole}`;
        continue;
      } else if (answer === "") {
        told.add(key);
        terminal.out(`Not decided. ${howToDecide(id)}\n`);
        return false;
      } else continue;
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      terminal.out(`${error.message} ${error.hint}\n`);
      // Another decision came first, or the request changed. The next look shows the present state.
      if (error.code === "conflict" || yes) return error.code === "conflict";
    }
  }
}

/** Lets the person accept a submitted goal or send it back. */
async function judge(
  context: Context,
  client: Client,
  id: string,
  { accept, ask, isJson }: Asking,
  told: Set<string>,
): Promise<"decided" | "later"> {
  const { terminal } = context;
  const { title, deliverables, history, status } = await client.call(viewOutcome, { id });
  if (status !== "submitted") return "decided";
  if (accept) {
    await client.call(decideOutcome, { id, verdict: "pass" });
    return "decided";
  }
  const note = history.findLast(({ action }) => action === "outcome.submit")?.why;
  const files = deliverables.map((file) => `  ${file.description} (agency kb read ${file.id})`);
  const head = [
    `\n${styled("bold", `The goal "${title}" is submitted.`)}`,
    ...(note == null ? [] : [`    │ ${indented(note)}`]),
    ...(files.length === 0 ? [] : ["Deliverables:", ...files]),
  ].join("\n");
  if (ask === undefined) {
    if (!isJson) terminal.out(`${head}\n${howToDecideResult(id)}`);
    return "later";
  }
  terminal.redraw?.("");
  let shown = told.has(`submitted ${id}`) ? "" : head;
  for (;;) {
    const answer = letterOf(await ask(`${shown}\nAccept the result? [y]es [n]o [r]evise [d]etails: `));
    shown = "";
    if (answer === "d") shown = await contentOf(client, deliverables, Infinity);
    else if (answer === "y") {
      await client.call(decideOutcome, { id, verdict: "pass" });
      return "decided";
    } else if (answer === "r") {
      const words = (await ask("What is missing? ")).trim();
      if (words === "") continue;
      await client.call(decideOutcome, { id, verdict: "rework", note: words });
      terminal.out("Sent back. You are asked again when the goal is submitted.\n");
      return "decided";
    } else if (answer === "n" || answer === "") {
      terminal.out(`Not accepted yet. ${howToDecideResult(id)}`);
      return "later";
    }
  }
}

const letterOf = (answer: string | undefined): string => (answer ?? "").trim().toLowerCase().slice(0, 1);

/** Announces any other item that needs a person, with the command that settles it. Each item is announced once. */
function announce({ terminal }: Context, item: AttentionItem, told: Set<string>): void {
  const key = `${item.kind} ${item.subject.id ?? ""} ${item.since}`;
  if (item.kind === "approval" || told.has(key)) return;
  told.add(key);
  terminal.redraw?.("");
  terminal.out(
    [
      `${styled("yellow", `Needs you (${item.kind})`)}: ${item.title}`,
      `    │ ${indented(item.reason)}`,
      ...item.abilities.flatMap(({ command }) => (command === null ? [] : [`  ${command}`])),
      "",
    ].join("\n"),
  );
}

/** Prints how the goal ended, what it cost, and as much of the result as fits. */
async function conclude(
  { terminal }: Context,
  client: Client,
  { goal, costUsd, rows }: Picture,
  seconds: number,
): Promise<void> {
  terminal.redraw?.("");
  const { deliverables, rationale, result } = await client.call(viewOutcome, { id: goal.id });
  const cost = `${lasting(seconds * 1000)}, ${dollars(costUsd)}, ${plural(rows.length, "outcome")}`;
  if (goal.status === "closed") {
    terminal.out(`\nThe goal "${goal.title}" was closed after ${cost}.\n    │ ${indented(rationale ?? "")}`);
    return;
  }
  const content = await contentOf(client, deliverables, 2000);
  const note =
    deliverables.length > 0 || result === null ? null : await client.call(readFile, { id: result });
  terminal.out(
    [
      `\n${styled("bold", "Done")}: ${goal.title} (${cost})`,
      ...(note === null ? [] : [`    │ ${indented(note.content.slice(0, 2000))}`]),
      ...(deliverables.length > 0 ? ["Deliverables:"] : note === null ? ["It delivered no files."] : []),
      ...deliverables.map((file) => `  ${file.description} (agency kb read ${file.id})`),
      ...(content === "" ? [] : [content]),
      ...(deliverables.length === 0 && note === null
        ? []
        : [`Save the result: agency results ${goal.id} --to <folder>`]),
    ].join("\n"),
  );
}

/** The text of a delivered file, quoted. Of a long text, only the beginning. */
async function contentOf(
  client: Client,
  deliverables: Outcome["deliverables"],
  most: number,
): Promise<string> {
  const parts: string[] = [];
  for (const { id, version, mediaType, description } of deliverables.slice(0, 5)) {
    if (!/^text\/|json|yaml|xml/.test(mediaType)) continue;
    const { content, encoding } = await client.call(readVersion, { id, version });
    if (encoding !== "utf8") continue;
    const text = content.length > most ? `${content.slice(0, most)}…` : content;
    parts.push(`\n${description}:\n    │ ${indented(text)}\n`);
  }
  return parts.join("");
}
