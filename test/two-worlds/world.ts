import assert from "node:assert/strict";
import { createKey } from "../../src/contract/agents.ts";
import { commentOnApproval, requestRevision, resubmit } from "../../src/contract/approvals.ts";
import { grantPermission, requestPermission, revokePermission } from "../../src/contract/capabilities.ts";
import { createCompany, updateCompany } from "../../src/contract/companies.ts";
import { requestAgent } from "../../src/contract/create-agent.ts";
import { createGoal } from "../../src/contract/goals.ts";
import { changeAgent, createAgent } from "../../src/contract/hiring.ts";
import { createFile } from "../../src/contract/knowledge.ts";
import { acknowledgeMessage, readInbox, sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import { delegateOutcome } from "../../src/contract/delegation.ts";
import { completeOutcome, createOutcome, submitOutcome, updateOutcome } from "../../src/contract/outcomes.ts";
import { createPerson, type Role, signIn } from "../../src/contract/people.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import { applyReorganization, planReorganization } from "../../src/contract/reorganization.ts";
import { admitBoard, createCore } from "../../src/daemon/core.ts";
import { authenticate } from "../../src/dispatch/identity.ts";
import { Chance } from "../../src/simulator/chance.ts";
import { openSession } from "../../src/runtime/sessions.ts";
import type { Store } from "../../src/store/store.ts";
import { withClock } from "../../src/testing/stage.ts";
import type { Built } from "./built.ts";
import type { Caller } from "./calling.ts";
import { idAt } from "./ids-of-steps.ts";
import { publish, worldMirrors } from "./published.ts";
import { turnsOf } from "./turns.ts";
import { deedsOutOfSight, type Saved } from "./out-of-sight.ts";

/**
 * One of two worlds that differ only in what the watchers can't read.
 *
 *   board ─ Root ┬─ Vera ┬─ Rex       the watchers are Vera, Rex and Mona, a person with this desk and one elsewhere
 *                │       ├─ Rita
 *                │       └─ Desk
 *                └─ Sam ─── Tess      what these two write, read and are told is out of the watchers' sight
 *
 * A world is built in steps. Ids and times follow from the seed and the number of the step, so a step that only one world
 * takes (a file more, a message more) changes no id and no time of another step. Texts out of sight are drawn per world.
 */
export type Side = "left" | "right";
/** The months of a world. All but the last one are over. */
export const months = ["2029-11", "2029-12", "2030-01"] as const;
export const words = ["amber", "basalt", "cobalt", "dune", "ember", "fjord", "garnet", "heath"] as const;

export async function build(opened: Store, seed: number, side: Side): Promise<Built> {
  let step = 0;
  let count = 0;
  const beginning = Date.parse(months[2]);
  const hour = 3600 * 1000;
  let passed = Date.parse(months[0]) - beginning;
  const store = withClock(opened, () => beginning + step * 1000 + passed);
  const newId = (): string => idAt(seed, step, count++);
  const newSecret = (): string => `secret-${newId()}`;
  const parts = { store, newId, newSecret, mirrors: worldMirrors() };
  const { dispatch } = createCore(parts);
  const as =
    (token: string): Caller =>
    async (operation, input) =>
      operation.output.parse(await dispatch({ operation, token, input, key: undefined }));
  const shared = new Chance(seed, "shared");
  const secret = new Chance(seed, side);

  const take = async <T>(work: () => Promise<T>): Promise<T> => {
    step++;
    count = 0;
    return work();
  };
  /** A step that each world takes with its own probability. It must not change what the watchers can read. */
  const perhaps = async (work: () => Promise<unknown>): Promise<void> => {
    const isTaken = secret.flip(0.5);
    await take(async () => {
      // Some steps rule out others. For example, an outcome with an open part can't be submitted.
      if (isTaken) await work().catch((error: unknown) => assert.ok(error instanceof Refusal, String(error)));
    });
  };
  const text = (chance: Chance, length = 6): string =>
    Array.from({ length: chance.between(1, length) }, () => chance.pick(words) ?? "").join(" ");
  const seen = (length?: number): string => text(shared, length);
  const unseen = (length?: number): string => text(secret, length);

  const boardToken = "board";
  await take(() => admitBoard(store, boardToken, newId));
  const board = as(boardToken);
  const found = async (name: string) => {
    const company = await take(() => board(createCompany, { name }));
    await take(() =>
      board(updateCompany, {
        companyId: company.id,
        requireBoardApprovalForNewAgents: false,
        maxAgents: 100,
        maxDelegations: 100,
        maxDelegationDepth: 100,
      }),
    );
    return company;
  };
  const { id: companyId, rootAgentId } = await found("Here");
  const hire = async (name: string, reportsTo: string, of = companyId) => {
    const { id } = await take(() =>
      board(createAgent, { companyId: of, name, role: "worker", reportsTo, adapterType: "rehearsal" }),
    );
    return { id, ...(await key(id)) };
  };
  const key = async (id: string) => {
    const { key: token } = await take(() => board(createKey, { id }));
    return { token, call: as(token) };
  };
  const root = { id: rootAgentId, ...(await key(rootAgentId)) };
  // The first month is out of sight, because the watchers come later.
  await perhaps(() => board(createFile, { companyId, description: unseen(), content: unseen(20) }));
  passed = Date.parse(months[1]) - beginning;
  const vera = await hire("Vera", root.id);
  const rex = await hire("Rex", vera.id);
  const rita = await hire("Rita", vera.id);
  const sam = await hire("Sam", root.id);
  const tess = await hire("Tess", sam.id);
  const other = await found("Elsewhere");
  const abroad = { id: other.rootAgentId, ...(await key(other.rootAgentId)) };
  const admit = async (name: string, role: Role) => {
    const { id, signIn: link } = await take(() => board(createPerson, { name, role }));
    const input = { code: link.code, kind: "program" };
    const signedIn = await take(() => dispatch({ operation: signIn, token: undefined, input }));
    return { id, token: signIn.output.parse(signedIn).token ?? "" };
  };
  const mona = await admit("Mona", "member");
  const otto = await admit("Otto", "viewer");
  const sitting = { role: "desk", adapterType: "human", person: mona.id } as const;
  const seat = (of: string, name: string, reportsTo: string) =>
    take(() => board(createAgent, { companyId: of, name, reportsTo, ...sitting }));
  const desk = await seat(companyId, "Desk", vera.id);
  const third = await found("Third");
  const away = await seat(third.id, "Away", third.rootAgentId);

  // Rows that only the other world has come first, so row numbers differ.
  const work = async (agentId: string, firstOutcomeId: string | null): Promise<string> => {
    const of = { agentId, firstOutcomeId, workspace: null };
    await take(() =>
      store.write(async (tx) => {
        await tx.lock(companyId);
        await openSession(tx, { id: newId(), credentialId: newId(), token: newSecret(), ...of });
      }),
    );
    return idAt(seed, step, 0);
  };
  const session = await work(sam.id, null);
  for (let number = 4; number > 0; number--) {
    await perhaps(() => abroad.call(createFile, { description: unseen(), content: unseen() }));
    await perhaps(() => abroad.call(createOutcome, { title: unseen(), parents: [abroad.id] }));
    await perhaps(() => tess.call(sendMessage, { to: "boss", body: unseen() }));
    await perhaps(() => sam.call(createFile, { description: unseen(), content: unseen(20) }));
  }
  passed = 0;

  // ---- what the watchers see ----
  const file = (by: Caller, description: string, content: string) =>
    take(() => by(createFile, { companyId, description, content }));
  const mine: Saved[] = [];
  for (let number = shared.between(2, 4); number > 0; number--)
    mine.push(await file(vera.call, `mine ${seen()}`, `${seen(20)} kb://${idAt(seed, 999, number)}`));
  const lent: Saved[] = [];
  const lendAt = (id: string, level: "none" | "read" | "write") =>
    root.call(grantPermission, { to: vera.id, resource: `kb:${id}`, level });
  for (const level of ["none", "read", "write"] as const) {
    const made = await file(root.call, `lent ${seen()}`, seen(20));
    await take(() => lendAt(made.id, level));
    lent.push(made);
  }
  const borrowed = await file(root.call, `lent ${seen()}`, seen(20));
  const lend = () => lendAt(borrowed.id, "read");
  const loan = await take(lend);
  lent.push(borrowed);
  const spare = await take(() => board(createKey, { id: vera.id }));
  const own = await take(() =>
    vera.call(createOutcome, { title: `own ${seen()}`, parents: [vera.id], description: seen(20) }),
  );
  const task = await take(() =>
    vera.call(createOutcome, { title: `task ${seen()}`, parents: [vera.id], acceptance: seen() }),
  );
  await take(() => vera.call(delegateOutcome, { id: task.id, to: rex.id }));
  const rested = await take(() =>
    vera.call(createOutcome, { title: `rested ${seen()}`, parents: [vera.id] }),
  );
  const until = new Date(beginning + hour).toISOString();
  await take(() => board(updateOutcome, { id: rested.id, blocked: { reason: seen(), until } }));
  const letters = [
    await take(() => board(sendMessage, { companyId, to: vera.id, body: seen(20) })),
    await take(() => root.call(sendMessage, { to: vera.id, body: seen(20) })),
    await take(() => vera.call(sendMessage, { to: rex.id, file: mine[0]?.id ?? "" })),
  ];
  const { requestId = "" } = await take(() => vera.call(requestAgent, { name: "Newcomer", waitSeconds: 0 }));
  await take(() => vera.call(commentOnApproval, { id: requestId, body: seen() }));
  // A change of Rex that the board sent back.
  const proposed = await take(() =>
    vera.call(changeAgent, { agent: rex.id, reason: seen(), prompt: seen(20), effort: "low" }),
  );
  await take(() => board(requestRevision, { id: proposed.id, decisionNote: seen() }));
  await take(() => vera.call(resubmit, { id: proposed.id, payload: { prompt: seen(20) } }));
  await take(() => root.call(grantPermission, { to: vera.id, resource: "org:hire" }));
  const change = { kind: "move_report", agent: rita.id, to: rex.id } as const;
  const { hash } = await take(() => vera.call(planReorganization, { change }));
  const moved = await take(() => vera.call(applyReorganization, { change, hash }));
  await take(() => rex.call(requestPermission, { resource: `kb:${idAt(seed, 998, 1)}`, reason: seen() }));

  // ---- a goal of Root's: one part is Vera's, another is Sam's ----
  const goal = await take(() => root.call(createOutcome, { title: `goal ${seen()}`, parents: [root.id] }));
  const part = await take(() => root.call(createOutcome, { title: `part ${seen()}`, parents: [goal.id] }));
  const hidden = await take(() =>
    root.call(createOutcome, {
      title: `hidden ${unseen()}`,
      description: unseen(20),
      acceptance: unseen(),
      parents: [goal.id],
    }),
  );
  const awaited = await take(() =>
    sam.call(createOutcome, { title: `awaited ${unseen()}`, description: unseen(), parents: [sam.id] }),
  );
  const known = await take(() =>
    sam.call(createOutcome, { title: `known ${unseen()}`, description: unseen(), parents: [sam.id] }),
  );
  const wanted = await take(() =>
    board(createGoal, { companyId, title: `wanted ${unseen()}`, description: unseen(20) }),
  );
  await take(() => root.call(delegateOutcome, { id: part.id, to: vera.id }));
  await take(() => root.call(delegateOutcome, { id: hidden.id, to: sam.id }));
  const sessions = [session, await work(tess.id, hidden.id)];
  const overseen = await work(rex.id, task.id);
  await take(() => publish(store, companyId, { agentId: rex.id, fileId: mine[0]?.id ?? "" }));
  await take(() => board(grantPermission, { companyId, to: vera.id, resource: "repo:some", level: "read" }));
  await take(() => board(updateOutcome, { id: goal.id, dependsOn: [awaited.id] }));
  await take(() => board(updateOutcome, { id: own.id, dependsOn: [known.id] }));
  await take(() => sam.call(completeOutcome, { id: awaited.id, note: unseen(20) }));
  await take(() => board(updateOutcome, { id: task.id, blocked: { reason: seen(), on: hidden.id } }));

  // Vera may read this one, but not the outcome above it.
  const shown = await take(() => sam.call(createOutcome, { title: `shown ${seen()}`, parents: [known.id] }));
  await take(() =>
    board(grantPermission, { companyId, to: vera.id, resource: `outcome:${shown.id}`, level: "read" }),
  );

  // ---- what the watchers once could read, or can read in part ----
  const revoked = await file(root.call, `was lent ${seen()}`, seen(20));
  const grant = await take(() => root.call(grantPermission, { to: vera.id, resource: `kb:${revoked.id}` }));
  letters.push(await take(() => vera.call(sendMessage, { to: rex.id, file: revoked.id })));
  const later = new Date(beginning + 9e9).toISOString();
  letters.push(
    await take(() => vera.call(sendDeferredMessage, { to: "self", file: revoked.id, deliverAt: later })),
  );
  await take(() => root.call(revokePermission, { id: grant.id }));
  const sent = await file(root.call, `sent ${seen()}`, seen(20));
  letters.push(await take(() => root.call(sendMessage, { to: vera.id, file: sent.id })));
  letters.push(await take(() => vera.call(sendMessage, { to: "board", body: seen(20) })));
  letters.push(await take(() => root.call(sendMessage, { to: vera.id, body: seen(20), files: [sent.id] })));
  const unread = await file(sam.call, `unseen ${unseen()}`, unseen(20));
  const scoped = await take(() =>
    board(grantPermission, {
      companyId,
      to: vera.id,
      resource: `kb:${lent[1]?.id ?? ""}`,
      outcome: hidden.id,
    }),
  );

  for (const { id } of (await take(() => root.call(readInbox, {}))).messages)
    await take(() => root.call(acknowledgeMessage, { id, result: seen() }));

  // ---- out of sight: each world independently ----
  const deeds = deedsOutOfSight({
    store,
    newId,
    step: () => step,
    secret,
    unseen,
    companyId,
    otherId: other.id,
    later,
    firstMonth: months[0],
    sessions,
    board,
    root,
    vera,
    sam,
    tess,
    abroad,
    mine,
    lent,
    hidden,
    known,
    wanted,
    unread,
    sent,
    revoked,
  });
  const act = async (count: number): Promise<void> => {
    for (let number = count; number > 0; number--) {
      const deed = shared.pick(deeds);
      if (deed !== undefined) await perhaps(deed);
    }
  };
  await act(30);
  // Submits the hidden part, in one world or both. Last, because nothing else can happen to it afterwards.
  await perhaps(() => sam.call(submitOutcome, { id: hidden.id, note: unseen(20) }));

  const watchers = {
    Vera: { token: vera.token },
    Rex: { token: rex.token },
    Mona: { token: mona.token, as: desk.id },
  };
  const wait = (hours: number): void => void (passed += hours * hour);
  const scene = {
    board,
    governing: { token: boardToken },
    root,
    vera,
    rex,
    otto,
    otherId: other.id,
    spare,
    rested,
    loan,
    lend,
  };
  const turns = turnsOf({ ...scene, seen, wait, take });

  // Ids of the other world's steps, computed by the same rule: every watcher asks for them in both worlds.
  const guesses = Array.from({ length: step }, (_, index) => idAt(seed, index + 1, 0));
  const named = [
    companyId,
    other.id,
    ...[
      root,
      vera,
      rex,
      rita,
      sam,
      tess,
      desk,
      away,
      abroad,
      ...mine,
      ...lent,
      ...letters,
      ...letters.map(({ file: id }) => ({ id })),
      shown,
      moved,
      { id: requestId },
      proposed,
      own,
      task,
      rested,
      goal,
      part,
      hidden,
      awaited,
      known,
      wanted,
      revoked,
      sent,
      unread,
      grant,
      scoped,
    ].map(({ id }) => id),
  ];
  return {
    dispatch,
    forgetful: () => createCore(parts).dispatch,
    authenticate: (token) => store.read((tx) => authenticate(tx, token)),
    companyId,
    watchers,
    callers: [
      ...Object.values(watchers),
      { token: mona.token, as: away.id },
      { token: mona.token },
      ...[boardToken, otto.token, spare.key, root.token, sam.token, abroad.token].map((token) => ({ token })),
    ],
    named: [...new Set(named)],
    nouns: {
      // Files that Vera sees in part are chosen more often.
      file: [...mine, ...lent, revoked, sent, sent, sent, unread, own, goal, shown, root].map(({ id }) => id),
      outcome: [own, task, rested, goal, part, hidden, awaited, known, wanted, shown, root, vera].map(
        ({ id }) => id,
      ),
      message: letters.map(({ id }) => id),
      approval: [requestId, proposed.id],
      reorganization: [moved.id],
      session: [...sessions, overseen],
      agent: [root, vera, rex, rita, sam, tess, desk].map(({ id }) => id),
    },
    guesses,
    tick: () => {
      step++;
      count = 0;
    },
    goOn: () => act(10),
    turn: () => turns(shared),
  };
}
