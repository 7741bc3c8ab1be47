import { type Measure } from "../contract/budgets.ts";
import { plural } from "../contract/phrases.ts";
import { conflict, refused, type Refusal } from "../contract/refusal.ts";
import { fromUnits, inWords } from "./budget.ts";

/** All texts about budgets. Amounts come in units (millionths of a dollar) and are shown as people write them. */
export const belowWhatIsTaken = (
  measure: Measure,
  { wanted, below, reserved }: { readonly wanted: number; readonly below: number; readonly reserved: number },
): Refusal =>
  refused(
    `A budget of ${inWords(measure, wanted)} is too small: reports hold ${inWords(measure, below)} of it and running sessions have reserved ${inWords(measure, reserved)}.`,
    `Give at least ${inWords(measure, below + reserved)}, or lower the budgets of the reports first.`,
    { measure, least: fromUnits(measure, below + reserved) },
  );

export const aboveWhatIsLeft = (
  measure: Measure,
  { wanted, most }: { readonly wanted: number; readonly most: number },
  above: {
    readonly called: string;
    readonly left: number;
    readonly limit: number;
    readonly spent: number;
    readonly reserved: number;
    readonly handedDown: number;
  },
): Refusal =>
  refused(
    `A budget of ${inWords(measure, wanted)} doesn't fit: ${above.called} has ${inWords(measure, above.left)} left (limit ${inWords(measure, above.limit)}, spent ${inWords(measure, above.spent)}, reserved ${inWords(measure, above.reserved)}, given to reports ${inWords(measure, above.handedDown)}).`,
    `Give at most ${inWords(measure, most)}, or raise the budget above first.`,
    { measure, most: fromUnits(measure, most) },
  );

export const budgetsDoNotFit = (measure: Measure, moving: number, called: string, left: number): Refusal =>
  refused(
    `Budgets of ${inWords(measure, moving)} would move, but ${called} has only ${inWords(measure, left)} left.`,
    `Lower the budgets that move, or raise ${called} first.`,
  );

export const lessThanGiven = (measure: Measure, limit: number, given: number): Refusal =>
  refused(
    `The company's budget can't be ${inWords(measure, limit)}: its agents hold budgets of ${inWords(measure, given)}.`,
    "Lower the agents' budgets first. To stop all work at once, set maxSessions to 0.",
  );

export const notYoursToShare = (measure: Measure): Refusal =>
  refused(
    `You can't give away a budget in ${measure === "usd" ? "dollars" : measure}, because you share yours with other agents.`,
    "Leave the budget out, or ask your manager for a separate budget.",
  );

export const noLimitLeft = (): Refusal =>
  conflict(
    "This budget has no limit any more, so no limit can be raised.",
    "Reject the request: agency reject.",
  );

export const usedUp = (budget: string): string => `${budget} is used up`;
export const coversNoCall = (budget: string): string =>
  `${budget} has too little left for a call of its model`;
export const heldByOthers = (budget: string): string => `${budget} is reserved by other sessions`;
export const impossibleUsage = "it reported more usage than a session can have";
export const hasBudgetAgain = "its budget is no longer used up";
export const budgetChanged = "the budget was changed";

export const pausedForUsage = (name: string): string =>
  `${name} is paused: ${impossibleUsage}, so its real cost is unknown. Check its last session and the program that runs it. Then resume ${name}: resume_agent, agency agents resume.`;

export const nearlyUsedUp = (budget: string, spent: string, limit: string): string =>
  `${budget} is nearly used up: ${spent} of ${limit} spent this month. At the limit, running sessions are stopped.`;

export const notPossibleYet = (refusal: Refusal): string =>
  `Not possible yet: ${refusal.message} ${refusal.hint}`;

export const raiseChanges = (
  raise: { readonly budget: string; readonly now: string; readonly after: string; readonly spent: string },
  paused: readonly string[],
): string[] => [
  `${raise.budget}: ${raise.now} a month now, ${raise.after} after.`,
  `Spent this month: ${raise.spent}.`,
  paused.length === 0 ? "No agent is paused because of it." : `Will work again: ${paused.join(", ")}.`,
];

export const budgetOfGoalUsedUp = (id: string): string => `the budget of the goal ${id} is used up`;

export const costLimitReached = (id: string): string => `the outcome ${id} has reached its cost limit`;

/** The outcome whose budget or cost limit caused a block with this reason. */
export const limitedBy = (reason: string | null): string | undefined =>
  /^(?:the budget of the goal|the outcome) (\S+) (?:is used up|has reached its cost limit)$/.exec(
    reason ?? "",
  )?.[1];

/** To the owner of the outcome and to the board. */
export const outcomeStopped = (
  outcome: { id: string; title: string },
  { limit, spent, stopped, isOwner }: { limit: string; spent: string; stopped: number; isOwner: boolean },
): string =>
  `Work on "${outcome.title}" (kb://${outcome.id}) stopped. The outcome and everything below it have cost ${spent}. One outcome may cost ${limit} (maxOutcomeUsd). ${plural(stopped, "open outcome")} in it ${stopped === 1 ? "is" : "are"} blocked. ${isOwner ? "The board was told and can raise the limit. Continue with your other work." : `To continue, raise the limit: agency companies update --max-outcome-usd <dollars>. To end the outcome, close it: agency outcomes close ${outcome.id} "…".`}`;

/** The reason why an outcome is not blocked any more. */
export const budgetRaised = "its budget or limit allows more now";

/** To the board, which set the goal. */
export const goalStopped = (goal: { id: string; title: string }, limit: string, stopped: number): string =>
  `Work on the goal "${goal.title}" (kb://${goal.id}) stopped: its budget of ${limit} is used up. ${plural(stopped, "open outcome")} in it ${stopped === 1 ? "is" : "are"} blocked. To continue, raise the budget: agency goals budget ${goal.id} --budget '{"usd": …}'. To end the goal, close it: agency outcomes close ${goal.id} "…".`;
