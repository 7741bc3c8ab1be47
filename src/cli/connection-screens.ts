import type { Output } from "../contract/operation.ts";
import { plural } from "../contract/phrases.ts";
import { listRepos, pushBranch, viewDiff } from "../contract/repos.ts";
import { testMcpServer } from "../contract/servers.ts";
import { type Drawing, type Screens, styled, when } from "./look.ts";
import { labelled } from "./record-screens.ts";
import { indented } from "./show.ts";
import { emptyList } from "./texts.ts";

/** Screens for MCP servers and repositories: results of tests, published branches and unpublished commits. */
export const connectionScreens: Screens = {
  "servers test": (output) => drawTest(testMcpServer.output.parse(output)),
  "repos list": (output, look) => drawRepos(listRepos.output.parse(output), look),
  "repos diff": (output, look) => drawDiff(viewDiff.output.parse(output), look),
  "repos push": (output) => {
    const { branch, pushedTo } = pushBranch.output.parse(output);
    return `${branch} is pushed to the branch ${pushedTo ?? branch} of the origin.`;
  },
};

function drawTest({ name, status, says, tools }: Output<typeof testMcpServer>): string {
  const words = { works: "works", fails: "does not work", running: "is still being tested" };
  return [
    `${styled("bold", name)} ${words[status]}. ${says}`,
    ...labelled({ Tools: tools.map((tool) => tool.name).join(", ") }),
    ...(status === "works" ? [`To let an agent use it: agency access grant <agent> mcp:${name}`] : []),
  ].join("\n");
}

function drawRepos({ repos }: Output<typeof listRepos>, look: Drawing): string {
  if (repos.length === 0) return emptyList("repos");
  return repos
    .map(({ name, url, defaultBranch, fetchedAt, trouble, published, unpublished }) =>
      [
        styled("bold", name),
        ...labelled({
          Origin: url,
          Branch: defaultBranch ?? "none: the repository is empty",
          Fetched: fetchedAt === null ? "never" : when(fetchedAt, look.now),
          Trouble: trouble,
        }),
        ...published.flatMap(({ branch, by, commits, message, pushedTo }) => [
          `  ${branch}: ${plural(commits, "commit")} of ${by.name}${pushedTo === null ? "" : `, pushed to ${pushedTo}`}`,
          `    │ ${indented(message)}`,
          `    agency repos diff ${name} ${branch}`,
        ]),
        ...unpublished.flatMap(({ id, branch, by, commits, at }) => [
          `  ${branch}: ${plural(commits, "commit")} of ${by.name}, not published (${when(at, look.now)})`,
          `    agency repos discard ${name} ${id}`,
        ]),
      ].join("\n"),
    )
    .join("\n\n");
}

function drawDiff(shown: Output<typeof viewDiff>, look: Drawing): string {
  const { branch, by, message, publishedAt, files, log, diff, truncated } = shown;
  return [
    `${styled("bold", branch)}, published ${when(publishedAt, look.now)} by ${by.name}`,
    `    │ ${indented(message)}`,
    "",
    ...log.map(({ commit, author, subject }) => `${commit.slice(0, 9)} ${subject} (${author})`),
    ...files.map(({ path, added, removed }) =>
      added === null ? `  ${path} (not a text)` : `  ${path} +${added} -${removed ?? 0}`,
    ),
    "",
    diff.trimEnd(),
    ...(truncated ? ["", "The diff is longer than what is shown here."] : []),
  ].join("\n");
}
