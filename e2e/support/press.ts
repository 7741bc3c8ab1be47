// Lumen Press: an invented company of 25 agents that rehearse. Tests of the dashboard and its pictures use it.
import { setTimeout as sleep } from "node:timers/promises";
import { createKey, setPermissions, updateAgent, pauseAgent } from "../../src/contract/agents.ts";
import { updateCompany, viewCompany } from "../../src/contract/companies.ts";
import { createGoal, listGoals } from "../../src/contract/goals.ts";
import { createAgent, hireAgent } from "../../src/contract/hiring.ts";
import { requestPermission } from "../../src/contract/capabilities.ts";
import { createFile, writeFile } from "../../src/contract/knowledge.ts";
import { sendMessage } from "../../src/contract/mail.ts";
import { createOutcome, updateOutcome } from "../../src/contract/outcomes.ts";
import { updatePerson, viewMe } from "../../src/contract/people.ts";
import { delegateOutcome } from "../../src/contract/delegation.ts";
import { listSessions } from "../../src/contract/sessions.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import type { BuiltDaemon } from "./daemon.ts";

const leads = [
  ["Theo", "Editorial lead"],
  ["Sanne", "Software lead"],
  ["Bruno", "Growth lead"],
  ["Greta", "Operations lead"],
] as const;

const staff = [
  ["Wren", "Writer", "Theo"],
  ["Piet", "Fact checker", "Theo"],
  ["Odile", "Picture briefs", "Theo"],
  ["Sol", "Indexer", "Theo"],
  ["Ada", "Copy editor", "Theo"],
  ["Kit", "Backend", "Sanne"],
  ["Juno", "Frontend", "Sanne"],
  ["Rafa", "Tests", "Sanne"],
  ["Ozan", "Releases", "Sanne"],
  ["Lena", "Infrastructure", "Sanne"],
  ["Hana", "Copy", "Bruno"],
  ["Milo", "Newsletter", "Bruno"],
  ["Tariq", "Shops", "Bruno"],
  ["Vera", "Events", "Bruno"],
  ["Noor", "Bookkeeping", "Greta"],
  ["Emil", "Print liaison", "Greta"],
  ["Yara", "Support", "Greta"],
  ["Ines", "Logistics", "Greta"],
  ["Paul", "Contracts", "Greta"],
  ["Mila", "Archive", "Greta"],
] as const;

export interface Press {
  readonly companyId: string;
  readonly rootId: string;
  /** Ids by name. */
  readonly agents: ReadonlyMap<string, string>;
  /** Calls as this agent. */
  as(name: string): Promise<Client>;
}

export async function foundPress(daemon: BuiltDaemon, { delayMs = 400 } = {}): Promise<Press> {
  const { board, companyId } = daemon;
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  await board.call(updateCompany, {
    companyId,
    name: "Lumen Press",
    maxAgents: 60,
    maxSessions: 4,
    monthlyBudget: { usd: 400 },
  });
  const brain = { adapterType: "rehearsal", adapterConfig: { delayMs } };
  await board.call(updateAgent, { id: rootAgentId, name: "Marlow", role: "Chief of staff", ...brain });
  const agents = new Map([["Marlow", rootAgentId]]);
  for (const [name, role] of leads) {
    const made = await board.call(createAgent, {
      companyId,
      name,
      role,
      ...brain,
      reportsTo: rootAgentId,
      budget: { usd: 80 },
      mandate: `${role}: the team delivers what it promised, and says early when it can't.`,
    });
    agents.set(name, made.id);
  }
  for (const [name, role, boss] of staff) {
    const made = await board.call(createAgent, {
      companyId,
      name,
      role,
      ...brain,
      reportsTo: agents.get(boss) ?? rootAgentId,
      budget: { usd: 10 },
      mandate: `${role} for Lumen Press.`,
    });
    agents.set(name, made.id);
  }
  return {
    companyId,
    rootId: rootAgentId,
    agents,
    as: async (name) => {
      const { key } = await board.call(createKey, { id: agents.get(name) ?? "" });
      return createClient({ url: daemon.url, token: key });
    },
  };
}

/** The requests, questions and goals of a day. */
export async function enliven(daemon: BuiltDaemon, press: Press): Promise<{ hireId: string }> {
  const { board } = daemon;
  const { companyId } = press;
  const bruno = await press.as("Bruno");
  await board.call(setPermissions, { id: press.agents.get("Bruno") ?? "", canCreateAgents: true });
  const prices = await bruno.call(createFile, {
    companyId,
    description: "Competitor prices",
    content: "# Competitor prices\n\nEight titles, their prices and formats.\n",
  });
  const { approval } = await bruno.call(hireAgent, {
    companyId,
    name: "Iris Duarte",
    role: "Market researcher",
    adapterType: "rehearsal",
    budget: { usd: 12 },
    mandate:
      "Know what comparable field guides cost, and who buys them. Compare eight titles by price, format and audience. Say which of our three price ideas the numbers support.",
    prompt: "Search widely and collect everything that could matter.",
    grants: [{ resource: `kb:${prices.id}`, level: "read" }],
  });
  const kit = await press.as("Kit");
  const emil = await press.as("Emil");
  await kit.call(requestPermission, {
    resource: "org:hire",
    reason: "The checkout needs a second pair of hands.",
  });
  const marlow = await press.as("Marlow");
  await marlow.call(sendMessage, {
    companyId,
    to: "board",
    body: "120 g or 150 g paper? The printer needs to know by Thursday.",
  });
  await emil
    .call(sendMessage, { companyId, to: "greta", body: "The printer asks for the paper weight." })
    .catch(() => undefined);
  await board.call(pauseAgent, {
    id: press.agents.get("Milo") ?? "",
    reason: "The mail provider refuses the key.",
  });
  for (const title of [
    "Field Guide 2027 is ready to print",
    "The store takes pre-orders",
    "Launch page says what the book is",
  ])
    await board.call(createGoal, { companyId, title });
  return { hireId: approval?.id ?? "" };
}

/**
 * Extras for the pictures: the person has a name, and work waits for a hire that only the board can decide. Returns the outcome
 * at the end of that path.
 */
export async function stage(daemon: BuiltDaemon, press: Press): Promise<string> {
  const { board } = daemon;
  const { companyId } = press;
  const { person } = await board.call(viewMe, {});
  await board.call(updatePerson, { id: person.id, name: "Jonas Weber" });
  const bruno = await press.as("Bruno");
  const parents = [press.agents.get("Bruno") ?? ""];
  const compared = await bruno.call(createOutcome, {
    companyId,
    title: "Readers say what they pay",
    parents,
  });
  await bruno.call(delegateOutcome, {
    id: compared.id,
    hire: {
      name: "Tomas Lind",
      role: "Interviewer",
      adapterType: "rehearsal",
      budget: { usd: 8 },
      prompt: "Ask twenty readers what they pay for a field guide, and note the words of the readers.",
    },
  });
  let before = compared.id;
  for (const title of ["The price of the guide is chosen", "Bookshops know what the guide costs"])
    before = (await bruno.call(createOutcome, { companyId, title, parents, dependsOn: [before] })).id;
  return before;
}

/** Waits until the agent works on something from its manager. Returns the session. */
export async function atWork(daemon: BuiltDaemon, press: Press, name: string, boss: string): Promise<string> {
  const { companyId } = press;
  const manager = await press.as(boss);
  for (let chapter = 4; ; chapter++) {
    const parents = [press.agents.get(boss) ?? ""];
    const title = `Chapter ${chapter} is drafted`;
    const made = await manager.call(createOutcome, { companyId, title, parents });
    await manager.call(delegateOutcome, { id: made.id, to: press.agents.get(name) ?? "" });
    for (let tries = 0; tries < 60; tries++) {
      const { sessions } = await daemon.board.call(listSessions, { companyId, live: true, limit: 20 });
      const own = sessions.find(({ agent, outcome }) => agent.name === name && outcome !== null);
      if (own !== undefined) return own.id;
      await sleep(500);
    }
  }
}

/** Lets the company work for a while, and returns one interesting thing of each kind. */
export async function workOn(
  daemon: BuiltDaemon,
  press: Press,
  milliseconds: number,
): Promise<{ sessionId: string; endedId: string; outcomeId: string; fileId: string }> {
  const { board } = daemon;
  const { companyId } = press;
  const theo = await press.as("Theo");
  const links = await theo.call(createFile, {
    companyId,
    description: "House style",
    content: "# House style\n\nShort sentences, exact numbers, no superlatives.\n",
  });
  const voice = (fourth: string, more: string): string =>
    `# Voice and tone\n\nHow Lumen Press sounds, in the guide and outside of it. See [House style](kb://${links.id}).\n\n## Always\n\n- Say what the reader **sees**, then what it means.\n- Numbers before adjectives.\n- One idea a sentence.\n${fourth}\n## By place\n\n| place | tone | example |\n|---|---|---|\n| guide | calm | "Look at the wing bars first." |\n| store | warm | "Fits a coat pocket." |\n| support | direct | "Your parcel left on Tuesday." |\n${more}`;
  const file = await theo.call(createFile, {
    companyId,
    description: "Voice and tone",
    content: voice("", ""),
  });
  await theo.call(writeFile, {
    id: file.id,
    version: 1,
    hash: file.hash,
    content: voice(
      "- Latin names in italics, once.\n",
      "\n> A field guide is read standing up, in the wind.\n",
    ),
  });
  // Rehearsals cost nothing, so two agents run a command that reports usage.
  const usage = (usd: number): string =>
    JSON.stringify({ usage: { inputTokens: usd * 40_000, outputTokens: usd * 900, costUsd: usd } });
  // Vera's command prints nothing, so her work gets stuck.
  for (const [name, usd, boss, says] of [
    ["Noor", 0.62, "Greta", "A little less than planned."],
    ["Vera", 0.31, "Bruno", ""],
    ["Kit", 0.84, "Sanne", "Servers and certificates: as planned."],
  ] as const) {
    const id = press.agents.get(name) ?? "";
    await board.call(updateAgent, {
      id,
      autoReply: true,
      adapterType: "process",
      adapterConfig: {
        command: process.execPath,
        args: ["-e", `console.log(${JSON.stringify(says)}); console.log(${JSON.stringify(usage(usd))})`],
      },
    });
    const question = { companyId, to: id, body: "What did the last month cost us?" };
    await (await press.as(boss)).call(sendMessage, question);
  }
  const { outcomes } = await board.call(listGoals, { companyId });
  const stalled = outcomes.find(({ title }) => title === "The store takes pre-orders");
  if (stalled !== undefined)
    await board.call(updateOutcome, {
      id: stalled.id,
      blocked: { reason: "The bank has not opened the account." },
    });
  await sleep(milliseconds);
  const { sessions } = await board.call(listSessions, { companyId, limit: 100 });
  const live = sessions.filter(({ endedAt, agent }) => endedAt === null && agent.id !== press.rootId);
  const session =
    live.find(({ outcome }) => outcome !== null && outcome.title !== "Process inbox") ??
    live[0] ??
    sessions.find(({ endedAt }) => endedAt === null) ??
    sessions[0];
  const ended = sessions.find(({ endedAt, usage }) => endedAt !== null && usage.costUsd === 0);
  return {
    sessionId: session?.id ?? "",
    endedId: ended?.id ?? "",
    outcomeId: stalled?.id ?? "",
    fileId: file.id,
  };
}
