import { counted, roundMoney, tokens } from "./figures.tsx";
import type { Measure } from "../../contract/budgets.ts";

/** Texts of budgets, which stand on Costs and on the page of a goal. */
export const measureWords = { usd: "US dollars", tokens: "Tokens", sessions: "Sessions" } as const;

export const measured = (measure: Measure, amount: number): string =>
  measure === "usd"
    ? roundMoney(amount)
    : measure === "tokens"
      ? `${tokens(amount)} tokens`
      : counted(amount, "session");

export const budgetWords = {
  agent: {
    change: (name: string): string => `change the budget of ${name}`,
    field: (measure: string, name: string): string => `${measure} a month for ${name}`,
    hint: "It is taken from the budget above. Empty: the agent shares that budget. Enter saves it.",
  },
  goal: {
    change: (name: string): string => `change the budget of ${name}`,
    field: (measure: string, name: string): string => `${measure} for all work on ${name}`,
    hint: "For all work on the goal, over all months. Empty: no limit. Enter saves it.",
  },
} as const;

export const shared = "shared";
export const noLimit = "no limit";
export const outcomeLimit = (usd: string): string => `${usd}, the company's limit for one outcome`;
export const left = (amount: string): string => `${amount} left`;
export const spent = (amount: string): string => `${amount} spent`;
export const budgetChanged = "The budget is changed.";
export const budgetIsNow = (now: string): string => `It was changed elsewhere while you wrote, to ${now}.`;
