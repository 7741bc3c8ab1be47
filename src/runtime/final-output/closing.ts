import { sql } from "kysely";
import { onOneLine } from "../../contract/visible-text.ts";
import { refusalOf } from "../../contract/refusal.ts";
import { complete, submit } from "../../delegation/ending.ts";
import { demandDivision, type Division, fanOut, type PlannedPart } from "../../delegation/fan-out.ts";
import { type DraftedPlan, draftPlan, hireForRole, recordPlan } from "../../delegation/planning.ts";
import { agentById, type AgentRow } from "../../agents/table.ts";
import { findReport } from "../../delegation/team.ts";
import { bySystem, type CallContext, callContext } from "../../dispatch/context.ts";
import { memberById } from "../../capabilities/members.ts";
import { tellOfLimit, tellOnce } from "../../mail/notices.ts";
import { acknowledge } from "../../mail/operations.ts";
import { notify } from "../../mail/notices.ts";
import type { MessageRow } from "../../mail/table.ts";
import { demandRoomForOutcomes } from "../../outcomes/limits.ts";
import type { OutcomeRow } from "../../outcomes/outcome.ts";
import { excerpt } from "../../outcomes/results.ts";
import { insertOutcome, outcomeById, saveOutcome } from "../../outcomes/table.ts";
import { selection } from "../../store/query.ts";
import { agentActor } from "../../events/ledger.ts";
import type { Tx } from "../../store/store.ts";
import { bodyOf, shownMessages, shownReviews } from "./assignment.ts";
import { type Directive, directivesIn } from "./directives.ts";
import { applyVerdict, recordMissingVerdicts } from "./judging.ts";
import { mostTurns, routeWords, wordsIn } from "./replies.ts";
import { cannotParse, keepsAsking, nothingToDivide, notSent, refusedLines } from "./texts.ts";
import type { Exit } from "../../processes/runner.ts";
import type { SessionRow } from "../sessions.ts";
import { workOf } from "../work.ts";

/**
 * Applies a session's final output, in the transaction that ends the session. Directives are carried out. An output that starts
 * with an address is sent as a message. The output of a brain without tools is the result of its work. Whatever can't be
 * carried out goes back to the agent with the reason; the rest takes effect.
 */
interface Ids {
  readonly newId: () => string;
  readonly newSecret: () => string;
}

export async function applyFinalOutput(
  tx: Tx,
  session: SessionRow,
  { output: said, lost }: Pick<Exit, "output" | "lost">,
  ids: Ids,
): Promise<void> {
  // The session was ended from outside, by a pause for example. It can no longer act for the agent.
  if (session.ended_at !== null) return;
  const agent = await agentById(tx, session.agent_id);
  const caller = {
    actor: agentActor(agent.id, session.id),
    companyId: agent.company_id,
    workspace: null,
  };
  const call = callContext(tx, { ...ids, caller, companyId: agent.company_id, operation: "session.words" });
  // In a cut output, the first line may be the end of a longer one. So it can't be an address.
  const words = lost === undefined || lost.line === "" ? wordsIn(said) : { to: null, body: said.trim() };
  // A brain without tools was given its work as text. The agent may have another brain by now.
  const isPlain = (session.assignment ?? "") !== "";
  const isSilent = isPlain && (await tx.first(anyDeed, { session_id: session.id })) === undefined;
  const directives = isPlain
    ? directivesIn(said, `${session.briefing ?? ""}\n${session.assignment ?? ""}`, lost)
    : [];
  // The reviews and messages that the session was shown. They are read first, because the directives below may add new ones.
  const reviews = isSilent ? await shownReviews(tx, agent.id, session.started_at) : [];
  const messages = await shownMessages(tx, agent, session.started_at);
  const first =
    session.first_outcome_id === null ? undefined : await outcomeById(tx, session.first_outcome_id);
  const isTriage = first?.kind === "inbox";
  if (directives.length > 0) await carryOut({ call, agent, first, directives, messages });
  const isResult = isSilent && !isTriage && words.to === null;
  if (words.to !== null || (directives.length === 0 && !isResult))
    await routeWords(call, agent, session, words, isTriage, isSilent && isTriage ? messages : []);
  if (!isSilent) return;
  if (directives.length === 0 && words.to === null && words.body !== "") {
    if (first !== undefined && !isTriage) await takeAsResult(call, agent, first, words.body);
    else if (isTriage && agent.auto_reply === 0) await tellNotSent(call, agent, messages, words.body);
  }
  await recordMissingVerdicts(call, agent, reviews);
  // A brain without tools can't acknowledge notices, so they count as read. Messages from agents and people stay. The
  // acknowledgement is recorded as an act of the system, because being shown a notice is not progress of the session.
  const notices = isTriage ? messages.filter(({ from_system }) => from_system === 1) : [];
  for (const notice of notices) await acknowledge(bySystem(tx, agent.company_id, ids.newId), notice, "shown");
}

/** The output had no address, although a message waits for an answer. Without a hint the agent would print it again. */
async function tellNotSent(
  call: CallContext,
  agent: AgentRow,
  messages: readonly MessageRow[],
  said: string,
): Promise<void> {
  if (messages.every(({ from_system }) => from_system === 1)) return;
  await tellAuthor(call, agent, [{ line: said, why: notSent }], lastTurn(messages) + 1);
}

const lastTurn = (messages: readonly MessageRow[]): number =>
  Math.max(0, ...messages.map(({ auto_turn }) => auto_turn));

interface Scene {
  readonly call: CallContext;
  readonly agent: AgentRow;
  /** The outcome that the session was started for. */
  readonly first: OutcomeRow | undefined;
  readonly directives: readonly Directive[];
  readonly messages: readonly MessageRow[];
}

async function carryOut(scene: Scene): Promise<void> {
  const { call, agent, directives, messages } = scene;
  const { tx } = call;
  const manager = await memberById(tx, agent.id);
  if (manager === undefined) throw new Error("an agent is missing");
  const woken = messages.find(({ from_system }) => from_system === 0);
  const refused: { line: string; why: string }[] = [];
  const tried = async (line: string, work: () => Promise<unknown>): Promise<void> => {
    const refusal = await refusalOf(tx.attempt(work));
    if (refusal === undefined) return;
    const { code, message, hint } = refusal;
    refused.push({ line, why: `${message} ${hint}` });
    await call.record(null, { operation: "session.words", code, message }, "access.refused");
    if (code === "limited") await tellOfLimit(call, agent.id, refusal);
  };
  const asksForWork = directives.some(
    ({ kind }) => kind === "hire" || kind === "plan" || kind === "delegate",
  );
  const whole = asksForWork ? await wholeFor(scene, woken) : undefined;
  const demandWhole = (): OutcomeRow => {
    if (whole !== undefined) return whole;
    throw nothingToDivide();
  };
  for (const one of directives)
    if (one.kind === "malformed") refused.push({ line: one.line, why: cannotParse(one.why) });
  for (const one of directives)
    if (one.kind === "hire") await tried(one.line, () => hireForRole(call, whole ?? null, manager, one));
  // An outcome is divided only once. So the tasks of all plans and all delegations become parts of one division.
  const drafts: { line: string; draft: DraftedPlan; counted: number }[] = [];
  const add = (line: string, counted: number, drafted: (of: OutcomeRow) => Promise<DraftedPlan>) =>
    tried(line, async () => {
      const draft = await drafted(demandWhole());
      const one = { line, draft, counted };
      await demandDivision(call, demandWhole(), manager, divisionOf([...drafts, one]));
      drafts.push(one);
    });
  for (const one of directives)
    if (one.kind === "plan") await add(one.line, 0, (of) => draftPlan(call, of, manager, one.tasks));
  for (const one of directives)
    if (one.kind === "delegate")
      await add(one.line, 1, async () => {
        const to = await findReport(tx, manager, one.to, true);
        const title = onOneLine(one.subtask).slice(0, 200).toWellFormed();
        const part = { title, description: one.subtask, acceptance: null, dependsOn: [], to };
        return { parts: [part], hired: [] };
      });
  if (drafts.length > 0)
    await tried(drafts.map(({ line }) => line).join("\n"), async () => {
      const made = await fanOut(call, demandWhole(), manager, divisionOf(drafts));
      let from = 0;
      for (const { draft, counted } of drafts) {
        const own = made.parts.slice(from, (from += draft.parts.length));
        if (counted === 0) await recordPlan(call, demandWhole(), own, made.integrationId, draft.hired);
      }
    });
  for (const one of directives)
    if (one.kind === "verdict") await tried(one.line, () => applyVerdict(call, agent, one));
  if (refused.length > 0) await tellAuthor(call, agent, refused, lastTurn(messages) + 1);
}

/** All parts in one list. Positions within a draft become positions in that list. */
function divisionOf(drafts: readonly { draft: DraftedPlan; counted: number }[]): Division {
  const parts: PlannedPart[] = [];
  for (const { draft } of drafts) {
    const start = parts.length;
    for (const part of draft.parts)
      parts.push({ ...part, dependsOn: part.dependsOn.map((place) => place + start) });
  }
  return { parts, counted: drafts.reduce((sum, { counted }) => sum + counted, 0) };
}

/** The outcome to divide: the one that the session was started for. If that is a message, a new outcome made from it. */
async function wholeFor(
  { call, agent, first }: Scene,
  woken: MessageRow | undefined,
): Promise<OutcomeRow | undefined> {
  const { tx } = call;
  const isOwn = ({ status, responsible_id }: OutcomeRow) => status === "open" && responsible_id === agent.id;
  if (first !== undefined && first.kind !== "inbox") return isOwn(first) ? first : undefined;
  if (woken !== undefined) return outcomeFrom(call, agent, woken);
  const work = await tx.all(workOf, { agentId: agent.id, now: tx.now, limit: 2 });
  return work.find(({ kind }) => kind !== "inbox");
}

async function outcomeFrom(
  call: CallContext,
  agent: AgentRow,
  message: MessageRow,
): Promise<OutcomeRow | undefined> {
  const { tx, companyId, actor } = call;
  if ((await refusalOf(demandRoomForOutcomes(call, agent.id, 1))) !== undefined) return undefined;
  const body = await bodyOf(call, message, 90_000);
  const id = call.newId();
  const title = (body.split("\n").find((line) => line.trim() !== "") ?? "A message").slice(0, 1000);
  await insertOutcome(
    tx,
    {
      id,
      company_id: companyId,
      title: onOneLine(title).slice(0, 200).toWellFormed(),
      description: body,
      responsible_id: agent.id,
      important: 1,
      parents: [agent.mandate_id],
    },
    actor,
  );
  const outcome = await saveOutcome(tx, { ...(await outcomeById(tx, id)), reply_to: message.id }, actor);
  await call.record(
    id,
    { title: outcome.title, parents: [agent.mandate_id], dependsOn: [], message: message.id },
    "outcome.create",
  );
  await acknowledge(call, message, `outcome ${id}`);
  return outcome;
}

async function takeAsResult(
  call: CallContext,
  agent: AgentRow,
  outcome: OutcomeRow,
  text: string,
): Promise<void> {
  const { status, responsible_id, kind, delegated } = outcome;
  if (status !== "open" || responsible_id !== agent.id || !["work", "integration"].includes(kind)) return;
  const refusal = await refusalOf(
    call.tx.attempt(() => (delegated === 1 ? submit : complete)(call, outcome, text)),
  );
  if (refusal !== undefined)
    await tellAuthor(call, agent, [{ line: "your result", why: `${refusal.message} ${refusal.hint}` }], 1);
}

/**
 * Tells the agent which directives were refused. After a few turns the board is told instead, and the agent gets no more
 * answers.
 */
async function tellAuthor(
  call: CallContext,
  agent: AgentRow,
  refused: readonly { line: string; why: string }[],
  turn: number,
): Promise<void> {
  const lines = refused
    .slice(0, 20)
    .map(({ line, why }) => ({ line: excerpt(line, null, 300), why: excerpt(why, null, 600) }));
  const text = refusedLines(lines);
  if (turn <= mostTurns) return notify(call, agent.id, text, turn);
  const told = keepsAsking(agent, text);
  await tellOnce(call, { about: agent.id, kind: "refused-words", to: null, text: told });
}

const anyDeed = selection("events", ["session_id"], sql`limit 1`);
