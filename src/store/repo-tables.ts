import { flag, integer, orNull, string } from "./columns.ts";

/** The tables about repositories, as a part of schema.ts. */
export const repoTables = {
  repos: {
    company_id: string,
    name: string,
    /** Part of the name of its mirror: what was added under the same name before had another one. */
    id: string,
    url: string,
    /** The secret with which the daemon reaches the origin. */
    secret: orNull(string),
    /** 1: the origin may have an address of a private network. */
    private_network: flag,
    /** Null: the origin has no commits. */
    default_branch: orNull(string),
    created_at: integer,
  },
  /** The clones in the workspaces of sessions, until the workspace is removed. */
  clones: {
    session_id: string,
    /** The folder in the workspace. */
    folder: string,
    company_id: string,
    repo: string,
    created_at: integer,
  },
  /** Branches that agents published. */
  repo_branches: {
    company_id: string,
    repo: string,
    /** agency/<agent>/<branch>, in the mirror. */
    name: string,
    agent_id: string,
    commit_id: string,
    commits: integer,
    message: string,
    file_id: string,
    /** Of all commits that were published under this name. They count to the storage of their author. */
    bytes: integer,
    published_at: integer,
    pushed_at: orNull(integer),
    pushed_to: orNull(string),
  },
  /** Commits of ended sessions that were not published. Each is kept in a git bundle. */
  bundles: {
    id: string,
    company_id: string,
    repo: string,
    agent_id: string,
    session_id: string,
    branch: string,
    commit_id: string,
    commits: integer,
    /** They count to the storage of their author until it is settled. */
    bytes: integer,
    created_at: integer,
    /** When the commits were published or discarded. */
    settled_at: orNull(integer),
  },
};
