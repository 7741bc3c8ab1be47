import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeIn } from "../dispatch/context.ts";
import { countStored } from "../knowledge/table.ts";
import { selection } from "../store/query.ts";
import { companyRow, sessionRow } from "../store/row-by-id.ts";
import type { Store } from "../store/store.ts";
import type { Mirrors } from "./mirrors.ts";
import {
  allBranches,
  allRepos,
  clonesOf,
  dropClone,
  insertBundle,
  mirrorOf,
  repoNamed,
  reposOf,
  type RepoRow,
} from "./table.ts";

/**
 * Keeps the commits that a session did not publish, before its workspace is removed. Each step can be repeated: the bundle is
 * on disk before its row exists, and the row exists before the workspace goes. If a bundle can't be written, this throws, and
 * the workspace stays until the next start of the daemon.
 */
export async function salvageSession(
  parts: { readonly store: Store; readonly mirrors: Mirrors; readonly newId: () => string },
  sessionId: string,
  workspace: string,
): Promise<void> {
  const { store, mirrors, newId } = parts;
  const { session, clones } = await store.read(async (tx) => ({
    session: await tx.first(sessionRow, { id: sessionId }),
    clones: await tx.all(clonesOf, { session_id: sessionId }),
  }));
  if (session === undefined) return;
  const { company_id: companyId, agent_id: agentId } = session;
  for (const { repo, folder } of clones) {
    const row = await store.read((tx) => repoNamed(tx, companyId, repo));
    const path = join(workspace, folder);
    const isThere = row !== undefined && mirrors.has(mirrorOf(row)) && existsSync(join(path, ".git"));
    const kept = isThere ? await mirrors.bundle(mirrorOf(row), workspace, path) : [];
    await writeIn(store, companyId, newId, async (call) => {
      const { tx } = call;
      for (const { id, branch, commit, commits, bytes } of kept) {
        await tx.run(insertBundle, {
          id,
          company_id: companyId,
          repo,
          agent_id: agentId,
          session_id: sessionId,
          branch,
          commit_id: commit,
          commits,
          bytes,
          created_at: tx.now,
          settled_at: null,
        });
        // The commits are kept in any case. An agent whose storage is full can't clone any more.
        await countStored(tx, { companyId, agentId, bytes });
        await call.record(agentId, { repo, branch, commit, commits, bundle: id }, "repo.salvage");
      }
      await tx.run(dropClone, { session_id: sessionId, folder });
    });
  }
}

/**
 * Completes work that a crash cut short. Removes the mirrors of removed repositories and settled bundles, and makes published
 * branches match the rows. Files of a company that this database does not know are left alone.
 */
export async function sweepMirrors({ store, mirrors }: { store: Store; mirrors: Mirrors }): Promise<void> {
  await mirrors.sweep({
    mirror: (companyId, folder) =>
      store.read(async (tx) => {
        if ((await tx.first(companyRow, { id: companyId })) === undefined) return false;
        const rows = await tx.all(reposOf, { company_id: companyId });
        return !rows.some((row) => mirrors.folderOf(mirrorOf(row)) === folder);
      }),
    bundle: (id) =>
      store.read(async (tx) => ((await tx.first(bundleRow, { id }))?.settled_at ?? null) !== null),
  });
  for (const row of await store.read((tx) => tx.all(allRepos, {})))
    await alignBranches({ store, mirrors }, row);
}

/** Makes the published branches of a mirror match the rows. */
export const alignBranches = (
  { store, mirrors }: { readonly store: Store; readonly mirrors: Mirrors },
  row: RepoRow,
): Promise<void> =>
  mirrors.align(mirrorOf(row), () =>
    store.read((tx) => tx.all(allBranches, { company_id: row.company_id, repo: row.name })),
  );

const bundleRow = selection("bundles", ["id"]);
