import { onOneLine } from "../contract/visible-text.ts";
import { quoteBlock } from "../contract/phrases.ts";
import { tables } from "../store/schema.ts";
import { sql } from "kysely";
import type { AgentRow } from "../agents/table.ts";
import { isPlain } from "../brains/registry.ts";
import { skillFiles } from "../companies/skill-operations.ts";
import { append } from "../events/ledger.ts";
import { memberById, reportsOf } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import type { Writing } from "../dispatch/context.ts";
import { fileById } from "../knowledge/table.ts";
import { countWaiting } from "../mail/table.ts";
import { outcomeById } from "../outcomes/table.ts";
import { selection } from "../store/query.ts";
import type { ReadTx, Tx } from "../store/store.ts";
import { assignmentFor } from "./final-output/assignment.ts";
import { systemPromptFor, promptVersion } from "./prompt.ts";
import type { McpEntry, SkillCopy } from "../processes/runner.ts";
import { workOf } from "./work.ts";

/**
 * What a session is told when it starts: the system prompt, which is the same for every session of an agent, and a short
 * briefing on the present state. Text that others wrote is quoted: it is data, never an instruction.
 */
export { promptVersion };

/** The size of a whole briefing. */
const mostBytes = 4096;
/** The state document gets at least this much of the briefing, if it is that long. */
const leastState = 1024;

export interface Briefing {
  readonly text: string;
  /** The work in full, for a brain without tools. Empty for a brain that can look its work up. */
  readonly assignment: string;
  readonly systemPrompt: string;
  readonly firstOutcomeId: string | null;
  readonly mcpServers: readonly McpEntry[];
  readonly mayConsult: boolean;
}

export async function brief(tx: Tx, agent: AgentRow): Promise<Briefing> {
  // What the session is given to read is logged for the agent: the session has not begun yet.
  const actor = { kind: "agent", agentId: agent.id, sessionId: null } as const;
  const record: Writing["record"] = async (subject, data, operation = "session.brief") => {
    append(tx, { companyId: agent.company_id, actor, operation, subject, data });
  };
  const boss = await memberById(tx, agent.boss_id);
  const mandate = await outcomeById(tx, agent.mandate_id);
  const work = await tx.all(workOf, { agentId: agent.id, now: tx.now, limit: 10 });
  const inbox = await countWaiting(tx, agent.company_id, agent.id);
  const reports = (await reportsOf(tx, agent.id)).slice(0, 10);
  const state = await fileById(tx, agent.state_file_id);
  const stateText =
    state === undefined ? "" : Buffer.from(await tx.blobs.read(state.id, state.hash)).toString("utf8");
  const opening = [
    `You are ${agent.name} (${agent.role}), agent ${agent.id}. Your boss is ${boss === undefined ? "the board" : `${boss.name}, agent ${boss.id}`}.`,
    `Your mandate: ${quote(mandate.title, 200)} (outcome ${mandate.id}).`,
    `Messages in your inbox: ${inbox}.`,
    work.length === 0 ? "You have no workable outcome." : "Workable outcomes, the first one first:",
  ];
  const outcomes = work.map(
    (outcome, index) =>
      `${index + 1}. ${outcome.id} ${quote(outcome.title, 160)}${outcome.urgent === 1 ? " urgent" : ""}${outcome.important === 1 ? " important" : ""} [${outcome.kind}]`,
  );
  const names = reports.map(({ name, role, slug }) => `${quote(name, 80)} (${slug}, ${quote(role, 80)})`);
  const stateLine = `Your state document is kb file ${agent.state_file_id}, version ${state?.version ?? 0}${
    agent.state_stale === 1
      ? ". Your last session did not update it, so read your log and its earlier versions before you rely on it"
      : ""
  }. It says:`;
  // The state document gets its share first. Reports come last, because list_roster shows them too.
  const stateQuoted = quoteBlock(stateText);
  const reserved = Math.min(Buffer.byteLength(stateQuoted), leastState);
  let room = mostBytes - reserved - Buffer.byteLength([...opening, stateLine].join("\n")) - 100;
  const shownOutcomes = thatFit(outcomes, room);
  room -= Buffer.byteLength(shownOutcomes.join("\n"));
  const shownNames = thatFit(names, room);
  const parts = [
    ...opening,
    ...shownOutcomes,
    ...(shownOutcomes.length < outcomes.length ? ["… and more: call my_outcomes."] : []),
    ...(shownNames.length === 0
      ? []
      : [`Your direct reports: ${shownNames.join("; ")}${shownNames.length < reports.length ? "; …" : ""}.`]),
    stateLine,
  ];
  const head = parts.join("\n");
  return {
    text: `${head}\n${cut(stateQuoted, mostBytes - Buffer.byteLength(head) - 2)}\n`,
    assignment: isPlain(agent.brain_type, agent.brain_config)
      ? await assignmentFor({ tx, actor, record }, agent, work[0])
      : "",
    systemPrompt: systemPromptFor(agent, boss?.id ?? null),
    firstOutcomeId: work[0]?.id ?? null,
    mcpServers: await grantedServers(tx, agent),
    mayConsult: await holds(tx, agent.id, "org:consult", "use"),
  };
}

/** The MCP servers of the company that the agent has a right to use. Only these get into a session's settings. */
async function grantedServers(tx: ReadTx, agent: AgentRow): Promise<McpEntry[]> {
  const rows = await tx.all(serversFor, { agentId: agent.id, company_id: agent.company_id });
  return rows.map(({ name, config }) => ({ name, config: tables.mcp_servers.config.parse(config) }));
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
      actor: { kind: "agent", agentId: agent.id, sessionId },
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
