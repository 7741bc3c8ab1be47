import { sql } from "kysely";
import { insertion } from "../store/inserts.ts";
import { deleting, selection, updating } from "../store/query.ts";
import type { Row } from "../store/schema.ts";
import type { ReadTx } from "../store/store.ts";
import type { Mirrored } from "./mirror-folders.ts";

/** The rows of repositories, of clones, of published branches and of commits that were not published. */
export type RepoRow = Row<"repos">;
export type BranchRow = Row<"repo_branches">;

export const repoNamed = (tx: ReadTx, companyId: string, name: string): Promise<RepoRow | undefined> =>
  tx.first(oneRepo, { company_id: companyId, name });
export const branchNamed = (tx: ReadTx, repo: RepoRow, name: string): Promise<BranchRow | undefined> =>
  tx.first(oneBranch, { company_id: repo.company_id, repo: repo.name, name });

/** The fields that name a repository's mirror. */
export const mirrorOf = ({ company_id: companyId, name, id }: RepoRow): Mirrored => ({ companyId, name, id });

const oneRepo = selection("repos", ["company_id", "name"]);
const oneBranch = selection("repo_branches", ["company_id", "repo", "name"]);
export const reposOf = selection("repos", ["company_id"], sql`order by name`);
export const allRepos = selection("repos", [], sql`order by company_id, name`);
export const insertRepo = insertion("repos");
export const dropRepo = deleting("repos", ["company_id", "name"]);

export const insertClone = insertion("clones");
export const clonesOf = selection("clones", ["session_id"], sql`order by created_at, folder`);
export const dropClone = deleting("clones", ["session_id", "folder"]);

export const branchesOf = selection(
  "repo_branches",
  ["company_id", "repo"],
  sql`order by published_at desc, name limit 100`,
);
export const putBranch = insertion(
  "repo_branches",
  sql`on conflict (company_id, repo, name) do update set commit_id = excluded.commit_id,
    commits = excluded.commits, message = excluded.message, file_id = excluded.file_id, bytes = excluded.bytes,
    published_at = excluded.published_at, pushed_at = null, pushed_to = null`,
);
export const markPushed = updating(
  "repo_branches",
  ["pushed_at", "pushed_to"],
  ["company_id", "repo", "name", "commit_id"],
);
export const dropBranches = deleting("repo_branches", ["company_id", "repo"]);

export const insertBundle = insertion("bundles");
export const bundlesOf = selection(
  "bundles",
  ["company_id", "repo"],
  sql`and settled_at is null order by created_at, id limit 100`,
);
export const bundlesOfAgent = selection(
  "bundles",
  ["agent_id", "repo"],
  sql`and settled_at is null order by created_at, id limit 20`,
);
/** All bundles of a repository that are not settled. */
export const openBundles = selection(
  "bundles",
  ["company_id", "repo"],
  sql`and settled_at is null order by id`,
);
export const allBranches = selection("repo_branches", ["company_id", "repo"], sql`order by name`);
export const settleBundle = updating("bundles", ["settled_at"], ["id"]);
