import { type BudgetLine, type Cost, listBudgets, listCosts } from "../contract/budgets.ts";
import { viewAgent } from "../contract/agents.ts";
import { createCompany } from "../contract/companies.ts";
import { listEvents } from "../contract/ledger.ts";
import { listNodes } from "../contract/installation.ts";
import { listBrains, listConfigurations, testBrain, viewConfiguration } from "../contract/hiring.ts";
import type { Output } from "../contract/operation.ts";
import { dollars, plural, removedSentences, thousands } from "../contract/phrases.ts";
import { viewOrg } from "../contract/roster.ts";
import { search, viewCounts } from "../contract/finding.ts";
import { viewAttention } from "../contract/attention.ts";
import { isPressing } from "../contract/pressing.ts";
import { approvalScreens } from "./approvals.ts";
import { peopleScreens } from "./people.ts";
import { indented, show, table } from "./show.ts";
import { type Drawing, type Screens, stated, styled, when } from "./look.ts";
import { connectionScreens } from "./connection-screens.ts";
import { labelled, recordScreens } from "./record-screens.ts";
import { workScreens } from "./work-screens.ts";

/** The removed months. An agent's own list does not have them. */
const removedOf = (output: unknown) =>
  listEvents.output.pick({ removed: true }).safeParse(output).data?.removed ?? [];

/** Commands whose result needs more than the general table (show.ts). Each function gets the operation's output. */
export const screens: Screens = {
  ...peopleScreens,
  ...workScreens,
  ...connectionScreens,
  ...approvalScreens,
  ...recordScreens,
  attention: (output, look) => drawAttention(output, look),
  "companies create": (output) => {
    const { brain, name, slug } = createCompany.output.parse(output);
    return `${name} is created. To use it for all further commands: agency use ${slug}\n${brain.says}`;
  },
  ...Object.fromEntries(
    ["audit events", "audit agent", "audit mine"].map((command) => [
      command,
      (output: unknown, look: Drawing) =>
        [show(output, look, ["seq", "says", "operation", "at"]), ...removedSentences(removedOf(output))].join(
          "\n",
        ),
    ]),
  ),
  "kb access-log": (output, look) => [show(output, look), ...removedSentences(removedOf(output))].join("\n"),
  "providers list": (output, look) => show(output, look, ["name", "status", "says"]),
  "agents keys": (output, look) => show(output, look, ["id", "label", "createdAt", "lastUsedAt"]),
  "agents configurations": (output, look) =>
    show(
      {
        configurations: listConfigurations.output
          .parse(output)
          .configurations.map(({ agent, configuration }) => ({ agent, ...configuration })),
      },
      look,
      ["agent", "role", "reportsTo", "adapterType", "model", "budget"],
    ),
  "agents view": (output, look) => drawAgent(viewAgent.output.parse(output), look),
  "agents configuration": (output, look) => drawConfiguration(output, look),
  "brains test": (output) => drawBrainTest(testBrain.output.parse(output)),
  "brains list": (output, look) => drawBrains(listBrains.output.parse(output), look),
  costs: (output, look) => drawCosts(output, look),
  budgets: (output, look) => drawBudgets(output, look),
  org: (output) => drawOrg(viewOrg.output.parse(output)),
  search: (output, look) => drawSearch(output, look),
  counts: (output) => drawCounts(output),
  nodes: (output, look) => drawNodes(listNodes.output.parse(output), look),
};

function drawNodes({ nodes }: Output<typeof listNodes>, look: Drawing): string {
  const rows = nodes.map((node) => ({
    Node: `${node.name}${node.answering ? " (this one)" : ""}`,
    Address: node.address,
    State:
      node.state === "silent"
        ? `silent since ${when(node.heartbeatAt, look.now)}`
        : node.trouble === null
          ? "running"
          : `can't start sessions: ${node.trouble}`,
    Sessions:
      node.maxSessions === 0
        ? "starts none"
        : `${node.sessions} of ${node.maxSessions === null ? "any number" : node.maxSessions}`,
    Lacks: node.lacks.join(", ") || "-",
    Version: node.version,
    Started: when(node.startedAt, look.now),
  }));
  return table("nodes", rows, look);
}

function drawBrains({ brains }: Output<typeof listBrains>, look: Drawing): string {
  const rows = brains.map(({ type, available, version, says }) => ({
    Brain: type,
    State: available ? "available" : "not available",
    Version: version ?? "",
    Found: says,
  }));
  return `${table("brains", rows, look)}\n\nTo try one with its model: agency brains test <type>`;
}

function drawBrainTest(test: Output<typeof testBrain>): string {
  const { status, type, provider, model, says, remedy, tokens, costUsd, milliseconds } = test;
  if (status === "running") return `${type} has not answered yet. Test it again later.`;
  if (status === "fails")
    return [`${type} does not work. ${says}`, ...(remedy === "" ? [] : [remedy])].join("\n");
  if (provider === null) return `${type} works. ${says}`;
  const cost = costUsd < 0.01 ? `$${costUsd.toFixed(6)}` : dollars(costUsd);
  return `${type} works (${says}). ${model ?? "The model"} of ${provider} answered in ${(milliseconds / 1000).toFixed(1)} s with ${plural(tokens, "token")}, for ${cost}.`;
}

function drawCosts(output: unknown, look: Drawing): string {
  const { month, by, total, budget, storage, costs, days, nextCursor } = listCosts.output.parse(output);
  const below = by === "agent" ? "with its team" : "with its parts";
  return [
    `Spent in ${month}: ${costText(total)}`,
    "",
    table("budget", budget.map(budgetRow), look, budgetColumns),
    "",
    `Stored: ${megabytes(storage.bytes)} of ${megabytes(storage.maxBytes)}`,
    "",
    table(
      "costs",
      costs.map((cost) => ({
        [by]: cost.name,
        own: costText(cost.own),
        [below]: costText(cost.total),
      })),
      look,
      [by, "own", below],
    ),
    ...(nextCursor === null ? [] : [`For more, add: --cursor "${nextCursor}"`]),
    ...(days === undefined
      ? []
      : [
          "",
          table(
            "costs by day",
            days.map((day) => ({
              day: day.day,
              spent: costText(day.total),
              most: day.agents.map(({ name, costUsd }) => `${name} ${dollars(costUsd)}`).join(", "),
            })),
            look,
            ["day", "spent", "most"],
          ),
        ]),
  ].join("\n");
}

function drawBudgets(output: unknown, look: Drawing): string {
  const { month, budgets } = listBudgets.output.parse(output);
  const rows = budgets.flatMap(({ of, budget }) =>
    budget.map((line) => ({ of: of.title ?? of.id ?? "", ...budgetRow(line) })),
  );
  return `Budgets of ${month}\n\n${table("budgets", rows, look, ["of", ...budgetColumns])}`;
}

const budgetColumns = ["budget", "limit", "spent", "reserved", "given to reports", "left"];

function drawAgent(agent: Output<typeof viewAgent>, look: Drawing): string {
  const { name, slug, role, title, status, boss, reports, adapterType, model, effort, says, work } = agent;
  return [
    `${styled("bold", name)} (${[role, title].filter((word) => word !== null).join(", ")}) ${stated(status)}`,
    ...labelled({
      Now: says,
      Paused: agent.paused && `${when(agent.paused.since, look.now)}. ${agent.paused.reason ?? ""}`,
      Request: agent.approval?.id && `agency approvals show ${agent.approval.id}`,
      Session: agent.session && `agency sessions follow ${agent.session.id}`,
      Manager: boss?.name ?? "the board",
      Reports: reports.map((one) => one.name).join(", "),
      Brain: [adapterType, model, effort].filter((word) => word !== null).join(", "),
      Person: agent.person?.name,
      Can: agent.capabilities,
      "May hire": agent.permissions === null ? null : agent.permissions.canCreateAgents ? "yes" : "no",
      Work:
        work &&
        `${work.workable} ready, ${work.blocked} blocked, ${work.submitted} submitted, ${plural(work.inbox ?? 0, "message")}`,
      Spent: agent.cost && `${costText(agent.cost.own)}; with its team ${costText(agent.cost.total)}`,
      Reviews:
        agent.reviews &&
        `${agent.reviews.pass} passed, ${agent.reviews.rework} sent back, ${agent.reviews.escalated} escalated`,
      Hired: when(agent.createdAt, look.now),
      Left: agent.left && when(agent.left.at, look.now),
    }),
    ...(agent.budget === null || agent.budget.length === 0
      ? []
      : ["", table("budget", agent.budget.map(budgetRow), look, budgetColumns)]),
    "",
    `More: agency agents outcomes ${slug}, agency agents sessions ${slug}, agency access list ${slug}`,
  ].join("\n");
}

/** The brain's settings as JSON, because that is how they are set. */
function drawConfiguration(output: unknown, look: Drawing): string {
  const { agent, configuration, redactedPaths } = viewConfiguration.output.parse(output);
  return [
    `Configuration of ${agent.name}:`,
    look.short(JSON.stringify(configuration, null, 2)),
    ...(redactedPaths.length === 0 ? [] : [`Hidden, because they are secrets: ${redactedPaths.join(", ")}`]),
  ].join("\n");
}

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`;

function budgetRow({ measure, limit, spent, reserved, handedDown, left }: BudgetLine) {
  const text = (amount: number | null): string => {
    if (amount === null) return "no limit";
    return measure === "usd" ? dollars(amount) : measure === "tokens" ? thousands(amount) : String(amount);
  };
  return {
    budget: measure === "usd" ? "money" : measure,
    limit: text(limit),
    spent: text(spent),
    reserved: text(reserved),
    "given to reports": text(handedDown),
    left: text(left),
  };
}

const costText = ({ costUsd, inputTokens, outputTokens, sessions }: Cost): string =>
  `${dollars(costUsd)}, ${thousands(inputTokens + outputTokens)} tokens, ${plural(sessions, "session")}`;

function drawAttention(output: unknown, look: Drawing): string {
  const { items, total, pressing, health, notes } = viewAttention.output.parse(output);
  const { moving, scheduled, waitingForYou, stuck } = health;
  const shown = items
    .filter(isPressing)
    .flatMap(({ kind, title, reason, holdsUp, expires, by, abilities }) => [
      "",
      [
        styled("bold", `${kind}: ${title.replace(/\.$/, "")}`),
        ...(by === null
          ? []
          : [`${kind === "question" ? "from" : "requested by"} ${by.title ?? "an agent that has left"}`]),
        ...(holdsUp.count === 0 ? [] : [`holds up ${plural(holdsUp.count, "outcome")}`]),
        ...(expires === null ? [] : [`expires ${when(expires, look.now)}`]),
      ].join(", "),
      `    │ ${indented(reason)}`,
      ...abilities.flatMap(({ command }) => (command === null ? [] : [`  ${command}`])),
    ]);
  return [
    pressing === 0
      ? "Nothing needs you."
      : `${plural(pressing, "item")} ${pressing === 1 ? "needs" : "need"} you.`,
    `Open outcomes: ${moving} moving, ${scheduled} scheduled, ${waitingForYou} waiting for you, ${stuck} stuck.`,
    ...shown,
    ...(items.length < total
      ? ["", `… and ${total - items.length} more. To see them, add: --limit ${total}`]
      : []),
    ...(notes.length === 0 ? [] : ["", "Good to know:", ...notes.map(({ says }) => `  ${says}`)]),
  ].join("\n");
}

function drawSearch(output: unknown, look: Drawing): string {
  const { groups } = search.output.parse(output);
  if (groups.length === 0) return "Nothing was found.";
  return groups
    .map(({ kind, found, truncated }) => {
      const rows = found.map(({ title, detail, id }) => ({ [kind]: title, detail, id }));
      return (
        table(kind, rows, look, ["id", kind, "detail"]) +
        (truncated ? "\n… and more. Add words, or a higher --limit." : "")
      );
    })
    .join("\n\n");
}

function drawCounts(output: unknown): string {
  const { attention, mail, approvals, agents, outcomes, files, health, working } =
    viewCounts.output.parse(output);
  return [
    `${plural(attention, "item")} ${attention === 1 ? "needs" : "need"} you. See: agency attention`,
    `Mail: ${mail}. Approvals: ${approvals}.`,
    `Agents: ${agents.employed}, of which ${agents.running} running, ${agents.paused} paused, ${agents.pending} pending.`,
    `Outcomes: ${outcomes.open} open (${outcomes.blocked} blocked), ${outcomes.submitted} submitted, ${outcomes.all} in all.`,
    `Open outcomes: ${health.moving} moving, ${health.scheduled} scheduled, ${health.waitingForYou} waiting for you, ${health.stuck} stuck.`,
    `Files: ${files}.`,
    ...working.map(({ agent, on }) => `${agent.name} is at work${on === null ? "" : ` on "${on}"`}.`),
  ].join("\n");
}

/** Agents arrive in the order of the tree. An agent is drawn with "└─" if no other follows at the same depth. */
export function drawOrg({ agents, truncated, stopped }: Output<typeof viewOrg>): string {
  const lines: string[] = stopped === null ? [] : [stopped, ""];
  /** For each depth, whether another agent follows there. */
  const open: boolean[] = [];
  for (const [index, agent] of agents.entries()) {
    const { depth } = agent;
    const next = agents.slice(index + 1).find((other) => other.depth <= depth);
    const isLast = next?.depth !== depth;
    open[depth] = !isLast;
    const trunk = open
      .slice(1, depth)
      .map((below) => (below ? "│  " : "   "))
      .join("");
    const branch = depth === 0 ? "" : isLast ? "└─ " : "├─ ";
    const title = agent.title === null ? agent.role : `${agent.role}, ${agent.title}`;
    const request = agent.status === "pending_approval" ? "" : ", its manager proposed a change:";
    const says = agent.approval === null ? agent.says : `${agent.says}${request} ${agent.approval}`;
    lines.push(`${trunk}${branch}${agent.name} (${title}) [${agent.status}] ${says}`.trimEnd());
  }
  if (truncated) lines.push(`… and more. Only the first ${agents.length} agents are shown.`);
  return lines.join("\n");
}
