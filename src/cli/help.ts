import type { Command } from "commander";
import { didYouMean } from "../contract/nearest.ts";
import type { Context } from "./terminal.ts";
import { example, noSuchTopic } from "./texts.ts";

/** The groups of the first screen, with their commands. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "Start:": ["up", "stop", "status", "open", "doctor", "logs", "nodes", "service"],
  "Give work:": ["run", "follow", "cancel", "goals", "send", "inbox", "done"],
  "Decide:": ["attention", "approvals", "approve", "reject", "revise", "comment", "decide"],
  "Look:": ["org", "tree", "why", "outcomes", "unblock", "sessions", "search", "counts", "costs", "budgets"],
  "Organization:": ["agents", "hire", "fire", "reorg", "brains", "skills", "access", "people", "companies"],
  "Files:": ["kb", "save", "results", "export", "import"],
};

export const groupOf = (name: string): string =>
  Object.entries(groups).find(([, names]) => names.includes(name))?.[0] ?? "More:";

export const firstScreenEnd = [
  example("agency up", 'agency run "Write a one-page guide to baking bread"'),
  "",
  "Names, slugs and short ids such as O41 work wherever an id does. Every command takes --help, and --json",
  "for programs. To read about concepts, brains, approvals or budgets: agency help <topic>",
].join("\n");

const topics: Readonly<Record<string, string>> = {
  concepts: `An agent is a durable member of a company: it has a role, a manager, rights and a brain.
A session is one short run of an agent's brain. It starts when the agent has work, and ends by itself.
An outcome is a result that should become true. Outcomes form a tree: the children of one say how, its parents say why.
A goal is an outcome that you want. The root agent divides it, hires and delegates; you accept the result.
The board is you: the people who govern a company. The root agent reports to the board.

  agency run "<goal>"   give the company a goal and follow it
  agency org            the reporting lines
  agency tree           the outcomes, and who is responsible
  agency why <name>     why something is or isn't moving`,
  brains: `A brain thinks for an agent. It is a program such as Claude Code or Codex, a model behind an API, a person
(\`human\`), your own program (\`process\`), or a rehearsal without a model.

  agency brains                 the brains, and whether each could work
  agency brains test <type>     test a brain with its key and model
  agency brains use <type>      choose the brain of the root agent and of later hires
  agency hire <name> --brain <type>   choose one for a new agent`,
  approvals: `Agents ask the board before they hire, and before other changes that only people decide. Nothing happens until you do.
What you approve is exactly what runs: a decision carries the hash of the request that was shown to you.

  agency approvals              all requests
  agency approvals show A7      the changes of a request, and its comments
  agency approve A7             approve the request; the change takes effect immediately
  agency reject A7              reject the request for good
  agency revise A7 "<note>"     send the request back, to be changed and resubmitted`,
  budgets: `Money is limited in three places. At a limit the work stops, and you are told.

  agency run "<goal>" --max-usd 2                 one goal
  agency agents budget <agent> --usd 20           an agent and its team, monthly
  agency companies update --monthly-budget 50     the company, monthly
  agency companies update --monthly-budget none   no limit any more
  agency costs --by outcome                       the costs of each outcome`,
};

/** `agency help`, `agency help <command>` and `agency help <topic>`. */
export function addHelp(program: Command, { terminal }: Context): void {
  program
    .command("help")
    .description(`Show the help of a command, or read about ${Object.keys(topics).join(", ")}.`)
    .argument("[words...]", "A command, or a topic.")
    .addHelpText("after", example("agency help budgets", "agency help agents pause"))
    .action((words: string[]) => {
      const [first] = words;
      if (first === undefined) return terminal.out(program.helpInformation());
      let command: Command | undefined = program;
      for (const word of words)
        command = command?.commands.find((one) => one.name() === word || one.aliases().includes(word));
      const topic = words.length === 1 ? topics[first] : undefined;
      if (topic !== undefined) terminal.out(topic);
      if (command !== undefined) {
        if (topic !== undefined) terminal.out("");
        command.outputHelp();
      } else if (topic === undefined) {
        const known = [...new Set([...Object.keys(topics), ...program.commands.map((one) => one.name())])];
        throw noSuchTopic(words.join(" "), didYouMean(first, known), Object.keys(topics));
      }
    });
}
