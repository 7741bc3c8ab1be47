import assert from "node:assert/strict";
import type { z } from "zod";
import { createKey } from "../../src/contract/agents.ts";
import { commentOnApproval, reject, requestRevision, resubmit } from "../../src/contract/approvals.ts";
import { grantPermission, requestPermission, revokePermission } from "../../src/contract/capabilities.ts";
import { createCompany, updateCompany } from "../../src/contract/companies.ts";
import { requestAgent } from "../../src/contract/create-agent.ts";
import { changeAgent, createAgent } from "../../src/contract/hiring.ts";
import { createFile, deleteFile, writeFile } from "../../src/contract/knowledge.ts";
import { sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { completeOutcome, createOutcome, submitOutcome, updateOutcome } from "../../src/contract/outcomes.ts";
import { delegateOutcome } from "../../src/contract/delegation.ts";
import { Refusal } from "../../src/contract/refusal.ts";
import { applyReorganization, planReorganization } from "../../src/contract/reorganization.ts";
import { admitBoard, createCore } from "../../src/daemon/core.ts";
import type { Dispatch } from "../../src/dispatch/dispatch.ts";
import { authenticate } from "../../src/dispatch/identity.ts";
import { Chance } from "../../src/simulator/chance.ts";
import { openSession } from "../../src/runtime/sessions.ts";
import type { Store } from "../../src/store/store.ts";
import { withClock } from "../../src/testing/stage.ts";

/**
 * One of two worlds that differ only in what the watchers can't read.
 *
 *   board ─ Root ┬─ Vera ┬─ Rex       the watchers are Vera and Rex
 *                │       └─ Rita
 *                └─ Sam ─── Tess      what these two write, read and are told is out of the watchers' sight
 *
 * A world is built in steps. Ids and times follow from the seed and the number of the step, so a step that only one world
 * takes (a file more, a message more) changes no id and no time of another step. Texts out of sight are drawn per world.
 */
export type Side = "left" | "right";
export const words = ["amber", "basalt", "cobalt", "dune", "ember", "fjord", "garnet", "heath"] as const;

type Caller = <I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  input: z.input<I>,
) => Promise<z.infer<O>>;

export interface Built {
  readonly dispatch: Dispatch;
  readonly authenticate: (token: string | undefined) => ReturnType<typeof authenticate>;
  /** Tokens of the watchers. */
  readonly watchers: Readonly<Record<string, string>>;
  /** Ids of things that both worlds have, seen and unseen. */
  readonly named: readonly string[];
  /** Some of them by noun. */
  readonly nouns: Readonly<Record<string, readonly string[]>>;
  /** Ids of what a step makes. Some are of things that only one world has. */
  readonly guesses: readonly string[];
  readonly companyId: string;
  /** Before each call that is compared: the next id and the time are then the same in both worlds. */
  readonly tick: () => void;
}

export async function build(opened: Store, seed: number, side: Side): Promise<Built> {
  let step = 0;
  let count = 0;
  const beginning = Date.UTC(2030, 0, 1);
  const store = withClock(opened, () => beginning + step * 1000);
  const newId = (): string => idAt(seed, step, count++);
  const newSecret = (): string => `secret-${newId()}`;
  const { dispatch } = createCore({ store, newId, newSecret });
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
  /** A step that each world takes with a probability of its own. It must not change what the watchers can read. */
  const perhaps = async (work: () => Promise<unknown>): Promise<void> => {
    const isTaken = secret.flip(0.5);
    await take(async () => {
      // Some steps rule out others, such as a submission of what has an open part.
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
  const company = await found("Here");
  const companyId = company.id;
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
  const root = { id: company.rootAgentId, ...(await key(company.rootAgentId)) };
  const vera = await hire("Vera", root.id);
  const rex = await hire("Rex", vera.id);
  const rita = await hire("Rita", vera.id);
  const sam = await hire("Sam", root.id);
  const tess = await hire("Tess", sam.id);
  const other = await found("Elsewhere");
  const abroad = { id: other.rootAgentId, ...(await key(other.rootAgentId)) };

  // Rows of the other world come first, so row numbers differ.
  await take(() =>
    store.write((tx) =>
      openSession(tx, {
        id: newId(),
        agentId: sam.id,
        credentialId: newId(),
        token: newSecret(),
        workspace: null,
      }),
    ),
  );
  const session = idAt(seed, step, 0);
  for (let number = 4; number > 0; number--) {
    await perhaps(() => abroad.call(createFile, { description: unseen(), content: unseen() }));
    await perhaps(() => abroad.call(createOutcome, { title: unseen(), parents: [abroad.id] }));
    await perhaps(() => tess.call(sendMessage, { to: "boss", body: unseen() }));
    await perhaps(() => sam.call(createFile, { description: unseen(), content: unseen(20) }));
  }

  // ---- what the watchers see ----
  const file = (by: Caller, description: string, content: string) =>
    take(() => by(createFile, { companyId, description, content }));
  type Saved = { id: string; version: number; hash: string };
  const mine: Saved[] = [];
  for (let number = shared.between(2, 4); number > 0; number--)
    mine.push(await file(vera.call, `mine ${seen()}`, `${seen(20)} kb://${idAt(seed, 999, number)}`));
  const lent: Saved[] = [];
  for (const level of ["none", "read", "write"] as const) {
    const made = await file(root.call, `lent ${seen()}`, seen(20));
    await take(() => root.call(grantPermission, { to: vera.id, resource: `kb:${made.id}`, level }));
    lent.push(made);
  }
  const own = await take(() =>
    vera.call(createOutcome, { title: `own ${seen()}`, parents: [vera.id], description: seen(20) }),
  );
  const task = await take(() =>
    vera.call(createOutcome, { title: `task ${seen()}`, parents: [vera.id], acceptance: seen() }),
  );
  await take(() => vera.call(delegateOutcome, { id: task.id, to: rex.id }));
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
  await take(() => root.call(delegateOutcome, { id: part.id, to: vera.id }));
  await take(() => root.call(delegateOutcome, { id: hidden.id, to: sam.id }));
  await take(() => board(updateOutcome, { id: goal.id, dependsOn: [awaited.id] }));
  await take(() => board(updateOutcome, { id: own.id, dependsOn: [known.id] }));
  await take(() => sam.call(completeOutcome, { id: awaited.id, note: unseen(20) }));
  await take(() => board(updateOutcome, { id: task.id, blocked: { reason: seen(), on: hidden.id } }));

  // Vera may read this one, but not the outcome above it.
  const shown = await take(() => sam.call(createOutcome, { title: `shown ${seen()}`, parents: [known.id] }));
  await take(() =>
    board(grantPermission, { companyId, to: vera.id, resource: `outcome:${shown.id}`, level: "read" }),
  );

  // ---- what the watchers could read once, or can read in part ----
  const revoked = await file(root.call, `was lent ${seen()}`, seen(20));
  const grant = await take(() => root.call(grantPermission, { to: vera.id, resource: `kb:${revoked.id}` }));
  letters.push(await take(() => vera.call(sendMessage, { to: rex.id, file: revoked.id })));
  const later = new Date(beginning + 9e9).toISOString();
  const deliverAt = later;
  letters.push(await take(() => vera.call(sendDeferredMessage, { to: "self", file: revoked.id, deliverAt })));
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

  // ---- out of sight: each world by itself ----
  const extra: string[] = [];
  const keep = ({ id }: { id: string }): void => void extra.push(id);
  let newest: Saved = { ...unread };
  let current: Saved = { ...sent };
  let former: Saved = { ...revoked };
  const overwrite = async (by: Caller, at: Saved) =>
    by(writeFile, {
      ...at,
      content: `${unseen(20)} kb://${secret.pick(mine)?.id ?? ""}`,
      description: unseen(),
    });
  const deeds: readonly (() => Promise<unknown>)[] = [
    async () =>
      keep(
        await sam.call(createFile, {
          description: unseen(),
          content: `${unseen(20)} kb://${mine[0]?.id ?? ""} kb://${lent[1]?.id ?? ""}`,
        }),
      ),
    async () => keep(await board(createFile, { companyId, description: unseen(), content: unseen(20) })),
    async () => keep(await abroad.call(createFile, { description: unseen(), content: unseen(20) })),
    async () => (newest = await overwrite(sam.call, newest)),
    async () => (current = await overwrite(root.call, current)),
    async () => (former = await overwrite(root.call, former)),
    async () => {
      const made = await sam.call(createFile, { description: unseen(), content: unseen() });
      keep(made);
      await sam.call(deleteFile, { id: made.id });
    },
    async () =>
      keep(await sam.call(createOutcome, { title: unseen(), description: unseen(20), parents: [hidden.id] })),
    async () => keep(await tess.call(createOutcome, { title: unseen(), parents: [tess.id] })),
    async () => keep(await abroad.call(createOutcome, { title: unseen(), parents: [abroad.id] })),
    async () =>
      sam.call(updateOutcome, { id: hidden.id, blocked: secret.flip(0.5) ? { reason: unseen() } : null }),
    async () => board(updateOutcome, { id: hidden.id, title: unseen(), important: secret.flip(0.5) }),
    async () => board(updateOutcome, { id: known.id, title: unseen(), description: unseen(20) }),
    async () => keep(await sam.call(sendMessage, { to: tess.id, body: unseen(20) })),
    async () => keep(await tess.call(sendMessage, { to: "boss", body: unseen(20) })),
    async () => keep(await sam.call(sendMessage, { to: tess.id, file: unread.id })),
    async () => keep(await board(sendMessage, { companyId, to: sam.id, body: unseen(20) })),
    async () => keep(await abroad.call(sendMessage, { to: "board", body: unseen(20) })),
    async () =>
      keep(await root.call(sendDeferredMessage, { to: vera.id, body: unseen(20), deliverAt: later })),
    async () => keep(await sam.call(grantPermission, { to: tess.id, resource: `kb:${unread.id}` })),
    async () => keep(await board(grantPermission, { companyId, to: sam.id, resource: `kb:${revoked.id}` })),
    async () => tess.call(requestPermission, { resource: `kb:${unread.id}`, reason: unseen() }),
    async () => {
      const { requestId } = await sam.call(requestAgent, { name: `Wish ${step}`, waitSeconds: 0 });
      if (requestId === undefined) return;
      extra.push(requestId);
      await sam.call(commentOnApproval, { id: requestId, body: unseen() });
    },
    async () => {
      const { id } = await sam.call(changeAgent, { agent: tess.id, reason: unseen(), prompt: unseen(20) });
      keep({ id });
      await board(secret.flip(0.5) ? requestRevision : reject, { id, decisionNote: unseen() });
    },
    async () => board(updateCompany, { companyId: other.id, name: unseen() }),
    async () => {
      const job = await sam.call(createOutcome, { title: unseen(), parents: [sam.id] });
      keep(job);
      await sam.call(delegateOutcome, { id: job.id, to: tess.id });
      await tess.call(submitOutcome, { id: job.id, note: unseen() });
      await sam.call(completeOutcome, { id: job.id, note: unseen() });
    },
  ];
  for (let number = 30; number > 0; number--) {
    const deed = shared.pick(deeds);
    if (deed !== undefined) await perhaps(deed);
  }
  // A submission of the hidden part, in one world or both: last, because it ends what else happens to it.
  await perhaps(() => sam.call(submitOutcome, { id: hidden.id, note: unseen(20) }));

  // Ids of the other world's steps, by the same rule as here: every watcher asks for them in both worlds.
  const guesses = Array.from({ length: step }, (_, index) => idAt(seed, index + 1, 0));
  const named = [
    ...[companyId, other.id, root, vera, rex, rita, sam, tess, abroad].map((it) =>
      typeof it === "string" ? it : it.id,
    ),
    ...[
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
      goal,
      part,
      hidden,
      awaited,
      known,
      revoked,
      sent,
      unread,
      grant,
      scoped,
    ].map(({ id }) => id),
  ];
  return {
    dispatch,
    authenticate: (token) => store.read((tx) => authenticate(tx, token)),
    companyId,
    watchers: { Vera: vera.token, Rex: rex.token },
    named: [...new Set(named)],
    nouns: {
      file: [...mine, ...lent, revoked, sent, unread, own, goal, shown, { id: root.id }].map(({ id }) => id),
      outcome: [own, task, goal, part, hidden, awaited, known, shown, root, vera].map(({ id }) => id),
      message: letters.map(({ id }) => id),
      approval: [requestId, proposed.id],
      reorganization: [moved.id],
      session: [session],
      agent: [root, vera, rex, rita, sam, tess].map(({ id }) => id),
    },
    guesses,
    tick: () => {
      step++;
      count = 0;
    },
  };
}

/** A UUID of version 7, as the daemon makes them. */
function idAt(seed: number, step: number, count: number): string {
  const hex = (value: number, digits: number): string =>
    (value % 16 ** digits).toString(16).padStart(digits, "0");
  return `${hex(seed, 8)}-${hex(step, 4)}-7000-8${hex(count, 3)}-${"0".repeat(12)}`;
}
