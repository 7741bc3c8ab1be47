import { approve, reject } from "../../src/contract/approvals.ts";
import { hireAgent, createAgent } from "../../src/contract/hiring.ts";
import { setBudget } from "../../src/contract/budgets.ts";
import { grantPermission } from "../../src/contract/capabilities.ts";
import { createFile } from "../../src/contract/knowledge.ts";
import { acknowledgeMessage, readInbox, sendDeferredMessage, sendMessage } from "../../src/contract/mail.ts";
import { updateCompany } from "../../src/contract/companies.ts";
import { createKey, pauseAgent, resumeAgent } from "../../src/contract/agents.ts";
import { completeOutcome, createOutcome, submitOutcome } from "../../src/contract/outcomes.ts";
import { delegateOutcome, planWork } from "../../src/contract/delegation.ts";
import { halt } from "../../src/budgets/halting.ts";
import { bySystem } from "../../src/dispatch/context.ts";
import { isUsedUp, left } from "../../src/budgets/budget.ts";
import { charge, budgetPlaceOf } from "../../src/budgets/table.ts";
import type { Dump } from "../../src/simulator/restored.ts";
import type { Value } from "../../src/store/columns.ts";
import type { Store } from "../../src/store/store.ts";
import type { Chance } from "../model/chance.ts";
import type { TestCaller, Organization } from "../../src/testing/organization.ts";

/** The events between two reorganizations: agents join, work, send mail, spend money and wait for approval. */
type Row = Readonly<Record<string, Value>>;

export const text = (value: Value | undefined): string => String(value ?? "");
export const rowsIn = (all: Dump, table: string): Row[] => [...(all.get(table)?.values() ?? [])];
export const isLive = (row: Row): boolean => row["status"] === "open" || row["status"] === "submitted";
export const activeIn = (all: Dump): Row[] =>
  rowsIn(all, "agents").filter((row) => row["status"] === "idle" || row["status"] === "paused");

/** The weight of each event in a game with budgets and pending agents. */
const everything = {
  join: 12,
  hire: 5,
  decide: 4,
  work: 14,
  delegate: 18,
  plan: 6,
  submit: 8,
  complete: 4,
  file: 5,
  grant: 16,
  mail: 8,
  defer: 2,
  read: 3,
  rest: 3,
  budget: 14,
  spend: 8,
  change: 28,
  undo: 5,
} as const;
const none = { hire: 0, decide: 0, plan: 0, defer: 0, budget: 0, spend: 0, change: 22, undo: 4 } as const;

/** Every third game has all events. The others leave some out, which gives the rest more steps. */
export const deedsOf = (seed: number): Readonly<Record<keyof typeof everything, number>> =>
  seed % 3 === 0 ? everything : { ...everything, ...none };

type Deed = Exclude<keyof typeof everything, "change" | "undo">;

export class Life {
  readonly #org: Organization;
  readonly #store: Store;
  readonly #newId: () => string;
  #names = 0;

  constructor(org: Organization, store: Store, newId: () => string) {
    this.#org = org;
    this.#store = store;
    this.#newId = newId;
  }

  name(kind: string): string {
    return `${kind} ${++this.#names}`;
  }

  async go(deed: Deed, chance: Chance, all: Dump): Promise<void> {
    const { board, companyId } = this.#org;
    const agents = activeIn(all);
    const me = text(chance.pick(agents)?.["id"]);
    const call = await this.as(me);
    const reports = agents.filter((row) => row["boss_id"] === me).map((row) => text(row["id"]));
    const live = rowsIn(all, "outcomes").filter((row) => isLive(row) && row["kind"] !== "inbox");
    const mine = live.filter((row) => row["responsible_id"] === me);
    switch (deed) {
      case "join":
        if (agents.length < 14) await this.join(me);
        return;
      case "hire": {
        // The agent is pending until the board has decided.
        await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: true });
        const budget = chance.percent(30) ? { budget: { tokens: 10 } } : {};
        try {
          await call(hireAgent, { name: this.name("Hire"), role: "worker", ...budget });
        } finally {
          await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
        }
        return;
      }
      case "decide": {
        const open = rowsIn(all, "approvals").filter((row) => row["status"] === "pending");
        await board(chance.percent(60) ? approve : reject, { id: text(chance.pick(open)?.["id"]) });
        return;
      }
      case "work": {
        const dependsOn = chance.percent(25) ? [text(chance.pick(live)?.["id"])] : [];
        const parents = [text(chance.pick(mine)?.["id"])];
        await board(createOutcome, { title: this.name("Work"), parents, dependsOn });
        return;
      }
      case "delegate": {
        const id = text(chance.pick(mine.filter((row) => row["delegated"] === 0))?.["id"]);
        const hire = { name: this.name("Made"), role: "worker" };
        const to = chance.pick(reports);
        await call(delegateOutcome, { id, ...(to === undefined || chance.percent(20) ? { hire } : { to }) });
        return;
      }
      case "plan": {
        const outcome = text(chance.pick(mine.filter((row) => row["kind"] === "work"))?.["id"]);
        const waits = chance.percent(50);
        await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: waits });
        const tasks = [chance.pick(reports) ?? "self", chance.percent(50) ? "specialist" : "self"].map(
          (assignee) => ({ title: this.name("Task"), assignee }),
        );
        try {
          await call(planWork, { outcome, tasks });
        } finally {
          await board(updateCompany, { companyId, requireBoardApprovalForNewAgents: false });
        }
        return;
      }
      case "submit":
        await call(submitOutcome, { id: text(chance.pick(mine)?.["id"]) });
        return;
      case "complete":
        await board(completeOutcome, { id: text(chance.pick(live)?.["id"]) });
        return;
      case "file":
        await call(createFile, { description: this.name("File"), content: "x" });
        return;
      case "grant": {
        const held = rowsIn(all, "grants").filter((row) => row["grantee_id"] === me && row["broken"] === 0);
        const outcome = text(chance.pick(mine)?.["id"]);
        const resource = chance.percent(70) ? text(chance.pick(held)?.["resource"]) : `outcome:${outcome}`;
        const scope = chance.percent(30) ? { outcome: text(chance.pick(live)?.["id"]) } : {};
        await call(grantPermission, { to: chance.pick(reports) ?? "", resource, ...scope });
        return;
      }
      case "mail":
        await call(sendMessage, { to: chance.pick([...reports, "boss"]) ?? "boss", body: this.name("Mail") });
        return;
      case "defer": {
        const deliverAt = new Date(Date.now() + 3_600_000).toISOString();
        const to = chance.pick([...reports, "boss", "self"]) ?? "self";
        await call(sendDeferredMessage, { to, body: this.name("Later"), deliverAt });
        return;
      }
      case "read": {
        const { messages } = await call(readInbox, {});
        for (const { id } of messages.slice(0, 2)) await call(acknowledgeMessage, { id });
        return;
      }
      case "rest":
        await board(chance.percent(50) ? pauseAgent : resumeAgent, { id: me });
        return;
      case "budget": {
        const amount = [null, 0, 20, 50, 100, 200][chance.int(6)] ?? null;
        await board(setBudget, { id: me, ...(chance.percent(70) ? { tokens: amount } : { usd: amount }) });
        return;
      }
      case "spend":
        await this.#spend(chance, me);
    }
  }

  async join(boss: string): Promise<void> {
    const { board, companyId } = this.#org;
    const { id } = await board(createAgent, {
      companyId,
      name: this.name("Agent"),
      role: "worker",
      reportsTo: boss,
    });
    await board(grantPermission, { companyId, to: id, resource: "org:hire" });
  }

  /** A new key each time: an agent that left and came back has none. */
  async as(id: string): Promise<TestCaller> {
    return this.#org.as((await this.#org.board(createKey, { id })).key);
  }

  /** Spends part or all of the nearest budget, as a session would. An agent whose budget is used up is paused. */
  async #spend(chance: Chance, agentId: string): Promise<void> {
    const { companyId } = this.#org;
    await this.#store.write(async (tx) => {
      const agent = { id: agentId, company_id: companyId };
      const pool = (await budgetPlaceOf(tx, agent)).pools[chance.percent(70) ? "tokens" : "usd"];
      if (pool.id === companyId) return;
      await charge(tx, pool.id, pool.measure, Math.floor(left(pool) * (chance.percent(40) ? 1 : 0.3)));
      const after = (await budgetPlaceOf(tx, agent)).pools[pool.measure];
      if (isUsedUp(after)) await halt(bySystem(tx, companyId, this.#newId), agentId, after);
    });
  }
}
