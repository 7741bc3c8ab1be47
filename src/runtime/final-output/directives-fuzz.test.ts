import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { losing } from "../../contract/directives.ts";
import { byLength } from "../../testing/run-length.ts";
import { Chance } from "../../simulator/chance.ts";
import { directivesIn } from "./directives.ts";

/** A piece of an output, and the directives that it should become. */
type Piece = { readonly lines: readonly string[]; readonly means: string | null };

const task = (title: string) => ({ title, assignee: "Writer" });

/** Each piece starts on a new line, and its meaning does not depend on the pieces around it. */
function piece(chance: Chance, number: number): Piece {
  const mark = chance.pick(["```", "````", "~~~", "~~~~~"]) ?? "";
  const indent = " ".repeat(chance.int(4));
  const plan = JSON.stringify([task(`T${number}`), task(`U${number}`)], null, chance.int(3)).split("\n");
  const inFence = (name: string, lines: readonly string[]) => [`${indent}${mark}${name}`, ...lines, mark];
  const pieces: (() => Piece)[] = [
    () => ({ lines: [`HIRE[Role ${number}]: Works.`], means: `hire Role ${number}` }),
    () => ({ lines: [`DELEGATE[Writer]: Part ${number}.`], means: `delegate Part ${number}.` }),
    () => ({ lines: [`VERDICT[v${number}]: PASS`], means: `verdict v${number}` }),
    () => ({ lines: inFence(chance.flip(0.5) ? "plan" : " Plan json", plan), means: `plan T${number}` }),
    () => ({ lines: inFence(chance.pick(["json", "yaml", "", "planned"]) ?? "", plan), means: "malformed" }),
    () => ({ lines: [`- HIRE[Role ${number}]: Works.`], means: "malformed" }),
    () => ({ lines: inFence("text", [...plan, `HIRE[Spy ${number}]: Listens.`]), means: null }),
    () => ({ lines: inFence("ts", ["const title = 1;", `DELEGATE[Spy]: ${number}.`]), means: null }),
    // A shorter fence within a longer one is text.
    () => ({ lines: ["`````md", "```plan", ...plan, "```", `HIRE[Spy]: ${number}.`, "`````"], means: null }),
    () => ({ lines: ["", `Some words, HIRE[Spy]: ${number}.`, "> DELEGATE[Spy]: Quoted.", ""], means: null }),
    () => ({ lines: ["x".repeat(chance.int(400))], means: null }),
  ];
  return (chance.pick(pieces) ?? (() => ({ lines: [], means: null })))();
}

const meaning = (output: string, lost?: ReturnType<ReturnType<typeof losing>["lost"]>): string[] =>
  directivesIn(output, "", lost).map((one) => {
    if (one.kind === "hire") return `hire ${one.role}`;
    if (one.kind === "delegate") return `delegate ${one.subtask}`;
    if (one.kind === "verdict") return `verdict ${one.outcome}`;
    if (one.kind === "plan") return `plan ${one.tasks[0]?.title}`;
    return "malformed";
  });

function output(seed: number): { text: string; means: string[] } {
  const chance = new Chance(seed, "output");
  const pieces = Array.from({ length: 1 + chance.int(12) }, (_, number) => piece(chance, number));
  const end = chance.flip(0.3) ? "\r\n" : "\n";
  return {
    text: `Words.${end}${pieces.map(({ lines }) => lines.join(end)).join(end)}${end}`,
    means: pieces.flatMap(({ means }) => means ?? []),
  };
}

const seeds = byLength({ quick: 3000, whole: 3000, long: 100_000 });

describe("final outputs made of many pieces", () => {
  test("every directive and plan is read, in any order, and the rest is text", () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const { text, means } = output(seed);
      assert.deepEqual(meaning(text), means, `seed ${seed}:\n${text}`);
    }
  });

  test("in an output cut at any place, lost directives are reported and the others are read correctly", () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const chance = new Chance(seed, "cut");
      const { text, means } = output(seed);
      const cut = 1 + chance.int(text.length - 1);
      const listener = losing();
      for (let from = 0, to = 0; from < cut; from = to) {
        to = Math.min(cut, from + 1 + chance.int(200));
        listener.add(text.slice(from, to));
      }
      const lost = listener.lost();
      const found = meaning(text.slice(cut), lost);
      const kept = found.filter((one) => one !== "malformed");
      // The directives that are carried out are the last ones of the whole output.
      const meant = means.filter((one) => one !== "malformed");
      assert.deepEqual(
        kept,
        kept.length === 0 ? [] : meant.slice(-kept.length),
        `seed ${seed} at ${cut}:\n${text}`,
      );
      // Everything else is reported. A wrong plan within the lost part is not searched for.
      const reported = found.length - kept.length;
      assert.ok(
        reported >= meant.length - kept.length,
        `seed ${seed} at ${cut}: ${reported} reported\n${text}`,
      );
    }
  });
});
