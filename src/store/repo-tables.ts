import { flag, integer, orNull, string } from "./columns.ts";

/** The tables about repositories, as a part of schema.ts. */
export const repoTables = {
  repos: {
    company_id: string,
    name: string,
    /** A part of the mirror's name. A repository that was added under the same name before had another id. */
    id: string,
    url: string,
    /** The secret with which the daemon reaches the origin. */
    secret: orNull(string),
    /** 1: the origin may have an address of a private network. */
    private_network: flag,
    /** Null if the origin has no commits. */
    default_branch: orNull(string),
    created_at: integer,
  },
  /** The clones in the workspaces of sessions, until the workspace is removed. */
  clones: {
    session_id: string,
    /** The name of the folder in the workspace. */
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
    /** The bytes of all commits published under this name. They count towards the storage of their author. */
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
    /** Counted towards the storage of their author until the bundle is settled. */
    bytes: integer,
    created_at: integer,
    /** When the commits were published or discarded. */
    settled_at: orNull(integer),
  },
};
