import type { Refused } from "../../data/calling.ts";

/** The parts of the form. A refusal is shown at the part it concerns. */
export type HirePart = "who" | "purpose" | "brain" | "rights" | "budget" | "whole";

/** Refusals name the field or the thing that is not possible. The first part with a matching word counts. */
const words: readonly (readonly [HirePart, RegExp])[] = [
  ["brain", /\badapter(?:Type|Config)\b|\bbrain\b|\bmodel\b|\beffort\b|\bprovider\b/i],
  ["budget", /\bbudget\b|\busd\b|\$\d/i],
  ["rights", /\bgrants?\b|\brights?\b|\b(?:kb|mcp|repo|net|org):/i],
  ["purpose", /\bmandate\b|\bcapabilities\b|\bprompt\b/i],
  ["who", /\bname\b|\brole\b|\btitle\b|\breportsTo\b|\breports? to\b|\bagents\b/i],
];

/** Fields that a refusal can concern alone. */
export type HireField = "name" | "role" | "title" | "mandate" | "capabilities" | "prompt" | "usd";

/** The field that a refusal names, if it is certain: an invalid field, or a name that is taken. */
export function fieldOf(refused: Refused | undefined): HireField | undefined {
  if (refused === undefined) return undefined;
  const [, named] =
    /(?:^|[\s(`])(name|role|title|mandate|capabilities|prompt|budget\.usd): /.exec(refused.message) ?? [];
  if (named === "budget.usd") return "usd";
  const found = fields.find((each) => each === named);
  if (found !== undefined) return found;
  if (/\b(?:called|named|the name)\b/i.test(refused.message)) return "name";
  return partOf(refused) === "budget" ? "usd" : undefined;
}

const fields = ["name", "role", "title", "mandate", "capabilities", "prompt"] as const;

export function partOf(refused: Refused | undefined): HirePart | undefined {
  if (refused === undefined) return undefined;
  const named = (text: string) => words.find(([, pattern]) => pattern.test(text))?.[0];
  return named(refused.message) ?? named(refused.hint) ?? "whole";
}
