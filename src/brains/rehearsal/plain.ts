import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { say } from "./speaker.ts";

/** The process of a rehearsal without tools: it reads its briefing, prints its final output and ends. */
await sleep(Number(process.env["AGENCY_REHEARSAL_DELAY"] ?? 0));
const told = await text(process.stdin);
const said = say(told);
console.log(said);
const tokens = (words: string): number => Math.ceil(words.length / 4);
console.log(JSON.stringify({ usage: { inputTokens: tokens(told), outputTokens: tokens(said), costUsd: 0 } }));
