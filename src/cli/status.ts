import type { Command } from "commander";
import type { viewAttention } from "../contract/attention.ts";
import { isPressing } from "../contract/pressing.ts";
import type { listCosts } from "../contract/budgets.ts";
import type { listCompanies } from "../contract/companies.ts";
import type { viewInstallation } from "../contract/installation.ts";
import type { Output } from "../contract/operation.ts";
import type { listSessions } from "../contract/sessions.ts";
import { dollars, plural, thousands } from "../contract/phrases.ts";
import { briefly, cut, lasting, type Drawing, padded, stated, styled, widthOf } from "./look.ts";
import type { Context } from "./terminal.ts";
import { askDaemon, chosenCompany, homeOf, urlOf } from "./where.ts";

/**
 * `agency` and `agency status`: the state of the company and the next steps, on one page. People type this most, so it loads
 * nothing but this file and asks the daemon four questions at once.
 */
export interface StatusPage {
  readonly company: Pick<Output<typeof listCompanies>["companies"][number], "id" | "name" | "slug" | "state">;
  readonly url: string;
  readonly daemon: Pick<Output<typeof viewInstallation>, "version" | "startedAt"> | null;
  readonly working: readonly Pick<
    Output<typeof listSessions>["sessions"][number],
    "id" | "agent" | "startedAt" | "outcome"
  >[];
  readonly spending: Pick<Output<typeof listCosts>, "month" | "total" | "budget">;
  readonly attention: Output<typeof viewAttention>;
}

export function addStatus(program: Command, context: Context): void {
  program
    .command("status")
    .description("Show the company's state: working agents, spending, items that need you, and stuck work.")
    .option("--company <company>", "Company to use: id, name or slug.")
    .option("--json", "Print the result as JSON.")
    .addHelpText("after", "\nExample:\n  agency status\n\n`agency` alone shows the same page.")
    .action(async (flags: { company?: string; json?: true }) => {
      const status = await statusOf(context.env, flags.company);
      if (status === undefined) {
        // If anything is wrong, the first call of every command reports it.
        const { clientOf, findCompany } = await import("./terminal.ts");
        await findCompany(clientOf(context.env), flags.company);
        throw new Error("The daemon answered only in part. Try again.");
      }
      if (flags.json === true) return context.terminal.out(JSON.stringify(status));
      await context.shorts.learn(JSON.stringify(status.attention));
      context.terminal.out(
        drawStatus(status, {
          columns: context.terminal.columns ?? 100,
          now: Date.now(),
          short: context.shorts.short,
        }),
      );
    });
}

/** Undefined if the daemon does not answer everything, or if the company is not clear. */
export async function statusOf(env: NodeJS.ProcessEnv, wanted?: string): Promise<StatusPage | undefined> {
  // The daemon starts on this question while the first one is under way.
  const asked = answerOf<typeof viewInstallation>(env, "/api/installation", "version");
  const listed = await answerOf<typeof listCompanies>(env, "/api/companies?limit=1000", "companies");
  const name = (wanted ?? chosenCompany(env))?.toLowerCase();
  const found = (listed?.companies ?? []).filter(
    (one) => name === undefined || [one.id, one.slug, one.name.toLowerCase()].includes(name),
  );
  const [company] = found;
  if (company === undefined || found.length > 1) return undefined;
  const of = `/api/companies/${company.id}`;
  const [attention, sessions, spending, daemon] = await Promise.all([
    answerOf<typeof viewAttention>(env, `${of}/attention?limit=20`, "items"),
    answerOf<typeof listSessions>(env, `${of}/sessions?live=true&limit=20`, "sessions"),
    answerOf<typeof listCosts>(env, `${of}/costs?limit=1`, "total"),
    asked,
  ]);
  if (attention === undefined || sessions === undefined || spending === undefined) return undefined;
  const { id, slug, state } = company;
  const { month, total, budget } = spending;
  return {
    company: { id, name: company.name, slug, state },
    url: urlOf(env),
    daemon: daemon === undefined ? null : { version: daemon.version, startedAt: daemon.startedAt },
    working: sessions.sessions.map(({ id: session, agent, startedAt, outcome }) => ({
      id: session,
      agent,
      startedAt,
      outcome,
    })),
    spending: { month, total, budget },
    attention,
  };
}

/**
 * The daemon checks its answers against the contract before it sends them. Loading the schemas here would take longer than the
 * questions. Without the field, the answer comes from another program.
 */
async function answerOf<Op>(
  env: NodeJS.ProcessEnv,
  path: string,
  field: string & keyof Output<Op>,
): Promise<Output<Op> | undefined> {
  const answer = await askDaemon(env, path);
  return isAnswer<Output<Op>>(answer, field) ? answer : undefined;
}

const isAnswer = <T>(answer: unknown, field: string & keyof T): answer is T =>
  typeof answer === "object" && answer !== null && field in answer;

type Item = StatusPage["attention"]["items"][number];

/** Whether the item is stuck because of a fault. All other items are questions to a person. */
const isStuck = ({ kind }: Item): boolean => ["stall", "budget", "brain", "mail"].includes(kind);

export function drawStatus(
  { company, url, daemon, working, spending, attention }: StatusPage,
  look: Drawing,
): string {
  const { pressing, health, notes } = attention;
  const items = attention.items.filter(isPressing);
  const uptime = daemon === null ? "" : `, up for ${lasting(look.now - Date.parse(daemon.startedAt))}`;
  const head = `${styled("bold", company.name)}${company.state === "active" ? "" : ` (${stated(company.state)})`}`;
  const where = styled("dim", `${url}${uptime}`);
  const gap = look.columns - widthOf(head) - widthOf(where);
  const money = spending.budget.find(({ measure }) => measure === "usd");
  const limit =
    money === undefined || money.limit === null ? "no monthly budget" : `of ${dollars(money.limit)}`;
  const { costUsd, inputTokens, outputTokens, sessions } = spending.total;
  const questions = items.filter((item) => !isStuck(item));
  return [
    gap < 2 ? `${head}\n${where}` : `${head}${" ".repeat(Math.min(gap, 40))}${where}`,
    "",
    ...(working.length === 0
      ? ["Working   no agent right now"]
      : working.map(({ agent, startedAt, outcome }, at) => {
          const time = briefly(look.now - Date.parse(startedAt));
          const what = outcome?.title ?? "its inbox";
          const line = `${styled("green", agent.name)}: ${cut(what, Math.max(20, look.columns - widthOf(agent.name) - 20))} (${time})`;
          return `${padded(at === 0 ? "Working" : "", 10)}${line}`;
        })),
    `Spent     ${dollars(costUsd)} ${limit} in ${spending.month}, ${thousands(inputTokens + outputTokens)} tokens, ${plural(sessions, "session")}`,
    `Outcomes  ${health.moving} moving, ${health.scheduled} scheduled, ${health.waitingForYou} waiting for you, ${health.stuck} stuck`,
    ...group(`Needs you (${questions.length})`, questions, look),
    ...group("Stuck", items.filter(isStuck), look),
    ...(pressing > items.length ? ["", `… and ${pressing - items.length} more: agency attention`] : []),
    ...notes.map(({ says }, at) => `${at === 0 ? "\nNote      " : "          "}${says}`),
    "",
    `Next      ${styled("cyan", look.short(nextStep(items, working.length > 0)))}`,
  ].join("\n");
}

function group(heading: string, items: readonly Item[], look: Drawing): string[] {
  if (items.length === 0) return [];
  return [
    "",
    styled("bold", heading),
    ...items.flatMap((item) => {
      const held = item.holdsUp.count === 0 ? "" : `, holds up ${plural(item.holdsUp.count, "outcome")}`;
      const kind = styled("yellow", item.kind);
      const title = cut(item.title, Math.max(20, look.columns - item.kind.length - held.length - 6));
      const why = isStuck(item) ? [`    ${styled("dim", cut(item.reason, look.columns - 4))}`] : [];
      const command = commandFor(item);
      return [
        `  ${kind} ${title}${held}`,
        ...why,
        ...(command === undefined
          ? []
          : [`    ${styled("cyan", cut(look.short(command), look.columns - 4))}`]),
      ];
    }),
  ];
}

/** A request is displayed before it is decided. */
const commandFor = ({ kind, subject, abilities }: Item): string | undefined =>
  kind === "approval"
    ? `agency approvals show ${subject.id ?? ""}`
    : (abilities.find(({ command }) => command !== null)?.command ?? undefined);

function nextStep(items: readonly Item[], isWorking: boolean): string {
  const [first] = items;
  if (first !== undefined) return commandFor(first) ?? "agency attention";
  return isWorking ? "agency logs -f" : 'agency run "<what you want done>"';
}

/** The page without the rest of the program. Undefined if the rest has to explain what is wrong. */
export async function quickStatus(env: NodeJS.ProcessEnv, look: Drawing): Promise<string | undefined> {
  const status = await statusOf(env);
  if (status === undefined) return undefined;
  const { ShortIds } = await import("./short-ids.ts");
  const shorts = new ShortIds(env);
  await shorts.learn(JSON.stringify(status.attention));
  return drawStatus(status, { ...look, short: shorts.short });
}

/** The text of `agency` alone if no daemon runs. */
export const notRunning = (env: NodeJS.ProcessEnv): string =>
  [
    `Agency is not running (home ${homeOf(env)}).`,
    "",
    "Start it:                agency up",
    "Start it in background:  agency up --detach",
    "See all commands:        agency --help",
  ].join("\n");
