import { z } from "zod";
import { operation } from "./operation.ts";
import { SecretName } from "./secrets.ts";
import { AgentRef, CompanyId, hiddenInSessions, nextCursor, said, shownInTools, text } from "./words.ts";

/** Repositories: git mirrors that agents clone from, and branches that leave a session's workspace through them. */

export const RepoName = z
  .string()
  .max(60)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*$/,
    "up to 60 letters, digits, hyphens, underscores and single dots, starting with a letter or digit",
  )
  .refine((name) => !/\.(?:git|lock)$/i.test(name), "a name that does not end with .git or .lock")
  .describe("Name of the repository. The right to use it is `repo:<name>`.");

/** The characters that git accepts in a branch name, without those with a meaning in a shell or a refspec. */
const branchShape =
  /^(?![-+#@])(?!.*(?:\/\/|\.\.|@\{|\/\.|\.\/|\.lock(?:\/|$)))(?!\/)[\p{L}\p{N}._\-+#@/]{1,150}(?<![/.])$/u;

const branchName = (what: string) =>
  z
    .string()
    .max(200)
    .transform((name) => name.replace(/^refs\/heads\//, ""))
    .refine(
      (name) => branchShape.test(name) && name !== "HEAD" && name !== "@" && !name.startsWith("."),
      "a branch name such as fix-rounding: letters, digits and . _ - + # @ /, at most 150 characters",
    )
    .describe(what);

const PublishedBranch = z.object({
  branch: z.string().describe("Name in the mirror, agency/<agent>/<branch>."),
  by: AgentRef,
  message: z.string(),
  commit: z.string(),
  commits: z.number().describe("Number of commits that the origin's default branch does not have."),
  file: z.string().describe("The knowledge file with summary, diff and test output."),
  publishedAt: z.string(),
  pushedAt: z.string().nullable(),
  pushedTo: z.string().nullable().describe("The branch at the origin. Null: not pushed."),
});

const Unpublished = z.object({
  id: z.string(),
  by: AgentRef,
  session: z.string(),
  branch: z.string(),
  commit: z.string(),
  commits: z.number(),
  bundle: z.string().describe("File name of the git bundle in the folder repos/bundles of Agency's home."),
  at: z.string(),
});

export const Repo = z.object({
  name: z.string(),
  url: z.string(),
  secret: z.string().nullable().describe("Name of the secret with which the daemon reaches the origin."),
  privateNetwork: z.boolean().describe("Whether the origin may have an address of a private network."),
  defaultBranch: z.string().nullable().describe("Null: the repository is empty."),
  level: z.enum(["read", "push"]).describe("What you may do with it."),
  fetchedAt: z.string().nullable(),
  trouble: z.string().nullable().describe("Why the last fetch failed. Null: it worked."),
  published: z.array(PublishedBranch).describe("The newest first, at most 100."),
  unpublished: z
    .array(Unpublished)
    .describe("Commits of ended sessions that were not published. Each is kept as a bundle."),
});
export type Repo = z.infer<typeof Repo>;

const path = "/api/companies/:companyId/repos";
const One = z.strictObject({ companyId: CompanyId, name: RepoName });

export const addRepo = operation("repo.add", `POST ${path}`, {
  summary: "Add a git repository, which agents then clone from a local mirror.",
  guidance:
    "The daemon fetches the origin once before it answers. URLs may start with https:// or ssh://, or be git@host:path; file:// and an absolute path name a repository of this machine. An agent can use the repository once it holds `repo:<name>`.",
  input: One.extend({
    url: text(2000).min(1).describe("URL of the origin, without a password."),
    secret: SecretName.optional().describe(
      "Name of the secret for the origin: a token or user:password for https, a private key for ssh. Only the daemon uses it. Without one, ssh uses the keys and the configuration of the account that runs the daemon.",
    ),
    privateNetwork: z
      .boolean()
      .optional()
      .describe(
        "Allow an origin whose host name leads to an address of a private network. Default: refused, except for localhost and an address in the URL itself.",
      ),
  }),
  output: Repo,
  cli: {
    command: "repos add <name> <url>",
    example: "site https://github.com/example/site --secret GIT_TOKEN",
  },
});

export const listRepos = operation("repo.list", `GET ${path}`, {
  summary: "List the repositories you can clone, with their unmerged published branches.",
  guidance: "`level` is your right.",
  lists: "repository",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ repos: z.array(Repo), nextCursor }),
  needs: "member",
  mcp: { server: "repo", tool: "list_repos", for: ["developer", "person"] },
  cli: { command: "repos list" },
});

export const fetchRepo = operation("repo.fetch", `POST ${path}/:name/fetch`, {
  summary: "Fetch a repository from its origin now. clone_repo also fetches.",
  input: One,
  output: Repo,
  cli: { command: "repos fetch <name>", example: "site" },
});

export const removeRepo = operation("repo.remove", `DELETE ${path}/:name`, {
  summary: "Remove a repository with its mirror. All rights to it end. The origin stays as it is.",
  input: One,
  output: Repo,
  cli: { command: "repos remove <name>", example: "site" },
});

export const cloneRepo = operation("repo.clone", `POST ${path}/:name/clone`, {
  summary: "Clone a repository into your workspace.",
  guidance:
    "Returns its `path`. Other agents' branches are origin/agency/<agent>/<branch>. Commit with git, then call publish_branch.",
  input: One.extend({
    name: RepoName.describe("Name, from list_repos.").register(shownInTools, {
      description: "From list_repos.",
    }),
  }),
  output: z.object({
    path: z.string(),
    branch: z.string().nullable().describe("The branch that is checked out. Null: the repository is empty."),
    commit: z.string().nullable(),
    fetchedAt: z.string().nullable(),
    notes: z
      .array(z.string())
      .describe(
        "What differs from a plain clone: an origin that is down, submodules, large files, your unpublished commits.",
      ),
  }),
  needs: ({ name }) => [{ on: `repo:${name}`, level: ["read", "push"] }],
  mcp: { server: "repo", tool: "clone_repo", for: ["developer"] },
});

const Branch = z.strictObject({
  companyId: CompanyId,
  repo: RepoName.describe("Name, from list_repos.").register(shownInTools, {
    description: "From list_repos.",
  }),
});

export const publishBranch = operation("repo.publish", `POST ${path}/:repo/branches`, {
  summary: "Publish a branch of your clone for review.",
  guidance:
    "It becomes agency/<you>/<branch>. The origin stays unchanged. Returns a file with the diff for submit_outcome.",
  input: Branch.extend({
    branch: branchName("Branch in your clone."),
    message: said(10_000).describe("What changes, and why."),
    testOutput: text(100_000).optional().describe("What your tests printed."),
    path: text(1000)
      .optional()
      .describe("Folder of the clone. Default: your last one.")
      .register(hiddenInSessions, {}),
  }),
  output: PublishedBranch,
  needs: ({ repo }) => [{ on: `repo:${repo}`, level: ["read", "push"] }],
  mcp: { server: "repo", tool: "publish_branch", for: ["developer"] },
});

export const pushBranch = operation("repo.push", `POST ${path}/:repo/push`, {
  summary: "Push a published, reviewed branch to its origin.",
  guidance: "Commits there are never overwritten.",
  input: Branch.extend({
    branch: branchName("agency/<agent>/<branch>, or your <branch>."),
    onto: branchName("Branch at the origin. Default: the same.").optional(),
  }),
  output: PublishedBranch,
  needs: ({ repo }) => [{ on: `repo:${repo}`, level: "push" }],
  mcp: { server: "repo", tool: "push_branch", for: ["pusher", "person"] },
  cli: { command: "repos push <repo> <branch>", example: "site agency/ada/fix-rounding --onto main" },
});

export const viewDiff = operation("repo.diff", `GET ${path}/:repo/diff`, {
  summary: "Show what a published branch changes, compared with the origin's default branch.",
  input: Branch.extend({ branch: branchName("Name of the published branch, agency/<agent>/<branch>.") }),
  output: PublishedBranch.extend({
    base: z
      .string()
      .nullable()
      .describe("The commit that the diff starts from. Null: the branch shares no commit."),
    files: z.array(
      z.object({
        path: z.string(),
        added: z.number().nullable().describe("Lines. Null: not a text."),
        removed: z.number().nullable(),
      }),
    ),
    log: z.array(z.object({ commit: z.string(), author: z.string(), at: z.string(), subject: z.string() })),
    diff: z.string(),
    truncated: z.boolean().describe("True if the diff is longer than what is shown."),
  }),
  needs: ({ repo }) => [{ on: `repo:${repo}`, level: ["read", "push"] }],
  cli: { command: "repos diff <repo> <branch>", example: "site agency/ada/fix-rounding" },
});

export const discardUnpublished = operation("repo.discard", `DELETE ${path}/:name/unpublished/:id`, {
  summary: "Discard commits of an ended session that were not published. Their bundle is deleted.",
  input: One.extend({ id: z.uuid("a UUID").describe("Id in the list of unpublished commits.") }),
  output: Repo,
  cli: { command: "repos discard <name> <id>", example: "site 0f8fad5b-d9cb-469f-a165-70867728950e" },
});
