import { applyReorganization, type Change, undoReorganization } from "../contract/reorganization.ts";
import { query } from "../store/query.ts";
import { Broken } from "./broken.ts";
import { call, type SimulatedCaller } from "./calling.ts";
import { dump, notRestored } from "./restored.ts";
import { type AgentView, holdersFromBoss, isLiveStatus } from "./view.ts";

/** Applies a random reorganization. The board (`top` null) may change anything, a manager only agents below it. */
export async function reorganize(
  caller: SimulatedCaller,
  companyId: string,
  top: string | null,
): Promise<unknown> {
  const { world, view } = caller;
  const { chance } = world;
  const employed = view.agents.filter(({ status }) => status !== "terminated");
  const part = top === null ? employed : employed.filter((agent) => isBelow(agent, top, employed));
  const from = part.length > 0 && chance.flip(0.85) ? part : employed;
  const holders = new Set(
    (await world.store.read((tx) => tx.all(holdersFromBoss, { companyId }))).map(({ id }) => id),
  );
  const change = draw(caller, from, employed, holders);
  if (change === undefined) return;
  world.count(`reorganize: ${change.kind}`);
  const back = caller.alone && chance.flip(0.3);
  const before = back ? await dump(world.store) : undefined;
  const done = await call(caller, applyReorganization, { companyId, change });
  if (done.kind !== "ok" || !caller.alone) return done;
  if (top !== null) demandWithin(caller, change, top, employed);
  if (before === undefined) return done;
  const undone = await call(caller, undoReorganization, { id: done.value.id });
  if (undone.kind !== "ok") {
    if (undone.kind === "refused" && world.watch.accepts(caller.who))
      throw new Broken("a reorganization can be undone at once", `${change.kind}: ${undone.refusal.message}`);
    return undone;
  }
  // Charges are left out, because agents spend in the meantime.
  const [wrong] = notRestored(before, await dump(world.store)).filter((one) => !one.startsWith("charges "));
  if (wrong !== undefined)
    throw new Broken("undoing a reorganization at once restores every row", `${change.kind}: ${wrong}`);
  return undone;
}

/** Undoes one of the last reorganizations, no matter what has happened since. */
export async function undoOne(
  caller: SimulatedCaller,
  companyId: string,
  by: string | null,
): Promise<unknown> {
  const { world } = caller;
  const rows = await world.store.read((tx) => tx.all(lastApplied, { companyId }));
  const own = by === null ? rows : rows.filter(({ applied_by }) => applied_by === by);
  const one = world.chance.flip(0.6) ? own[0] : world.chance.pick(own);
  return one === undefined ? undefined : call(caller, undoReorganization, { id: one.id });
}

function draw(
  { world, view }: SimulatedCaller,
  from: readonly AgentView[],
  employed: readonly AgentView[],
  holders: ReadonlySet<string>,
): Change | undefined {
  const { chance } = world;
  // Few agents hold a right from their boss, and only theirs change with the boss.
  const held = from.filter(({ id }) => holders.has(id));
  const agent = chance.pick(held.length > 0 && chance.flip(0.4) ? held : from)?.id;
  const other = chance.pick(from)?.id;
  if (agent === undefined || other === undefined) return undefined;
  const reports = employed.filter(({ boss_id }) => boss_id === agent).map(({ id }) => id);
  const boss = employed.find(({ id }) => id === agent)?.boss_id;
  const beside = chance.pick(employed.filter(({ id, boss_id }) => boss_id === boss && id !== agent))?.id;
  const others = employed.filter(
    (one) => one.id !== agent && one.id !== boss && !isBelow(one, agent, employed),
  );
  // Usually one that the agent can report to.
  const to = (chance.flip(0.85) ? chance.pick(others)?.id : undefined) ?? other;
  const newcomer = () => ({ name: chance.pick(names) ?? "", role: "manager" });
  const grows = employed.length < mostAgents;
  const work = view.outcomes.filter(
    (one) => one.responsible_id === agent && isLiveStatus(one) && one.kind === "work" && one.id !== agent,
  );
  return chance.weighted<Change>([
    [5, { kind: "move_report", agent, to }],
    [
      grows && reports.length > 0 ? 4 : 0,
      { kind: "insert_layer", boss: agent, manager: newcomer(), reports: reports.filter(isSome(world)) },
    ],
    [employed.length > 4 ? 3 : 0, { kind: "remove_layer", agent }],
    [
      grows ? 2 : 0,
      {
        kind: "split",
        agent,
        into: [
          {
            agent: newcomer(),
            reports: reports.filter(isSome(world)),
            outcomes: work.map(({ id }) => id).filter(isSome(world)),
          },
        ],
      },
    ],
    [employed.length > 4 ? 3 : 0, { kind: "merge", agents: [beside ?? other], into: agent }],
    [employed.length > 4 ? 2 : 0, { kind: "fire", agent }],
    [employed.length > 5 ? 1 : 0, { kind: "shrink", to: employed.length - 1 }],
    [1, { kind: "hand_over", agent, adapterType: chance.flip(0.3) ? "human" : "rehearsal" }],
  ]);
}

const isSome =
  ({ chance }: SimulatedCaller["world"]) =>
  () =>
    chance.flip(0.7);
const names = ["Mia", "Nora", "Olli", "Pia"];
const mostAgents = 8;

function isBelow(agent: AgentView, top: string, employed: readonly AgentView[]): boolean {
  for (let next: AgentView | undefined = agent; next !== undefined;) {
    const above: string | null = next.boss_id;
    if (above === top) return true;
    next = employed.find(({ id }) => id === above);
  }
  return false;
}

/** Demands that every agent in the change was below the manager who made it. */
function demandWithin(
  { who }: SimulatedCaller,
  change: Change,
  top: string,
  employed: readonly AgentView[],
): void {
  const named = [
    ...("agent" in change ? [change.agent] : []),
    ...("agents" in change ? (change.agents ?? []) : []),
    ...("reports" in change ? change.reports : []),
  ];
  for (const id of named) {
    const agent = employed.find((one) => one.id === id);
    if (agent === undefined || !isBelow(agent, top, employed))
      throw new Broken(
        "a manager reorganizes only agents below it",
        `${who.label} ${change.kind} ${agent?.name ?? id}`,
      );
  }
}

const lastApplied = query((db, p: { companyId: string }) =>
  db
    .selectFrom("reorganizations")
    .select(["id", "applied_by"])
    .where("company_id", "=", p.companyId)
    .where("undone_at", "is", null)
    .orderBy("num", "desc")
    .limit(5),
);
