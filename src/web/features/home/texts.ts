import { counted } from "../../ui/figures.tsx";

/** Texts of Home. */
export function needYou(total: number): string {
  if (total === 0) return "Nothing needs you";
  return total === 1 ? "1 thing needs you" : `${total} things need you`;
}

/** What waits for the person, and the state of the rest. Never calls an outcome moving that does not move. */
export function holdUp(
  { moving, scheduled, waitingForYou, stuck }: Readonly<Record<keyof typeof health, number>>,
  total: number,
): string {
  const rest = moving + scheduled;
  if (total === 0)
    return rest === 0
      ? "No outcome is open."
      : `${counted(rest, "outcome")} ${rest === 1 ? "moves" : "move"} without you.`;
  const they = total === 1 ? "It holds up" : "They hold up";
  const held = `${they} ${waitingForYou === 0 ? "no outcome" : counted(waitingForYou, "outcome")}.`;
  if (rest === 0) return held;
  if (stuck === 0) return `${held} Everything else moves without you.`;
  return `${held} ${counted(rest, "outcome")} ${rest === 1 ? "moves" : "move"} without you.`;
}

export const nextDate = "The next date is";
export const goodToKnow = "Good to know";

export const freshItems = (count: number): string => `${count} new`;

export const health = {
  moving: "moving",
  scheduled: "scheduled",
  waitingForYou: "waiting for you",
  stuck: "stuck",
} as const;

export const firstGoals = [
  "A one-page guide to baking bread at home is written",
  "Three names for a bookshop are proposed, each with its reason",
  "The ten most common questions about our product are answered",
] as const;
export const firstRun = (root: string): string => `Tell ${root} what you want. For example:`;
export const noGoalYet = "No goal yet. Say below what you want done, and watch it here.";
export const rehearses =
  "No model is connected, so the agents rehearse: every step is real, the results are samples.";
export const connectModel = "Connect a model";
export const sayWhat = "Say what you want done…";
export const goalGiven = (root: string): string => `${root} has your goal and starts on it.`;
