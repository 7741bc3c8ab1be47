import { liveNow, sawNoAnswer } from "./live.ts";

/**
 * Loads code that is not in the first bundle. Without a connection it waits for one: what is open stays open. Code that the daemon
 * no longer has was replaced by a newer version, so the page is loaded again.
 */
export async function patiently<T>(load: () => Promise<T>): Promise<T> {
  if (liveNow().state === "lost") await connection();
  try {
    return await load();
  } catch (error) {
    // The loss was not known yet. A browser asks for code once, so only a new page gets it.
    await connection();
    if (Date.now() - Number(sessionStorage.getItem(place)) < shortly) throw error;
    sessionStorage.setItem(place, String(Date.now()));
    location.reload();
    return new Promise(() => undefined);
  }
}

/** When this tab was loaded again last. If that did not help, it is not repeated. */
const place = "agency.reloaded";
const shortly = 10_000;

let waiting: Promise<void> | undefined;

/** Resolves as soon as the daemon answers. Everything that waits asks together. */
const connection = (): Promise<void> => (waiting ??= untilAnswered().finally(() => (waiting = undefined)));

async function untilAnswered(): Promise<void> {
  while (document.hidden || !(await answers())) await new Promise((resolve) => setTimeout(resolve, 500));
}

const answers = (): Promise<boolean> =>
  fetch("/", { method: "HEAD", cache: "no-store" }).then(
    ({ ok }) => ok,
    () => {
      sawNoAnswer();
      return false;
    },
  );
