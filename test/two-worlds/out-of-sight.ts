import { setBudget } from "../../src/contract/budgets.ts";
import { commentOnApproval, reject, requestRevision } from "../../src/contract/approvals.ts";
import { grantPermission, requestPermission } from "../../src/contract/capabilities.ts";
import { updateCompany } from "../../src/contract/companies.ts";
import { requestAgent } from "../../src/contract/create-agent.ts";
import { createGoal, setGoalBudget } from "../../src/contract/goals.ts";
import { changeAgent, createAgent } from "../../src/contract/hiring.ts";
import { createFile, deleteFile, writeFile } from "../../src/contract/knowledge.ts";
import { exportEvents, removeEvents } from "../../src/contract/ledger.ts";
import { acknowledgeMessage, sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import { delegateOutcome } from "../../src/contract/delegation.ts";
import { completeOutcome, createOutcome, submitOutcome, updateOutcome } from "../../src/contract/outcomes.ts";
import { createPerson } from "../../src/contract/people.ts";
import { digestOfLines } from "../../src/events/removed.ts";
import { noteUsage } from "../../src/runtime/usage.ts";
import type { Chance } from "../../src/simulator/chance.ts";
import type { Store } from "../../src/store/store.ts";
import type { Caller } from "./calling.ts";

/** The actors and objects of the deeds out of sight. */
export interface Scene {
  readonly store: Store;
  readonly newId: () => string;
  /** The number of the step, for unique names. */
  readonly step: () => number;
  readonly secret: Chance;
  readonly unseen: (length?: number) => string;
  readonly companyId: string;
  readonly otherId: string;
  readonly later: string;
  /** A past month without events that the watchers can read. */
  readonly firstMonth: string;
  readonly sessions: readonly string[];
  readonly board: Caller;
  readonly root: Member;
  readonly vera: Member;
  readonly sam: Member;
  readonly tess: Member;
  readonly abroad: Member;
  readonly mine: readonly Saved[];
  readonly lent: readonly Saved[];
  readonly hidden: { readonly id: string };
  readonly known: { readonly id: string };
  /** A goal of the board. */
  readonly wanted: { readonly id: string };
  readonly unread: Saved;
  readonly sent: Saved;
  readonly revoked: Saved;
}

export interface Saved {
  readonly id: string;
  readonly version: number;
  readonly hash: string;
}

interface Member {
  readonly id: string;
  readonly call: Caller;
}

/** Deeds that change nothing the watchers can read. Each world does some of them independently. */
export function deedsOutOfSight(scene: Scene): readonly (() => Promise<unknown>)[] {
  const { store, newId, step, secret, unseen, companyId, otherId, later, sessions } = scene;
  const { board, root, vera, sam, tess, abroad, mine, lent, hidden, known, wanted, unread, revoked } = scene;
  let newest = unread;
  let current = scene.sent;
  let former = revoked;
  let used = 0;
  const overwrite = async (by: Caller, { id, version, hash }: Saved) =>
    by(writeFile, {
      id,
      version,
      hash,
      content: `${unseen(20)} kb://${secret.pick(mine)?.id ?? ""}`,
      description: unseen(),
    });
  return [
    async () =>
      sam.call(createFile, {
        description: unseen(),
        content: `${unseen(20)} kb://${mine[0]?.id ?? ""} kb://${lent[1]?.id ?? ""}`,
      }),
    async () => board(createFile, { companyId, description: unseen(), content: unseen(20) }),
    async () => abroad.call(createFile, { description: unseen(), content: unseen(20) }),
    async () => (newest = await overwrite(sam.call, newest)),
    async () => (current = await overwrite(root.call, current)),
    async () => (former = await overwrite(root.call, former)),
    async () => {
      const made = await sam.call(createFile, { description: unseen(), content: unseen() });
      await sam.call(deleteFile, { id: made.id });
    },
    async () => sam.call(createOutcome, { title: unseen(), description: unseen(20), parents: [hidden.id] }),
    async () => tess.call(createOutcome, { title: unseen(), parents: [tess.id] }),
    async () => abroad.call(createOutcome, { title: unseen(), parents: [abroad.id] }),
    async () =>
      sam.call(updateOutcome, { id: hidden.id, blocked: secret.flip(0.5) ? { reason: unseen() } : null }),
    async () => board(updateOutcome, { id: hidden.id, title: unseen(), important: secret.flip(0.5) }),
    async () => board(updateOutcome, { id: known.id, title: unseen(), description: unseen(20) }),
    async () => sam.call(sendMessage, { to: tess.id, body: unseen(20) }),
    async () => tess.call(sendMessage, { to: "boss", body: unseen(20) }),
    // Root's inbox is an outcome below the mandate that Vera reads. It opens with the first message and closes with the last.
    async () => {
      const { id } = await sam.call(sendMessage, { to: "boss", body: unseen(20) });
      if (secret.flip(0.5)) await root.call(acknowledgeMessage, { id, result: unseen() });
    },
    async () => sam.call(sendMessage, { to: tess.id, file: unread.id }),
    async () => board(sendMessage, { companyId, to: sam.id, body: unseen(20) }),
    async () => abroad.call(sendMessage, { to: "board", body: unseen(20) }),
    async () => root.call(sendDeferredMessage, { to: vera.id, body: unseen(20), deliverAt: later }),
    async () => sam.call(grantPermission, { to: tess.id, resource: `kb:${unread.id}` }),
    async () => board(grantPermission, { companyId, to: sam.id, resource: `kb:${revoked.id}` }),
    async () => tess.call(requestPermission, { resource: `kb:${unread.id}`, reason: unseen() }),
    async () => {
      const { requestId } = await sam.call(requestAgent, { name: `Wish ${step()}`, waitSeconds: 0 });
      if (requestId === undefined) return;
      await sam.call(commentOnApproval, { id: requestId, body: unseen() });
    },
    async () => {
      const { id } = await sam.call(changeAgent, { agent: tess.id, reason: unseen(), prompt: unseen(20) });
      await board(secret.flip(0.5) ? requestRevision : reject, { id, decisionNote: unseen() });
    },
    async () => board(updateCompany, { companyId: otherId, name: unseen() }),
    async () => {
      const job = await sam.call(createOutcome, { title: unseen(), parents: [sam.id] });
      await sam.call(delegateOutcome, { id: job.id, to: tess.id });
      await tess.call(submitOutcome, { id: job.id, note: unseen() });
      await sam.call(completeOutcome, { id: job.id, note: unseen() });
    },
    // Things that Sam uses, owns, delivers and gets; people and goals that the watchers must not notice.
    async () => {
      used++;
      const usage = { inputTokens: 1000 * used, outputTokens: 100 * used, costUsd: used / 100 };
      await store.write(async (tx) => {
        await tx.lock(companyId);
        for (const session of sessions) await noteUsage(tx, session, usage, newId);
      });
    },
    async () => {
      const made = await sam.call(createFile, { description: unseen(), content: unseen(20) });
      const job = await sam.call(createOutcome, { title: unseen(), parents: [sam.id] });
      await sam.call(completeOutcome, { id: job.id, note: `${unseen()} kb://${made.id}`, files: [made.id] });
    },
    async () => {
      const made = await tess.call(createFile, { description: unseen(), content: unseen(20) });
      await tess.call(sendMessage, { to: "boss", body: unseen(20), files: [made.id] });
    },
    async () => board(setBudget, { id: abroad.id, usd: secret.between(10, 20) }),
    async () => board(updateOutcome, { id: wanted.id, title: unseen(), description: unseen(20) }),
    async () => board(setGoalBudget, { id: wanted.id, budget: { usd: secret.between(10, 20) } }),
    async () => board(createGoal, { companyId: otherId, title: unseen(), description: unseen(20) }),
    async () => {
      const month = { companyId, month: scene.firstMonth };
      const { lines, last: until } = await board(exportEvents, month);
      const fileName = `${unseen()}.ledger`;
      await board(removeEvents, { ...month, until, digest: digestOfLines(lines), fileName });
    },
    async () => board(createPerson, { name: `Guest ${step()}`, role: "viewer" }),
    async () => {
      const { id: person } = await board(createPerson, { name: `Hand ${step()}` });
      const seat = { companyId: otherId, role: "hand", adapterType: "human", person } as const;
      await board(createAgent, { ...seat, name: `Seat ${step()}` });
    },
  ];
}
