import { type ReactNode, useSyncExternalStore } from "react";

/** One timer for every clock on the page. It rests while the page is hidden. */
let now = Date.now();
const watchers = new Set<() => void>();

function tick(): void {
  if (document.hidden) return;
  now = Date.now();
  for (const watcher of watchers) watcher();
}

setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The present time in steps of this many seconds: a text in minutes is not rendered each second. */
export function useNow(step = 1): number {
  return useSyncExternalStore(watch, () => Math.floor(now / (step * 1000)) * step * 1000);
}

/** The age in one unit: 14 min, 3 h, 2 d. The tooltip has the date. */
export function Age({ since }: { since: string }): ReactNode {
  const at = Date.parse(since);
  const present = useNow(15);
  return (
    <time dateTime={since} title={fullTime(since)}>
      {shortSpan(Math.max(0, present - at))}
    </time>
  );
}

export function shortSpan(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h`;
  return `${Math.floor(minutes / (24 * 60))} d`;
}

/** The running time, like a stopwatch: 6:12, 1:02:40. */
export function Elapsed({ since, until }: { since: string; until?: string | null }): ReactNode {
  const present = useNow();
  const end = until == null ? present : Date.parse(until);
  return <time className="num">{stopwatch(Math.max(0, end - Date.parse(since)))}</time>;
}

export function stopwatch(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const [hours = 0, ...rest] = parts;
  const padded = (hours > 0 ? parts : rest).map((part, at) =>
    at === 0 ? String(part) : String(part).padStart(2, "0"),
  );
  return padded.join(":");
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A time in its shortest form: 08:31 today, yesterday 08:31, Sat 08:31 this week, 2 Nov before. */
export function When({
  at,
  said = false,
}: {
  at: string;
  /** For use in a sentence: at 08:31, yesterday 08:31, on Sat 08:31, on 2 Nov. */
  said?: boolean;
}): ReactNode {
  const present = useNow(60);
  const short = shortTime(at, present);
  return (
    <time dateTime={at} title={fullTime(at)}>
      {said && !short.startsWith("yesterday") ? `${/^\d\d:/.test(short) ? "at" : "on"} ${short}` : short}
    </time>
  );
}

export function shortTime(at: string, present: number): string {
  const time = new Date(at);
  if (new Date(present).toDateString() === time.toDateString()) return clock.format(time);
  const before = new Date(present);
  before.setDate(before.getDate() - 1);
  if (before.toDateString() === time.toDateString()) return `yesterday ${clock.format(time)}`;
  const isNear = Math.abs(present - time.getTime()) < 6 * 24 * 3_600_000;
  return isNear ? weekday.format(time) : day.format(time);
}

export const fullTime = (at: string | number): string => full.format(new Date(at));
export const clockTime = (at: number): string => clock.format(at);
/** 08:31:07, for places where seconds matter. */
export const clockSeconds = (at: string): string => seconds.format(new Date(at));
