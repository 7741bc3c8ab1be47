import type { Usage } from "../contract/budgets.ts";
import { JsonObject } from "../contract/words.ts";

/** The usage that a line reports. A value that is not a number counts as 0. budgets/ decides whether it can be true. */
export function usageIn(line: string): Usage | undefined {
  if (!line.includes('"usage"')) return undefined;
  try {
    const parsed = Fields.parse(JSON.parse(line));
    if (!("usage" in parsed)) return undefined;
    const said = Fields.parse(parsed["usage"]);
    return {
      ...amounts(said),
      ...("consultants" in said ? { consultants: amounts(said["consultants"]) } : {}),
    };
  } catch {
    return undefined;
  }
}

function amounts(said: unknown): Omit<Usage, "consultants"> {
  const { inputTokens, outputTokens, costUsd } = Fields.parse(said);
  return { inputTokens: amount(inputTokens), outputTokens: amount(outputTokens), costUsd: amount(costUsd) };
}

/** A process may print anything. Anything other than an object counts as empty. */
const Fields = JsonObject.catch({});

function amount(value: unknown): number {
  return typeof value === "number" && value >= 0 ? value : 0;
}
