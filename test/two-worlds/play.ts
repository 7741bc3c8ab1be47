import { hash } from "node:crypto";
import { refusalCodes, Refusal } from "../../src/contract/refusal.ts";
import type { Operation } from "../../src/contract/operation.ts";
import { Chance } from "../../src/simulator/chance.ts";
import { openTestStore, type StoreKind } from "../../src/testing/organization.ts";
import { inputFor, reading } from "./arguments.ts";
import { type Doors, openDoors, type Seen } from "./doors.ts";
import { type Built, build } from "./world.ts";

/**
 * Builds two worlds that differ only in what the watchers can't read, has the watchers make the same calls in both, and
 * compares the answers byte for byte; at the doors, with their headers. Returns the first difference, or undefined.
 */
export async function compareWorlds(
  kind: StoreKind,
  seed: number,
  calls: number,
  place: "dispatch" | "doors" = "dispatch",
): Promise<{ difference: string | undefined; answers: number; readable: number }> {
  const stores = [await openTestStore(kind, { fast: true }), await openTestStore(kind, { fast: true })];
  const doors = new Map<Built, Doors>();
  try {
    const [left, right] = await Promise.all([
      build(stores[0]?.store ?? missing(), seed, "left"),
      build(stores[1]?.store ?? missing(), seed, "right"),
    ]);
    if (place === "doors") for (const world of [left, right]) doors.set(world, await openDoors(world));
    const chance = new Chance(seed, "calls");
    const cursors: string[] = [];
    let answers = 0;
    let readable = 0;
    for (let call = 0; call < calls; call++) {
      const operation = reading[call % reading.length] ?? missing();
      const watcher = chance.pick(Object.keys(left.watchers)) ?? "";
      const input = inputFor(operation, { chance, ...left, cursors });
      const door = operation.mcp !== undefined && chance.flip(0.5) ? "mcp" : "http";
      const answerIn = async (world: Built): Promise<Seen> => {
        world.tick();
        const token = world.watchers[watcher] ?? "";
        return (
          doors.get(world)?.ask(door, token, operation, input) ?? answerTo(world, token, operation, input)
        );
      };
      const one = await answerIn(left);
      const two = await answerIn(right);
      answers++;
      if (one.status === 200) readable++;
      const isBoards = operation.needs === "board" && one.status === 200;
      if (one.status === two.status && one.body === two.body && !isBoards) {
        const next = /"nextCursor":"([^"]+)"/.exec(one.body)?.[1];
        if (next !== undefined) cursors.push(next);
        continue;
      }
      const lines = [
        `${operation.name} ${place === "doors" ? door : ""} ${JSON.stringify(input)} as ${watcher} of seed ${seed}:`,
      ];
      lines.push(`  left  ${one.status} ${around(one.body, two.body)}`);
      lines.push(`  right ${two.status} ${around(two.body, one.body)}`);
      return { difference: lines.join("\n"), answers, readable };
    }
    return { difference: undefined, answers, readable };
  } finally {
    for (const { close } of doors.values()) close();
    for (const { close } of stores) await close();
  }
}

/** The status and the body that HTTP would answer with. */
async function answerTo(
  world: Built,
  token: string,
  operation: Operation,
  input: Record<string, unknown>,
): Promise<Seen> {
  try {
    const output = await world.dispatch({ operation, token, input, key: undefined });
    return { status: 200, body: JSON.stringify(output) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: refusalCodes[error.code].http, body: JSON.stringify(error.toBody()) };
  }
}

function around(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  return `${hash("sha256", text).slice(0, 8)} …${text.slice(Math.max(0, at - 80), at + 120)}`;
}

function missing(): never {
  throw new Error("there is nothing here");
}
