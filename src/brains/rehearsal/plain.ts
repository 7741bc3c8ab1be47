import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { runToEnd, tell } from "../own-program.ts";
import { say } from "./speaker.ts";

/** The process of a rehearsal without tools. It reads its briefing, prints its final output and ends. */
await runToEnd(async () => {
  await sleep(Number(process.env["AGENCY_REHEARSAL_DELAY"] ?? 0));
  tell({ kind: "text", text: say(await text(process.stdin)) });
});
