import { Argument, type Command } from "commander";
import { listAgents } from "../contract/agents.ts";
import { listApprovals } from "../contract/approvals.ts";
import { listCompanies } from "../contract/companies.ts";
import { listOutcomes } from "../contract/outcomes.ts";
import { chosenCompany } from "./where.ts";
import { clientOf, companyOf, type Context } from "./terminal.ts";
import { example } from "./texts.ts";

/**
 * `agency completion <shell>` prints a script for the shell. At each Tab the script runs `agency complete -- <words>`, which
 * prints the possible next words, one per line: commands, flags, choices, and the names of agents, companies, outcomes and
 * requests.
 */
const scripts: Readonly<Record<string, string>> = {
  bash: `_agency() {
  local IFS=$'\\n'
  COMPREPLY=($(agency complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _agency agency`,
  zsh: `#compdef agency
_agency() {
  local -a found
  found=("\${(@f)$(agency complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\\\:/g; s/\\t/:/')}")
  [[ -n "$found" ]] && _describe 'agency' found || _files
}
compdef _agency agency`,
  fish: `function __agency_complete
  set -l found (agency complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c agency -f -a '(__agency_complete)'`,
};

const where: Readonly<Record<string, string>> = {
  bash: 'eval "$(agency completion bash)" in ~/.bashrc',
  zsh: 'eval "$(agency completion zsh)" in ~/.zshrc, after compinit',
  fish: "agency completion fish > ~/.config/fish/completions/agency.fish",
};

export function addCompletion(program: Command, context: Context): void {
  const { terminal } = context;
  program
    .command("completion")
    .description("Print the script that completes commands and names with Tab.")
    .addArgument(new Argument("<shell>", "Your shell.").choices(Object.keys(scripts)))
    .addHelpText("after", example(...Object.values(where)))
    .action((shell: string) => terminal.exact(`# To use it: ${where[shell] ?? ""}\n${scripts[shell] ?? ""}`));
  program
    .command("complete", { hidden: true })
    .description("Print the words that can come next on a command line.")
    .argument("[words...]")
    .allowUnknownOption()
    .addHelpText("after", example("agency complete -- agents pa"))
    .action(async (words: string[]) => {
      const { commandsOf } = await import("./run.ts");
      const found = await candidates(context, commandsOf(context, words), words);
      if (found.length > 0) terminal.out(found.join("\n"));
    });
}

async function candidates(context: Context, program: Command, words: readonly string[]): Promise<string[]> {
  const last = words.at(-1) ?? "";
  let command = program;
  const given: string[] = [];
  let flag: string | undefined;
  for (const word of words.slice(0, -1)) {
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (flag !== undefined) flag = undefined;
    else if (word.startsWith("-")) {
      const option = command.options.find(({ long, short }) => long === word || short === word);
      if (option !== undefined && (option.required || option.optional)) flag = word;
    } else if (given.length === 0 && child !== undefined) command = child;
    else given.push(word);
  }
  const fits = (one: string): boolean => one.toLowerCase().startsWith(last.toLowerCase());
  const option =
    flag === undefined
      ? undefined
      : command.options.find(({ long, short }) => long === flag || short === flag);
  if (option !== undefined)
    return [...(option.argChoices ?? []), ...(await names(context, option.attributeName()))].filter(fits);
  if (last.startsWith("-"))
    return command.options
      .filter(({ hidden, long }) => !hidden && long != null && long.startsWith(last))
      .map(({ long, description }) => line(long ?? "", description));
  const verbs =
    given.length > 0
      ? []
      : program
          .createHelp()
          .visibleCommands(command)
          .map((one) => ({ name: one.name(), says: one.summary() || one.description() }))
          .filter(({ name }) => fits(name) && (name !== "help" || command === program))
          .map(({ name, says }) => line(name, says));
  const list = command.commands.length > 0 ? undefined : command;
  const argument =
    list?.registeredArguments[Math.min(given.length, (list?.registeredArguments.length ?? 1) - 1)];
  if (argument === undefined) return verbs;
  const noun = argument.name() === "id" ? nounOfParent(command) : argument.name();
  return [
    ...verbs,
    ...(argument.argChoices ?? []).filter(fits),
    ...(await names(context, noun)).filter(fits),
  ];
}

/** `agents pause <id>` takes an agent. */
const nounOfParent = (command: Command): string => command.parent?.name() ?? "";

const line = (name: string, says: string): string => `${name}\t${says.split("\n")[0] ?? ""}`;

/** The names of the present things of a kind. Empty without a daemon. */
async function names(context: Context, noun: string): Promise<string[]> {
  const kind = Object.entries(kinds).find(([, words]) => words.includes(noun))?.[0];
  if (kind === undefined) return [];
  try {
    const client = clientOf(context.env);
    if (kind === "company")
      return (await client.call(listCompanies, { limit: 200 })).companies.map(({ slug, name }) =>
        line(slug, name),
      );
    const companyId = await companyOf(client, chosenCompany(context.env));
    if (kind === "agent")
      return (await client.call(listAgents, { companyId, limit: 500 })).agents
        .filter(({ status }) => status !== "terminated")
        .map(({ slug, role }) => line(slug, role));
    const things =
      kind === "approval"
        ? (await client.call(listApprovals, { companyId, status: "pending", limit: 100 })).approvals
        : (await client.call(listOutcomes, { companyId, limit: 100 })).outcomes;
    await context.shorts.learn(JSON.stringify(things.map(({ id }) => id)));
    return things.map(({ id, title }) => line(context.shorts.short(id), title));
  } catch {
    return [];
  }
}

/** The names of arguments and flags that take a thing. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  agent: ["agent", "agents", "to", "boss", "reportsTo", "into", "ids", "as", "with", "owner"],
  company: ["company"],
  outcome: ["outcome", "outcomes", "goal", "goals", "parents", "dependsOn", "decide"],
  approval: ["approval", "approvals", "request", "approve", "reject", "comment", "revise"],
};
