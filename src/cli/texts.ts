import { commandsThatList } from "../contract/listing.ts";
import { conflict, invalid, Refusal, refused, tooLarge } from "../contract/refusal.ts";
import { didYouMean } from "../contract/nearest.ts";
import { plural } from "../contract/phrases.ts";

/**
 * Texts that several commands share, and every refusal of the command line itself. The description of a command is in the
 * command's own file, beside its flags.
 */
export const companyFlag = [
  "--company <company>",
  "Company to use: id, name or slug. Default: AGENCY_COMPANY, then `agency use`, then the only company.",
] as const;
export const jsonFlag = ["--json", "Print the result as JSON."] as const;

/** Shown below the flags of a command. */
export const example = (...commands: readonly string[]): string =>
  `\n${commands.length === 1 ? "Example" : "Examples"}:\n${commands.map((command) => `  ${command}`).join("\n")}`;

export const asFlag = [
  "--as <agent>",
  "Act from a position you hold: an agent's id or slug. Same as AGENCY_AS. Needed with several positions.",
] as const;

export const ownerHasLeft =
  'The owner of the board token in this home is not on the board any more. Ask a board person to add you, then: agency sign-in "<link>".';

export const howToSignIn =
  "To sign in to the dashboard, run `agency open`. Without a browser on this machine: agency open --print";

export const orSignIn =
  'If it runs elsewhere, sign in with a link that a board person gave you: agency sign-in "<link>"';

export const notSignedIn = () =>
  refused("This command line is not signed in.", 'Sign in with a link: agency sign-in "<link>".');

export const nounHelp: Readonly<Record<string, string>> = {
  companies: "Create companies and change their settings.",
  people: "Add, change and remove people: the board, members and viewers.",
  agents: "Manage agents and their API keys.",
  brains: "List, test and choose the brains that run agents.",
  goals: "Give a company goals, list them, and limit what they may cost.",
  providers: "List and remove the providers of models.",
  kb: "Read, write and search the knowledge base.",
  outcomes: "Create, delegate and review outcomes (goals and tasks).",
  mail: "Track, cancel and acknowledge messages.",
  skills: "Manage the skills agents can read (folders with a SKILL.md).",
  servers: "Add, import, list, test and remove the MCP servers that agents may use.",
  secrets: "Set, list and remove the secrets that configurations refer to by name.",
  sessions: "See the sessions of agents and their transcripts.",
  access: "Grant, revoke and explain access rights.",
  approvals: "List and manage requests that need a decision.",
  reorg: "Plan, apply and undo changes of the reporting lines.",
  repos: "Add git repositories, and see and push the branches that agents published.",
  audit: "Read and verify the record of everything that happened.",
};

export const serverTestFails = (server: string, says: string): string =>
  `does not work (${says.replace(/\.$/, "")}). Start or correct the server, then test it: agency servers test ${server}`;

export const toolsDiffer = (server: string, tools: readonly string[]): string =>
  `it describes ${tools.join(", ")} differently since the last test. If that is right, accept it: agency servers test ${server}`;

export const secretAsArgument = (name: string) =>
  invalid(
    "A secret's value is never an argument: other users of this machine can see the arguments of commands.",
    `Run \`agency secrets set ${name}\` and type the value, or pipe it: agency secrets set ${name} < file`,
  );

export const secretIsSet = (
  { name, kept }: { readonly name: string; readonly kept: string },
  home: string,
): string =>
  kept === "encrypted"
    ? `${name} is set, and stored encrypted.`
    : kept === "given"
      ? `${name} is set. The value that was given to the daemon at start is used instead.`
      : `${name} is set until the daemon stops, because there is no secrets key. To keep it: openssl rand -hex 32 > ${home}/secrets-key; chmod 600 ${home}/secrets-key; then restart the daemon.`;

/** A heading and its lines, or nothing if there are none. */
export const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${line}`)];

export const howToDecide = (id: string): string =>
  `Approve it:   agency approve ${id}\nReject it:    agency reject ${id}\nSend it back: agency revise ${id} "<what should change>"`;

export const boardDecidesHire = (id: string): string =>
  `The board decides about the request, and you get a message then. To see its state: agency approvals show ${id}`;

/** The question before a decision on a request that was just shown. */
export const decideQuestion: Readonly<Record<string, string>> = {
  "approval.approve": "Approve? [y/N] ",
  "approval.reject": "Reject? [y/N] ",
  "approval.request_revision": "Ask for a revision? [y/N] ",
};

export const notDecided = (id: string) =>
  refused("Nothing was decided.", `Look at the request again: agency approvals show ${id}`);

export const lookAgain = (message: string, id: string) =>
  conflict(
    `${message} Nothing was decided.`,
    `Look at the request again: agency approvals show ${id}. Then repeat the command.`,
  );

export const notAPort = (value: string, variable = "AGENCY_PORT") =>
  invalid(`${variable} is "${value}", which is not a port.`, "Use a number from 0 to 65535.");

export const notNodeSessions = (value: string) =>
  invalid(
    `--node-sessions is "${value}", which is not a number of sessions.`,
    "Give a whole number from 1, or leave the flag out for no limit. With --no-agents, the node starts no sessions.",
  );

export const notDrainSeconds = (value: string) =>
  invalid(
    `AGENCY_DRAIN_SECONDS is "${value}", which is not a number of seconds.`,
    "Give the seconds that running sessions have to save their state when Agency stops, or leave it out for 30.",
  );

export const badLimits = (why: string) =>
  invalid(
    `AGENCY_LIMITS is not valid. ${why}`,
    `Use JSON, such as {"callsAtOnce":64}. The guide limits.md lists all limits.`,
  );

export const notANumber = (flag: string) =>
  invalid(`--${flag} is not a whole number.`, `Use a number, such as --${flag} 42.`);

export const notSeconds = () =>
  invalid("--seconds is not a number between 0 and 600.", "Use a number, such as --seconds 2.");

/** The text for an empty list, with the next step. */
const whenEmpty: Readonly<Record<string, string>> = {
  agents: "No agents match.",
  approvals: "No requests. When an agent asks for something that only people decide, it is listed here.",
  outcomes: 'No outcomes match. To start work: agency run "<what you want done>"',
  messages: "No messages. To write to an agent: agency send <text> --to <agent>",
  files: "No files. To add some: agency kb add <paths>",
  sessions: "No sessions match. A session starts when an agent has work: agency tree",
  skills: "No skills. To add one: agency skills add <folder>",
  secrets: "No secrets. To set one: agency secrets set <name>",
  servers: "No MCP servers. To add one: agency servers add <name> --config <json>",
  repos: "No repositories. To add one: agency repos add <name> <url>",
  companies: "No companies. To create one: agency companies create <name>",
  keys: "No keys. To create one: agency agents key <agent>",
  reorganizations:
    "No changes of the reporting lines yet. To move an agent: agency reorg move <agent> <manager>",
  requests: "No requests for rights.",
  grants: "No rights were granted.",
  budgets: "No budgets are set. To limit a month: agency companies update --monthly-budget 50",
};

export const emptyList = (name: string): string =>
  whenEmpty[name] ?? `No ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}.`;

export const notAnId = (noun: string, given: string, similar: readonly string[] = []) =>
  invalid(
    `\`${given}\` is not ${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}.`,
    similar.length > 0
      ? `Did you mean one of these?\n${similar.map((one) => `  ${one}`).join("\n")}`
      : commandsThatList(noun).length === 0
        ? "Use an id."
        : `Run ${commandsThatList(noun).join(" or ")} to see them.`,
  );

export const severalOfThem = (noun: string, given: string, ids: readonly string[]) =>
  invalid(`Several ${noun}s are called "${given}".`, `Use one of these: ${ids.join(", ")}.`);

export const noSuchAgent = (name: string, known: readonly string[]) =>
  new Refusal(
    "not_found",
    `There is no agent called "${name}".`,
    [didYouMean(name, known), "Run `agency org` to see the agents."].filter((part) => part !== "").join(" "),
  );

export const severalAgents = (name: string, ids: readonly string[]) =>
  invalid(`Several agents are called "${name}".`, `Use one of their ids: ${ids.join(", ")}.`);

export const noCompanyYet = () =>
  invalid("There is no company yet.", "Create one: agency companies create <name>");

export function whichCompany(
  wanted: string | undefined,
  companies: readonly { readonly id: string; readonly name: string }[],
  isAmbiguous = false,
): Refusal {
  const shown = companies.slice(0, 10).map(({ id, name }) => `${name} (${id})`);
  const list = `${shown.join(", ")}${companies.length > shown.length ? ", …" : ""}`;
  if (wanted === undefined)
    return invalid(
      "There are several companies, and the command names none.",
      `Add --company <company>, or choose one with agency use <company>. Companies here: ${list}.`,
    );
  if (isAmbiguous) return invalid(`Several companies are called "${wanted}".`, `Use an id instead: ${list}.`);
  return invalid(
    `There is no company called "${wanted}".`,
    companies.length === 0
      ? "Create one: agency companies create <name>"
      : [
          didYouMean(
            wanted,
            companies.map(({ name }) => name),
          ),
          `Companies here: ${list}.`,
        ]
          .join(" ")
          .trim(),
  );
}

export const rootIsPaused = (id: string) =>
  refused("The root agent is paused, so it can't take a goal.", `Resume it: agency agents resume ${id}`);

export const hireNeeds = () =>
  invalid(
    "To hire an agent, give its name and its role.",
    "For example: agency hire Vera --role Writer. On a terminal, `agency hire` asks for them.",
  );

export const notifyFailed = (why: string): string =>
  `The notify command failed, so you were not notified: ${why} To see what needs you: agency attention`;

export const yourAnswersStay =
  "Your answers are kept. Enter keeps an answer, `none` empties it, and Ctrl-C gives up.";

export const notJson = (argument: string) =>
  invalid(
    `The argument ${argument} is not JSON.`,
    `Write it in single quotes, such as '{"kind":"fire","agent":"ada"}'. GET /api/openapi.json describes its fields.`,
  );

export const nothingToAdd = (paths: readonly string[], skipped: readonly { path: string; why: string }[]) =>
  invalid(
    `There is nothing to add in ${paths.join(", ")}.`,
    skipped.length === 0
      ? "Hidden and ignored files are skipped. To add one of them, name the file itself."
      : skipped
          .slice(0, 5)
          .map(({ path, why }) => `${path}: ${why}.`)
          .join(" "),
  );

export const fileTooLarge = (size: number, most: number) =>
  tooLarge(`The file has ${size} bytes. The maximum is ${most}.`, "Split it into several files.");

export const wouldOverwrite = (
  paths: readonly string[],
  hint = "Choose another path with --to, or add --force to overwrite.",
) =>
  conflict(
    `${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ` and ${paths.length - 5} more` : ""} ${paths.length === 1 ? "exists" : "exist"} already. Nothing was written.`,
    hint,
  );

export const noResultYet = (id: string, all: boolean) =>
  new Refusal(
    "not_found",
    `The outcome ${id} has no result and no deliverables yet.`,
    all
      ? `To see what the outcome waits for: agency why ${id}`
      : "Add --all to save those of the outcomes below it.",
  );

export const noFolder = (folder: string, which: string) =>
  invalid(`There is no folder ${folder}.`, `Name ${which}.`);

export const folderNotEmpty = (folder: string) =>
  conflict(`${folder} is not empty.`, "Name a new or an empty folder.");

export const folderTooDeep = (folder: string, most: number) =>
  invalid(`${folder} is nested too deeply.`, `A skill can have ${most} levels of folders.`);

export const folderTooLarge = (most: number, file: string) =>
  tooLarge(
    `The folder holds more than ${most / 1024 / 1024} MB, the maximum (reached at ${file}).`,
    "Remove the largest files and add them afterwards.",
  );

export const fileOutsideFolder = (path: string) =>
  invalid(
    `The daemon returned a file outside the folder: ${path}. Nothing more was written.`,
    "Check that AGENCY_URL points to the right daemon.",
  );

export const notPlain = (path: string, what: "file" | "folder") =>
  invalid(
    `${path} is not a plain ${what}.`,
    `Links, pipes and devices are not followed. Put the ${what} itself there.`,
  );

export const notConnected = (program: string) =>
  refused(`${program} is not connected.`, `Connect it: agency connect ${program}`);

export const programFails = (name: string, install: string, error: unknown) => {
  const { code, stderr, message } = Object(error);
  return code === "ENOENT"
    ? refused(`${name} is not installed.`, `Install it with: ${install}`)
    : refused(
        `${name} did not take the server: ${String(stderr || message)
          .trim()
          .slice(0, 500)}`,
        "Fix this, then run the command again.",
      );
};

export const onlyRehearsing =
  "There is no model: the agents only rehearse. They go through every step with sample files. To choose a model: agency brains";

export const continues = (id: string, stopsWithUs: boolean): string =>
  stopsWithUs
    ? `You stopped watching, and the daemon that this command started stops now. The work continues when it runs again: agency up. Then: agency follow ${id}`
    : `You stopped watching. The work continues.\nFollow it: agency follow ${id}\nStop it:   agency cancel ${id}`;

export const howToDecideResult = (id: string): string =>
  `Accept it:    agency decide ${id} pass\nSend it back: agency decide ${id} rework --note "<what is missing>"`;

export const stillOpen = (count: number, id: string): string =>
  `Nothing moves until a person decides: ${count === 1 ? "1 item needs" : `${count} items need`} you (see above). Then: agency follow ${id}`;

export const noGoalYet = () =>
  invalid("There is no goal yet.", 'Create one: agency run "<what you want done>"');

export const notDollars = (given: string) =>
  invalid(`\`${given}\` is not an amount of money.`, "Use dollars above 0, such as --max-usd 2.50.");

export const noDaemonLog = (file: string) =>
  new Refusal(
    "not_found",
    `There is no log at ${file}.`,
    "Only a daemon that was started with `agency up --detach` writes one. Other daemons print to their terminal.",
  );

export const noServiceManager = (program: string, why: string) =>
  refused(
    `${program} failed: ${why.trim().slice(0, 500)}`,
    "The service file is written, but not started. Without systemd or launchd, use: agency up --detach",
  );

export const noSuchTopic = (given: string, meant: string, topics: readonly string[]) =>
  invalid(
    `There is no command or topic \`${given}\`. ${meant}`.trim(),
    `Topics: ${topics.join(", ")}. All commands: agency --help`,
  );

export const noDatabaseYet = () =>
  refused(
    "The database does not answer, so Agency did not start.",
    "Start PostgreSQL, or check its address: agency doctor. Then start Agency again.",
  );

export const didNotStart = (why: string) => refused("Agency did not start.", why);

export const startsSlowly = (pid: number, log: string) =>
  refused(
    `Agency has not answered within 30 seconds. It is still starting, as process ${pid}.`,
    `Look at its log: ${log}. To give up: kill ${pid}`,
  );

export const waitsForStop = (pid: number, seconds: number): string =>
  `Process ${pid} lets its running sessions end first. Waiting up to ${plural(seconds, "second")}…`;

export const stopsSlowly = (pid: number, seconds: number) =>
  refused(
    `Agency has not stopped within ${plural(seconds, "second")}. It still runs, as process ${pid}.`,
    "Wait longer with --seconds, or kill it: agency stop --force",
  );

export const notStopSeconds = (given: string) =>
  refused(
    `--seconds is ${given}, which is not a number of seconds.`,
    "Give a number from 0 on: --seconds 90",
  );

export const storesAsSecrets = (names: readonly string[]): string =>
  `These values are stored as secrets, and the servers refer to them by name: ${names.join(", ")}. Import? [y/N] `;

export const nothingImported = "Nothing was imported.";

export const notAServer = (name: string): string =>
  `${name} is not a server that Agency can use: it needs a command or an http URL, and a plain name.`;

export const notAnMcpFile = (file: string): string => `${file} has no MCP servers as JSON.`;

export const mcpFileLooks = 'It must look like {"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}.';

export const importedServers = (
  imported: readonly { name: string; secrets: readonly string[]; named: readonly string[] }[],
  refused: readonly { name: string; says: string }[],
): string =>
  [
    ...imported.map(
      ({ name, secrets, named }) =>
        `Added ${name}.${secrets.length === 0 ? "" : ` Stored as secrets: ${secrets.join(", ")}.`}${named.length === 0 ? "" : ` Set if missing: ${named.map((one) => `agency secrets set ${one}`).join("; ")}.`}`,
    ),
    ...refused.map(({ name, says }) => `Left out ${name}: ${says}`),
    ...(imported.length === 0
      ? []
      : [
          "Check one: agency servers test <name>. Let an agent use it: agency access grant <agent> mcp:<name>",
        ]),
  ].join("\n");
export const noSuchBrain = (type: string, types: readonly string[]) =>
  invalid(
    `There is no brain called "${type}". ${didYouMean(type, types)}`.trim(),
    `Brains: ${types.join(", ")}. \`agency brains\` says which work here.`,
  );
export const addCheckout = (name: string, url: string): string =>
  `This folder is a checkout of ${url}. Let the agents clone it as the repository ${name}? [y/N] `;
export const checkoutAdded = (name: string): string =>
  `Added the repository ${name}. The root agent can read it and grant that right to others.\n`;
export const howToAddCheckout = (name: string, url: string): string =>
  `This folder is a checkout of ${url}. To let agents work on it: agency repos add ${name} ${url}\n`;

export const notAStore = (given: string) =>
  refused(
    `\`${given}\` is not a place for data.`,
    "Use --to postgres://user@host/database, or --to sqlite for the home folder.",
  );
