import { plural } from "../contract/phrases.ts";
import { conflict, invalid, Refusal, refused } from "../contract/refusal.ts";
import { wrongUrls } from "./repository.ts";

/** The texts about repositories. */
export const wrongUrl = (url: string, wrong: keyof typeof wrongUrls): Refusal =>
  invalid(
    // A URL with a login is not repeated, because answers and the ledger would show the login.
    `${wrong === "login" ? "The URL" : `"${url.slice(0, 200)}"`} ${wrongUrls[wrong]}.`,
    wrong === "login"
      ? "Set the login as a secret (agency secrets set <name>), and add the repository with --secret <name>."
      : "Use https://host/path, ssh://user@host/path or git@host:path, or the absolute path of a repository on this machine.",
  );

export const repoExists = (name: string): Refusal =>
  conflict(
    `The company already has a repository called "${name}".`,
    `Choose another name, or remove it first: agency repos remove ${name}.`,
  );

export const secretMissing = (name: string): Refusal =>
  refused(`The origin needs a login that is not set: ${name}.`, `Set it: agency secrets set ${name}.`);

export const gitFailed = (what: string, says: string): Refusal =>
  refused(
    `Agency could not ${what}. Git says: ${says === "" ? "nothing" : says.replaceAll(/\.(?=;|$)/g, "")}.`,
    "Check the URL and the login of the repository. `agency doctor` tries every repository.",
  );

/** Reasons why git was not started. They take the place of git's own message. */
export const originUnknown = (host: string): string => `there is no address for the host ${host}`;

export const originOfNetwork = (host: string, address: string): string =>
  `Agency never connects to ${host}: its address ${address} is link-local or reserved`;

export const originInside = (host: string, address: string): string =>
  `${host} leads to the address ${address} of a private network, so Agency does not connect. If this is intended, add the repository with --private-network`;

export const gitTooOld = (version: string): string =>
  `${version} can't be told which address to use. Agency needs git 2.37 or newer for https`;

export const sshRefuses = (says: string): string => `ssh does not know where to connect to: ${says}`;

export const nowhereToClone = (): Refusal =>
  refused(
    "You have no workspace: only a session can clone a repository.",
    "Clone the repository with git yourself, or read a published branch: GET /api/companies/:companyId/repos/:repo/diff.",
  );

export const noClone = (repo: string): Refusal =>
  refused(`You have no clone of ${repo} in this session.`, `Make one: clone_repo {"name":"${repo}"}.`);

export const noCloneThere = (path: string): Refusal =>
  refused(
    `${path} is not a clone in your workspace, or something in it leads out of it.`,
    "Name the folder that clone_repo returned, or leave out `path`.",
  );

export const reservedBranch = (): Refusal =>
  refused(
    "The default branch of the origin is called agency. Below that name, Agency keeps the branches of its agents.",
    "Rename the branch at the origin, then add the repository.",
  );

export const noSuchBranch = (branch: string, says: string): Refusal =>
  refused(
    `Your clone has no branch "${branch}"${says === "" ? "" : ` (${says})`}.`,
    "`git branch` lists the branches. Commit to one of them first.",
  );

export const nothingToPublish = (branch: string, base: string): Refusal =>
  refused(
    `The branch "${branch}" has no commits that ${base} lacks.`,
    "Commit your changes, then publish again.",
  );

export const takenByAnother = (name: string): Refusal =>
  conflict(`Another agent has published the branch ${name}.`, "Publish under another branch name.");

/** The note about a clone. */
export const noteOf = {
  slow: "the origin has not answered yet",
  stale: (says: string, since: string | null): string =>
    `The origin can't be reached now (${says}). This is what Agency fetched ${since === null ? "earlier" : `at ${since}`}.`,
  submodules:
    "This repository has submodules. Agency does not clone them: ask the board to add each as another repository.",
  largeFiles:
    "This repository keeps large files with Git LFS. Agency does not download them: you see small pointer files. Don't edit those.",
  unpublished: (branch: string): string =>
    `Commits of an earlier session of yours that were not published are on the branch ${branch}. Merge what you need.`,
};

/** The knowledge file of a published branch. */
export function deliverableOf(about: {
  repo: string;
  branch: string;
  base: string | null;
  message: string;
  testOutput: string | undefined;
  log: readonly { commit: string; subject: string }[];
  files: readonly { path: string; added: number | null; removed: number | null }[];
  diff: string;
  truncated: boolean;
}): string {
  const { files, log, testOutput } = about;
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0);
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
  return [
    `# ${about.branch} of ${about.repo}`,
    about.message,
    `## Commits\n\n${log.map(({ commit, subject }) => `- ${commit.slice(0, 10)} ${subject}`).join("\n")}`,
    `## Changes\n\n${plural(files.length, "file")}, ${plural(added, "line")} added, ${plural(removed, "line")} removed, compared with ${about.base?.slice(0, 10) ?? "an empty tree"}.\n\n${files
      .slice(0, 200)
      .map(
        ({ path, added: more, removed: less }) =>
          `- ${path} ${more === null ? "(not a text)" : `+${more} -${less}`}`,
      )
      .join("\n")}`,
    `## Tests\n\n${testOutput === undefined ? "The author gave no test output." : fenced(testOutput, "")}`,
    `## Diff\n\n${fenced(about.diff, "diff")}${about.truncated ? `\n\nThe rest is not shown: agency repos diff ${about.repo} ${about.branch}` : ""}`,
  ].join("\n\n");
}

/** A fence longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

export const branchDescription = (repo: string, branch: string): string => `Branch ${branch} of ${repo}`;
