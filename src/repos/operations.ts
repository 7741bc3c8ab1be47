import { isAbsolute, resolve } from "node:path";
import { sql } from "kysely";
import { memberById } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import * as contract from "../contract/repos.ts";
import { notFound } from "../contract/refusal.ts";
import { type Guarded, guarded, guardedOutside } from "../dispatch/guarded.ts";
import { countStored, storageLeft } from "../knowledge/table.ts";
import { takeAway } from "../permissions/giving.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { selection } from "../store/query.ts";
import { sessionRow } from "../store/row-by-id.ts";
import { type Row, tables } from "../store/schema.ts";
import type { ReadTx, Store, Tx } from "../store/store.ts";
import { keepFile } from "./branch-file.ts";
import type { Mirrors } from "./mirrors.ts";
import type { Reached } from "./origin-way.ts";
import { presentBranch, presentRepo, timeOf } from "./shown-repo.ts";
import { originOf, publishedName } from "./repository.ts";
import { alignBranches } from "./salvage.ts";
import * as table from "./table.ts";
import * as texts from "./texts.ts";

/**
 * Repositories of a company. Git works outside of every transaction. Each operation checks its rights again before it stores or
 * shows what git did (guardedOutside).
 */
export interface RepoParts {
  readonly mirrors: Mirrors;
  readonly secrets: Pick<SecretStore, "valueFor" | "hide">;
  readonly store: Store;
}

export function repoHandlers(parts: RepoParts): Guarded[] {
  const all = [onAdd, onList, onFetch, onRemove, onClone, onPublish, onPush, onDiff, onDiscard];
  return all.map((handler) => handler(parts));
}

/** The origin of a repository, with the value of its secret. Only git gets the value. */
async function reach(
  { secrets }: RepoParts,
  tx: ReadTx,
  companyId: string,
  { url, secret, private_network: near }: Pick<table.RepoRow, "url" | "secret" | "private_network">,
): Promise<Reached> {
  const origin = originOf(url);
  if ("wrong" in origin) throw texts.wrongUrl(url, origin.wrong);
  const privateNetwork = near === 1;
  if (secret === null) return { origin, credential: undefined, privateNetwork };
  const value = await secrets.valueFor(tx, companyId, secret);
  if (value === undefined) throw texts.secretMissing(secret);
  return { origin, credential: { origin, value }, privateNetwork };
}

const onAdd = (parts: RepoParts): Guarded =>
  guardedOutside(contract.addRepo, {
    look: async (call) => {
      const { tx, companyId, input } = call;
      const { name, url, secret = null, privateNetwork = false } = input;
      if ((await table.repoNamed(tx, companyId, name)) !== undefined) throw texts.repoExists(name);
      const near = privateNetwork ? 1 : 0;
      const reached = await reach(parts, tx, companyId, { url, secret, private_network: near });
      return { mirror: { companyId, name, id: call.newId() }, reached };
    },
    work: ({ mirror, reached }) => parts.mirrors.create(mirror, reached),
    finish: async (call, made, { mirror: { companyId, name, id }, reached: { origin, privateNetwork } }) => {
      const { tx, input } = call;
      if ((await table.repoNamed(tx, companyId, name)) !== undefined) throw texts.repoExists(name);
      const row = {
        company_id: companyId,
        name,
        id,
        url: origin.url,
        secret: input.secret ?? null,
        private_network: privateNetwork ? (1 as const) : (0 as const),
        default_branch: made.defaultBranch,
        created_at: tx.now,
      };
      await tx.run(table.insertRepo, row);
      await call.record(companyId, { repo: name, url: origin.url, secret: row.secret });
      await made.place();
      return presentRepo(parts, call, row);
    },
    dropped: ({ drop }) => drop(),
  });

const onList = (parts: RepoParts): Guarded =>
  guarded(contract.listRepos, async (call) => {
    const { tx, actor, companyId } = call;
    const repos = [];
    for (const row of await tx.all(table.reposOf, { company_id: companyId })) {
      const isSeen = actor.agentId === null || (await holds(tx, actor.agentId, `repo:${row.name}`, "read"));
      if (isSeen) repos.push(await presentRepo(parts, call, row));
    }
    return { repos, nextCursor: null };
  });

const onFetch = (parts: RepoParts): Guarded =>
  guardedOutside(contract.fetchRepo, {
    look: async ({ tx, companyId, input }) => {
      const row = await demandRepo(tx, companyId, input.name);
      return { mirror: table.mirrorOf(row), reached: await reach(parts, tx, companyId, row) };
    },
    work: ({ mirror, reached }) => parts.mirrors.fetch(mirror, reached, { force: true }),
    finish: async (call, { trouble }) => {
      const row = await demandRepo(call.tx, call.companyId, call.input.name);
      if (trouble !== null) throw texts.gitFailed("fetch the origin", parts.secrets.hide(trouble));
      await call.record(call.companyId, { repo: row.name });
      return presentRepo(parts, call, row);
    },
  });

const onRemove = (parts: RepoParts): Guarded =>
  guardedOutside(contract.removeRepo, {
    look: async ({ tx, companyId, input }) => {
      const row = await demandRepo(tx, companyId, input.name);
      const bundles = await tx.all(table.openBundles, { company_id: companyId, repo: row.name });
      return { mirror: table.mirrorOf(row), bundles: bundles.map(({ id }) => id) };
    },
    work: async () => undefined,
    finish: async (call) => {
      const { tx, companyId, input } = call;
      const row = await demandRepo(tx, companyId, input.name);
      const shown = await presentRepo(parts, call, row);
      const where = { company_id: companyId, repo: row.name };
      for (const bundle of await tx.all(table.openBundles, where)) await settle(tx, bundle);
      for (const { agent_id: agentId, bytes } of await tx.all(table.allBranches, where))
        await countStored(tx, { companyId, agentId, bytes: -bytes });
      await tx.run(table.dropBranches, where);
      await tx.run(table.dropRepo, { company_id: companyId, name: row.name });
      await call.record(companyId, { repo: row.name });
      // Otherwise the grants would be valid again for another repository of that name.
      for (const grant of await tx.all(grantsOn, { company_id: companyId, resource: `repo:${row.name}` }))
        await takeAway(call, grant);
      return shown;
    },
    // Removed only after the commit: a removal that is rolled back must leave everything as it was.
    committed: async (_, { mirror, bundles }) => {
      await parts.mirrors.dropBundles(bundles);
      await parts.mirrors.remove(mirror);
    },
  });

const onClone = (parts: RepoParts): Guarded =>
  guardedOutside(contract.cloneRepo, {
    look: async ({ tx, companyId, input, caller, actor }) => {
      const { workspace } = caller;
      const session = await sessionOf(tx, actor.sessionId);
      if (workspace === null || session === undefined) throw texts.nowhereToClone();
      const row = await demandRepo(tx, companyId, input.name);
      const agent = await memberById(tx, actor.agentId);
      const bundles = await tx.all(table.bundlesOfAgent, { agent_id: actor.agentId ?? "", repo: row.name });
      // The session's commits will be stored, even if they are not published.
      const room = await storageLeft(tx, companyId, actor.agentId ?? "");
      if (room.bytes <= 0) throw room.full;
      return {
        reached: await reach(parts, tx, companyId, row),
        order: {
          ...table.mirrorOf(row),
          workspace,
          isShared: tables.sessions.repos.parse(session.repos).includes(row.name),
          defaultBranch: row.default_branch,
          author: { name: agent?.name ?? "agent", email: `${agent?.slug ?? "agent"}@agents.agency.invalid` },
          bundles,
        },
      };
    },
    work: async ({ order, reached }) => {
      const { at, trouble } = await parts.mirrors.refresh(order, reached);
      return { at, trouble, ...(await parts.mirrors.clone(order)) };
    },
    finish: async (call, { at, trouble, folder, notes, ...made }) => {
      const { tx, companyId, input, actor } = call;
      const row = await demandRepo(tx, companyId, input.name);
      await tx.run(table.insertClone, {
        session_id: actor.sessionId ?? "",
        folder,
        company_id: companyId,
        repo: row.name,
        created_at: tx.now,
      });
      await call.record(actor.agentId, { repo: row.name, commit: made.commit });
      const fetchedAt = timeOf(at);
      const stale = trouble === null ? [] : [texts.noteOf.stale(parts.secrets.hide(trouble), fetchedAt)];
      return { ...made, fetchedAt, notes: [...stale, ...notes] };
    },
  });

const onPublish = (parts: RepoParts): Guarded =>
  guardedOutside(contract.publishBranch, {
    look: async ({ tx, companyId, input, caller, actor }) => {
      const { workspace } = caller;
      if (workspace === null || actor.sessionId === null) throw texts.nowhereToClone();
      const row = await demandRepo(tx, companyId, input.repo);
      const clones = await tx.all(table.clonesOf, { session_id: actor.sessionId });
      const last = clones.findLast(({ repo }) => repo === row.name);
      if (last === undefined) throw texts.noClone(row.name);
      const agent = await memberById(tx, actor.agentId);
      if (agent === undefined) throw notFound("agent", actor.agentId ?? "");
      const given = input.path ?? last.folder;
      const path = isAbsolute(given) ? resolve(given) : resolve(workspace, given);
      const name = publishedName(agent.slug, input.branch);
      const bundles = await tx.all(table.bundlesOfAgent, { agent_id: agent.id, repo: row.name });
      const mirror = table.mirrorOf(row);
      const room = await storageLeft(tx, companyId, agent.id);
      return { mirror, row, name, bundles, room, from: { workspace, path, branch: input.branch } };
    },
    work: async ({ mirror, row, from, bundles, room }) => {
      const taken = await parts.mirrors.take(mirror, from, room);
      const { commit, says, apart } = taken;
      if (commit === null) throw texts.noSuchBranch(from.branch, parts.secrets.hide(says));
      try {
        const compared = await parts.mirrors.compare(mirror, commit, row.default_branch, apart);
        if (compared.commits === 0)
          throw texts.nothingToPublish(from.branch, row.default_branch ?? "the repository");
        const settled = [];
        for (const kept of bundles)
          if (await parts.mirrors.contains(mirror, kept.commit_id, { commit, apart })) settled.push(kept);
        return { taken, commit, compared, settled };
      } catch (error) {
        await taken.drop();
        throw error;
      }
    },
    finish: async (call, { taken, commit, compared, settled }, { mirror, name }) => {
      const { tx, companyId, input, actor } = call;
      const row = await demandRepo(tx, companyId, input.repo);
      const agentId = actor.agentId ?? "";
      const before = await table.branchNamed(tx, row, name);
      if (before !== undefined && before.agent_id !== agentId) throw texts.takenByAnother(name);
      const text = texts.deliverableOf({
        repo: row.name,
        branch: name,
        ...compared,
        message: input.message,
        testOutput: input.testOutput,
      });
      const file = await keepFile(call, before?.file_id, texts.branchDescription(row.name, name), text);
      const branch = {
        company_id: companyId,
        repo: row.name,
        name,
        agent_id: agentId,
        commit_id: commit,
        commits: compared.commits,
        message: input.message,
        file_id: file,
        bytes: (before?.bytes ?? 0) + taken.bytes,
        published_at: tx.now,
        pushed_at: null,
        pushed_to: null,
      };
      await tx.run(table.putBranch, branch);
      await countStored(tx, { companyId, agentId, bytes: taken.bytes, isLimited: true });
      for (const kept of settled) await settle(tx, kept);
      await call.record(agentId, { repo: row.name, branch: name, commit, file });
      await taken.place();
      await parts.mirrors.setBranch(mirror, name, commit);
      return presentBranch(tx, branch);
    },
    committed: async ({ taken, settled }) => {
      await taken.drop();
      await parts.mirrors.dropBundles(settled.map(({ id }) => id));
    },
    dropped: async ({ taken }, { row }) => {
      await taken.drop();
      // The branch may have been named already, so bring the branches in line with the rows.
      await alignBranches(parts, row);
    },
  });

const onPush = (parts: RepoParts): Guarded =>
  guardedOutside(contract.pushBranch, {
    look: async ({ tx, companyId, input, actor }) => {
      const row = await demandRepo(tx, companyId, input.repo);
      const branch = await demandBranch(tx, row, input.branch, actor.agentId);
      const to = input.onto ?? branch.name;
      return { mirror: table.mirrorOf(row), branch, to, reached: await reach(parts, tx, companyId, row) };
    },
    work: ({ mirror, reached, branch, to }) => parts.mirrors.push(mirror, reached, branch.commit_id, to),
    finish: async (call, _, { branch, to }) => {
      const { tx } = call;
      const pushed = { ...branch, pushed_at: tx.now, pushed_to: to };
      await tx.run(table.markPushed, pushed);
      await call.record(branch.agent_id, {
        repo: branch.repo,
        branch: branch.name,
        commit: branch.commit_id,
        to,
      });
      return presentBranch(tx, pushed);
    },
  });

const onDiff = (parts: RepoParts): Guarded =>
  guardedOutside(contract.viewDiff, {
    look: async ({ tx, companyId, input, actor }) => {
      const row = await demandRepo(tx, companyId, input.repo);
      return { row, branch: await demandBranch(tx, row, input.branch, actor.agentId) };
    },
    work: ({ row, branch }) =>
      parts.mirrors.compare(table.mirrorOf(row), branch.commit_id, row.default_branch),
    finish: async ({ tx, hide }, compared, { branch }) => ({
      ...(await presentBranch(tx, branch)),
      ...compared,
      commits: branch.commits,
      diff: hide(compared.diff),
    }),
  });

const onDiscard = (parts: RepoParts): Guarded =>
  guardedOutside(contract.discardUnpublished, {
    look: async ({ input }) => input.id,
    work: async () => undefined,
    finish: async (call) => {
      const { tx, companyId, input } = call;
      const row = await demandRepo(tx, companyId, input.name);
      const kept = await tx.all(table.openBundles, { company_id: companyId, repo: row.name });
      const discarded = kept.find(({ id }) => id === input.id);
      if (discarded === undefined) throw notFound("bundle", input.id);
      await settle(tx, discarded);
      await call.record(companyId, { repo: row.name, bundle: input.id });
      return presentRepo(parts, call, row);
    },
    committed: (_, id) => parts.mirrors.dropBundles([id]),
  });

/** Settles kept commits. They no longer count towards the storage of their author. */
async function settle(tx: Tx, bundle: Row<"bundles">): Promise<void> {
  const { id, company_id: companyId, agent_id: agentId, bytes } = bundle;
  await tx.run(table.settleBundle, { id, settled_at: tx.now });
  await countStored(tx, { companyId, agentId, bytes: -bytes });
}

async function demandRepo(tx: ReadTx, companyId: string, name: string): Promise<table.RepoRow> {
  const row = await table.repoNamed(tx, companyId, name);
  if (row === undefined) throw notFound("repository", name);
  return row;
}

/** A published branch by its whole name. Its author can also use the name in its clone. */
async function demandBranch(
  tx: ReadTx,
  repo: table.RepoRow,
  branch: string,
  agentId: string | null,
): Promise<table.BranchRow> {
  const slug = (await memberById(tx, agentId))?.slug;
  const row =
    (await table.branchNamed(tx, repo, branch)) ??
    (slug === undefined ? undefined : await table.branchNamed(tx, repo, publishedName(slug, branch)));
  if (row === undefined) throw notFound("published branch", branch);
  return row;
}

async function sessionOf(tx: ReadTx, id: string | null) {
  return id === null ? undefined : tx.first(sessionRow, { id });
}

const grantsOn = selection("grants", ["company_id", "resource"], sql`and revoked_at is null order by num`);
