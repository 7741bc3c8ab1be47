import { memberName } from "../capabilities/members.ts";
import { holds } from "../capabilities/rights.ts";
import type * as contract from "../contract/repos.ts";
import type { Call } from "../dispatch/guarded.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import type { ReadTx } from "../store/store.ts";
import type { Mirrors } from "./mirrors.ts";
import * as table from "./table.ts";

/** A repository as its callers see it, with its published branches and the commits that were kept. */
export async function presentRepo(
  { mirrors, secrets }: { mirrors: Pick<Mirrors, "state">; secrets: Pick<SecretStore, "hide"> },
  call: Pick<Call<unknown>, "tx" | "actor">,
  row: table.RepoRow,
): Promise<contract.Repo> {
  const { tx, actor } = call;
  const { at, trouble } = mirrors.state(table.mirrorOf(row));
  const published = [];
  for (const branch of await tx.all(table.branchesOf, { company_id: row.company_id, repo: row.name }))
    published.push(await presentBranch(tx, branch));
  const unpublished = [];
  for (const kept of await tx.all(table.bundlesOf, { company_id: row.company_id, repo: row.name }))
    unpublished.push({
      id: kept.id,
      by: { id: kept.agent_id, name: await memberName(tx, kept.agent_id) },
      session: kept.session_id,
      branch: kept.branch,
      commit: kept.commit_id,
      commits: kept.commits,
      bundle: `${kept.id}.bundle`,
      at: new Date(kept.created_at).toISOString(),
    });
  const pushes = actor.agentId === null || (await holds(tx, actor.agentId, `repo:${row.name}`, "push"));
  return {
    name: row.name,
    url: row.url,
    secret: row.secret,
    privateNetwork: row.private_network === 1,
    defaultBranch: row.default_branch,
    level: pushes ? "push" : "read",
    fetchedAt: timeOf(at),
    trouble: trouble === null ? null : secrets.hide(trouble),
    published,
    unpublished,
  };
}

export const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

export async function presentBranch(tx: ReadTx, row: table.BranchRow) {
  return {
    branch: row.name,
    by: { id: row.agent_id, name: await memberName(tx, row.agent_id) },
    message: row.message,
    commit: row.commit_id,
    commits: row.commits,
    file: row.file_id,
    publishedAt: new Date(row.published_at).toISOString(),
    pushedAt: timeOf(row.pushed_at),
    pushedTo: row.pushed_to,
  };
}
