import { counted } from "../../ui/figures.tsx";

/** The sentences of Home. */
export function needYou(total: number): string {
  if (total === 0) return "Nothing needs you";
  return total === 1 ? "1 thing needs you" : `${total} things need you`;
}

export function holdUp(held: number, total: number): string {
  if (total === 0) return "Everything moves without you.";
  const they = total === 1 ? "It holds up" : "They hold up";
  return `${they} ${held === 0 ? "no other outcome" : counted(held, "outcome")}. Everything else moves without you.`;
}

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
export const sayWhat = "Say what you want done…";
export const goalGiven = (root: string): string => `${root} has your goal and starts on it.`;
