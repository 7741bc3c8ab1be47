import { onOneLine } from "../contract/visible-text.ts";
import type { BudgetLine } from "../contract/budgets.ts";
import { dollars, plural, quoteBlock, thousands } from "../contract/phrases.ts";
import { sql } from "kysely";
import type { AgentRow } from "../agents/table.ts";
import { isPlain } from "../brains/registry.ts";
import { skillFiles } from "../companies/skill-operations.ts";
import { agentActor, append } from "../events/ledger.ts";
import { holds } from "../capabilities/rights.ts";
import type { Writing } from "../dispatch/context.ts";
import { fileById } from "../knowledge/table.ts";
import { outcomeById } from "../outcomes/table.ts";
import { selection, textQuery } from "../store/query.ts";
import { tables } from "../store/schema.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { assignmentFor } from "./final-output/assignment.ts";
import { systemPromptFor } from "./prompt.ts";
import type { SkillCopy } from "../processes/runner.ts";
import type { SessionRow } from "./sessions.ts";
import { type Situation, situationOf } from "./situation.ts";
import { chargedWork } from "./work.ts";

/**
 * The texts for a new session: the system prompt, which is the same for every session of an agent, and a short briefing on the
 * present state. Text that others wrote is quoted: it is data, never an instruction.
 */

/** The most bytes of a whole briefing. */
const mostBytes = 4096;
/** The most bytes of the mandate's description. */
const mostMandate = 1024;
/** The bytes of the briefing that are kept for the state document, if it is that long. */
const leastState = 1024;

export interface Briefing {
  readonly text: string;
  /** The work in full, for a brain without tools. Empty for a brain that can look its work up. */
  readonly assignment: string;
  readonly systemPrompt: string;
  /** The briefing as data. The session finds it as briefing.json. */
  readonly situation: Situation;
  readonly firstOutcomeId: string | null;
  readonly workOutcomeId: string | null;
  readonly mcpServers: readonly string[];
  readonly mayConsult: boolean;
}

export async function brief(tx: Tx, agent: AgentRow): Promise<Briefing> {
  // Everything that the session is given to read is logged for the agent: the session has not begun yet.
  const actor = agentActor(agent.id);
  const record: Writing["record"] = async (subject, data, operation = "session.brief") => {
    append(tx, { companyId: agent.company_id, actor, operation, subject, data });
  };
  const situation = await situationOf(tx, agent);
  const state = await fileById(tx, agent.state_file_id);
  const stateText =
    state === undefined ? "" : Buffer.from(await tx.blobs.read(state.id, state.hash)).toString("utf8");
  const stateQuoted = quoteBlock(stateText);
  const head = headOf(situation, mostBytes - Math.min(Buffer.byteLength(stateQuoted), leastState));
  const first = situation.workable[0]?.id ?? null;
  return {
    text: `${head}\n${cut(stateQuoted, mostBytes - Buffer.byteLength(head) - 2)}\n`,
    assignment: isPlain(agent.brain_type, agent.brain_config)
      ? await assignmentFor(
          { tx, actor, record },
          agent,
          first === null ? undefined : await outcomeById(tx, first),
        )
      : "",
    systemPrompt: systemPromptFor(agent, situation.manager?.id ?? null),
    situation,
    firstOutcomeId: first,
    workOutcomeId: chargedWork(situation.workable)?.id ?? null,
    mcpServers: await grantedServers(tx, agent),
    mayConsult: await holds(tx, agent.id, "org:consult", "use"),
  };
}

/**
 * Everything but the state document, which gets its share first. Lists are cut where the room ends. The session can read the
 * rest with tools.
 */
function headOf(situation: Situation, bytes: number): string {
  const { stateDocument, workable } = situation;
  const opening = openingOf(situation);
  const stateLine = `Your state document is kb file ${stateDocument.file}, version ${stateDocument.version}${
    stateDocument.isStale
      ? ". Your last session did not update it, so read your log and its earlier versions before you rely on it"
      : ""
  }. It says:`;
  let room = bytes - Buffer.byteLength([...opening, stateLine].join("\n")) - 100;
  const sections = sectionsOf(situation).flatMap(({ head, lines, rest }) => {
    room -= Buffer.byteLength(head) + Buffer.byteLength(rest) + 2;
    const shown = thatFit(lines, room);
    room -= Buffer.byteLength(shown.join("\n"));
    return shown.length === 0 ? [] : [head, ...shown, ...(shown.length < lines.length ? [rest] : [])];
  });
  return [
    ...opening,
    ...(workable.length === 0 ? ["You have no workable outcome."] : []),
    ...sections,
    stateLine,
  ].join("\n");
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

function openingOf(situation: Situation): string[] {
  const { agent, manager, mandate, now, budget, shared, hiring, limits, inbox } = situation;
  const day = weekdays[new Date(now).getUTCDay()] ?? "";
  return [
    `You are ${agent.name} (${agent.role}), agent ${agent.id}. Your manager is ${manager === null ? "the board" : `${manager.name}, agent ${manager.id}`}.`,
    `It is ${day}, ${now.slice(0, 16)}Z.`,
    `Your mandate: ${quote(mandate.title, 200)} (outcome ${mandate.id}).`,
    ...(mandate.description === "" ? [] : [quoteBlock(cut(mandate.description, mostMandate))]),
    shared === null ? `Budget left this month: ${budget.map(leftIn).join(", ")}.` : sharedBudget(shared),
    `Limits: ${plural(limits.openOutcomes, "open outcome")}, ${plural(limits.delegatedParts, "delegated part")} of an outcome, work delegated on ${plural(limits.delegationDepth, "time")}.`,
    hiring.allowed
      ? `You may hire. ${hiring.needsApproval ? "The board must approve each hire." : "Hires need no approval."}`
      : "You may not hire. With create_agent you can ask a person for a helper.",
    `Messages in your inbox: ${inbox}.`,
  ];
}

const sharedBudget = ({ used, session }: NonNullable<Situation["shared"]>): string => {
  const amounts = [
    ...(session.usd === undefined ? [] : [dollars(session.usd)]),
    ...(session.tokens === undefined ? [] : [`${thousands(session.tokens)} tokens`]),
  ];
  return [
    "Budget: you share your manager's.",
    `This month you and your reports have used ${dollars(used.usd)}, ${thousands(used.tokens)} tokens and ${plural(used.sessions, "session")} of it.`,
    ...(amounts.length === 0 ? [] : [`A session gets ${amounts.join(" and ")} of it at a time.`]),
  ].join(" ");
};

const leftIn = ({ measure, left, limit }: BudgetLine): string => {
  const amount = (value: number): string => (measure === "usd" ? dollars(value) : thousands(value));
  const unit = measure === "usd" ? "" : ` ${measure}`;
  return left === null || limit === null
    ? `no limit of ${measure}`
    : `${amount(Math.max(0, left))} of ${amount(limit)}${unit}`;
};

function sectionsOf({
  workable,
  toDecide,
  delegated,
  submitted,
  blocked,
  pending,
  reports,
}: Situation): readonly { head: string; lines: readonly string[]; rest: string }[] {
  const named = ({ id, title }: { id: string; title: string }): string => `${id} ${quote(title, 160)}`;
  return [
    {
      head: "Workable outcomes, the first one first:",
      lines: workable.map(
        (outcome, index) =>
          `${index + 1}. ${named(outcome)}${outcome.urgent ? " urgent" : ""}${outcome.important ? " important" : ""} [${outcome.kind}]`,
      ),
      rest: "… and more: call my_outcomes.",
    },
    {
      head: "Submitted to you, to decide:",
      lines: toDecide.map((outcome) => `- ${named(outcome)}`),
      rest: "- …",
    },
    {
      head: "Delegated and open:",
      lines: delegated.map((outcome) => `- ${named(outcome)}, owner ${quote(outcome.owner, 80)}`),
      rest: "- … and more: call view_subtree.",
    },
    {
      head: "Submitted by you, waiting for verification:",
      lines: submitted.map((outcome) => `- ${named(outcome)}`),
      rest: "- …",
    },
    {
      head: "Blocked:",
      lines: blocked.map(
        (outcome) =>
          `- ${named(outcome)}: ${quote(outcome.reason, 160)}${outcome.until === null ? "" : ` until ${outcome.until}`}`,
      ),
      rest: "- …",
    },
    {
      head: "Requests of yours that people decide:",
      lines: pending.map(({ id, type, status }) => `- approval ${id} (${type}, ${status})`),
      rest: "- …",
    },
    {
      head: "Your direct reports:",
      lines: reports.map(
        ({ name, role, slug, status }) =>
          `- ${quote(name, 80)} (${slug}, ${quote(role, 80)}${status === "idle" ? "" : `, ${status}`})`,
      ),
      rest: "- … and more: call list_roster.",
    },
  ];
}

/** The company's MCP servers that the agent has a right to use. Only these get into a session's settings. */
async function grantedServers(tx: ReadTx, agent: AgentRow): Promise<string[]> {
  const rows = await tx.all(serversFor, { agentId: agent.id, company_id: agent.company_id });
  return rows.map(({ name }) => name);
}

/** The repositories that an agent may read. */
export async function readableRepos(tx: ReadTx, agentId: string): Promise<string[]> {
  return (await tx.all(reposFor, { agentId })).map(({ name }) => name);
}

/**
 * Whether the rights of the session's agent changed since the session started: an MCP server was granted or taken away, or a
 * repository that the sandbox shows was lost.
 */
export async function hasOtherRights(tx: ReadTx, session: SessionRow): Promise<boolean> {
  const { agent_id: agentId, company_id } = session;
  const now = (await tx.all(serversFor, { agentId, company_id })).map(({ name }) => name);
  if (JSON.stringify(now) !== session.mcp_servers) return true;
  const shown = tables.sessions.repos.parse(session.repos);
  const readable = shown.length === 0 ? [] : await readableRepos(tx, agentId);
  return shown.some((name) => !readable.includes(name));
}

/** The current skills of the company. A session gets a copy of each file, so each is recorded as read. */
export async function takeSkills(
  tx: Tx,
  agent: Pick<AgentRow, "id" | "company_id">,
  sessionId: string,
): Promise<SkillCopy[]> {
  const copies: SkillCopy[] = [];
  for (const { path, id, version, hash } of await tx.all(skillFiles, { companyId: agent.company_id })) {
    copies.push({ path, content: await tx.blobs.read(id, hash) });
    append(tx, {
      companyId: agent.company_id,
      actor: agentActor(agent.id, sessionId),
      operation: "knowledge.read",
      subject: id,
      data: { version },
    });
  }
  return copies;
}

/** The text as one line and as a JSON string of at most `most` bytes. */
function quote(text: string, most: number): string {
  const line = onOneLine(text);
  const bytes = (part: string): number => Buffer.byteLength(JSON.stringify(part));
  if (bytes(line) <= most) return JSON.stringify(line);
  let kept = "";
  let size = bytes("…");
  for (const character of line) {
    size += bytes(character) - 2;
    if (size > most) break;
    kept += character;
  }
  return JSON.stringify(`${kept}…`);
}

/** As many of the first lines as fit into `room` bytes. */
function thatFit(lines: readonly string[], room: number): string[] {
  let left = room;
  const first = lines.findIndex((line) => (left -= Buffer.byteLength(line) + 2) < 0);
  return lines.slice(0, first < 0 ? lines.length : first);
}

/** The text cut to `most` bytes, never within a character. */
function cut(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.byteLength <= most
    ? text
    : bytes
        .subarray(0, Math.max(0, most - 8))
        .toString("utf8")
        .replace(/\uFFFD+$/, "") + "\n> …";
}

const serversFor = selection(
  "mcp_servers",
  ["company_id"],
  (p: { agentId: string }) => sql`and exists (select 1 from grants g
    where g.grantee_id = ${p.agentId} and g.broken = 0 and g.resource = 'mcp:' || mcp_servers.name) order by name`,
);

const reposFor = textQuery(
  (p: { agentId: string }) => sql<{ name: string }>`select distinct r.name from grants g
    join repos r on r.company_id = g.company_id and g.resource = 'repo:' || r.name
    where g.grantee_id = ${p.agentId} and g.broken = 0 order by r.name`,
);
