import { sql } from "kysely";
import { whyMany } from "../contract/finding.ts";
import { why as contract } from "../contract/why.ts";
import type { Sandbox } from "../contract/installation.ts";
import { notFound } from "../contract/refusal.ts";
import type { Output } from "../contract/operation.ts";
import { type Call, guarded, type Guarded } from "../dispatch/guarded.ts";
import { type Viewer, visible } from "../capabilities/visible.ts";
import { companyState } from "../dispatch/company-settings.ts";
import { selection } from "../store/query.ts";
import { outcomeRow } from "../store/row-by-id.ts";
import type { ReadTx } from "../store/store.ts";
import type { ApprovalKinds } from "../approvals/kinds.ts";
import { callsFor, startCalls } from "./help.ts";
import { askingSight, companySight, type Resolver, type Sight } from "./sight.ts";
import * as text from "./texts.ts";
import { fromAgent, type Looking, mostLooks, trailOf, viewOf } from "./outcome-trail.ts";
import type { TrailStep, Trail } from "./trail.ts";

type Answer = Output<typeof contract>;

const onWhy = (parts: WhyParts) =>
  guarded(contract, async (call): Promise<Answer> => {
    const [answer] = await answers(call, parts, [call.input.id]);
    if (answer === undefined) throw notFound("agent or outcome", call.input.id);
    return answer;
  });

const onWhyMany = (parts: WhyParts) =>
  guarded(whyMany, async (call) => {
    const ids = [...new Set(call.input.ids)];
    const found = await answers(call, parts, ids);
    const answered = new Set(found.map(({ id }) => id));
    return { answers: found, missing: ids.filter((id) => !answered.has(id)) };
  });

/**
 * The answers for those ids that the actor may ask about. A person who asks about several gets them from one look at everything
 * that is open. That look has no outcomes that have ended.
 */
async function answers(
  { tx, actor, caller, companyId }: Call<unknown>,
  { sandbox, secrets, kinds }: WhyParts,
  ids: readonly string[],
): Promise<Answer[]> {
  const asking = askingSight(tx, actor, secrets, actor.agentId === null || caller.person !== undefined);
  const all =
    actor.agentId === null && ids.length > 1 ? await companySight(tx, companyId, secrets) : undefined;
  const views = {
    asking: viewOf(asking, sandbox(), mostLooks),
    all: all && viewOf(all, sandbox(), Infinity),
  };
  const company = await companyState(tx, companyId);
  const stopped = text.companyStopped(company);
  const found: Answer[] = [];
  for (const id of ids) {
    if (!(await mayAsk(tx, actor, asking, companyId, id))) continue;
    views.asking.looks.left = mostLooks;
    const isOpen = all?.known(id) !== undefined || all?.agentNamed(id) !== undefined;
    const view = (isOpen ? views.all : undefined) ?? views.asking;
    const { kind, trail } = await answerAbout(view, id);
    const next = asking.isPerson
      ? await callsFor(
          tx,
          view.sight,
          { companyId, you: actor.agentId, personId: actor.personId },
          trail,
          kinds,
        )
      : [];
    const shown = { id, kind, ...presentTrail(trail), next };
    const isStopped =
      stopped !== null && shown.state === "moving" && (kind === "agent" || (await view.sight.isLive(id)));
    const answer = isStopped
      ? {
          ...shown,
          moves: false,
          state: "waiting" as const,
          says: stopped,
          next: asking.isPerson && actor.agentId === null ? startCalls(companyId, company.state) : [],
        }
      : shown;
    const unpublished = await unpublishedOf(tx, view.sight, kind, id);
    found.push({ ...answer, says: [answer.says, ...unpublished].join(" ") });
  }
  return found;
}

/** The unpublished commits of the sessions of an agent or, for an outcome, of its responsible agent. */
async function unpublishedOf(tx: ReadTx, sight: Sight, kind: Answer["kind"], id: string): Promise<string[]> {
  const agentId = kind === "agent" ? id : ((await tx.first(outcomeRow, { id }))?.responsible_id ?? "");
  const agent = await sight.agent(agentId);
  if (agent === undefined || !sight.knows(agent)) return [];
  const kept = await tx.all(openBundles, { agent_id: agentId });
  return kept.map((one) => text.unpublishedCommits(agent.name, one));
}

/** Agents may ask about themselves, their direct reports and the outcomes they can read. */
async function mayAsk(
  tx: ReadTx,
  viewer: Viewer,
  sight: Sight,
  companyId: string,
  id: string,
): Promise<boolean> {
  const agent = await sight.agent(id);
  if (viewer.agentId !== null)
    return (agent !== undefined && sight.knows(agent)) || visible(tx, viewer, `outcome:${id}`);
  return (agent ?? (await tx.first(outcomeRow, { id })))?.company_id === companyId;
}

const openBundles = selection(
  "bundles",
  ["agent_id"],
  sql`and settled_at is null order by created_at, id limit 5`,
);

/** An agent and its mandate have the same id. The answer is about the agent, unless it has left and the outcome lives on. */
export async function answerAbout(
  view: Looking,
  id: string,
): Promise<{ kind: Answer["kind"]; trail: Trail }> {
  const agent = await view.sight.agent(id);
  return agent === undefined || (agent.status === "terminated" && (await view.sight.isLive(id)))
    ? { kind: "outcome", trail: await trailOf(view, id) }
    : { kind: "agent", trail: await fromAgent(view, id) };
}

export interface WhyParts {
  readonly sandbox: () => Sandbox;
  readonly secrets: Resolver;
  readonly kinds: ApprovalKinds;
}

export const whyHandlers = (parts: WhyParts): Guarded[] => [onWhy(parts), onWhyMany(parts)];

function presentTrail(trail: Trail): Omit<Answer, "id" | "kind" | "next"> {
  const path: TrailStep[] = [];
  for (let at: Trail | undefined = trail; at !== undefined; at = at.next) path.push(at.step);
  const named = [
    ...path.map(({ kind, id, title }) => ({ kind, id: kind === "board" ? null : id, title })),
    ...(trail.names ?? []),
  ];
  const references = [...new Map(named.map((one) => [`${one.kind} ${one.id ?? ""}`, one])).values()];
  return { moves: trail.state !== "stuck", state: trail.state, path, says: trail.says, references };
}
