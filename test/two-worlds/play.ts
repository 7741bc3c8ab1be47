import { hash } from "node:crypto";
import { refusalCodes, Refusal } from "../../src/contract/refusal.ts";
import { isKept } from "../../src/dispatch/kept-operations.ts";
import type { Operation } from "../../src/contract/operation.ts";
import type { Dispatch } from "../../src/dispatch/dispatch.ts";
import { Chance } from "../../src/simulator/chance.ts";
import { openTestStore, type StoreKind } from "../../src/testing/organization.ts";
import { inputFor, type Pool, reading } from "./arguments.ts";
import { type Doors, openDoors, type Seen } from "./doors.ts";
import type { Credential } from "./calling.ts";
import type { Built } from "./built.ts";
import { build } from "./world.ts";

export interface Compared {
  readonly difference: string | undefined;
  /** The number of pairs, one for each round. */
  readonly pairs: number;
  readonly answers: number;
  readonly readable: number;
  /** The number of answers that were compared with those of a program without memory. */
  readonly recalled: number;
}

/**
 * Builds two worlds that differ only in what the watchers can't read, has the watchers make the same calls in both, and
 * compares the answers byte for byte; at the doors, with their headers. In each round every operation that reads is called
 * once, or several times if its answer depends on several arguments. Before the next round, more happens in both worlds, and
 * time passes. Lists that are answered from memory are compared with the answers of the same program without memory, for every
 * kind of caller.
 */
export async function compareWorlds(
  kind: StoreKind,
  seed: number,
  rounds: number,
  place: "dispatch" | "doors" = "dispatch",
): Promise<Compared> {
  const stores = await Promise.all([
    openTestStore(kind, { fast: true }),
    openTestStore(kind, { fast: true }),
  ]);
  const doors = new Map<Built, Doors>();
  try {
    const [left, right] = await Promise.all([
      build(stores[0].store, seed, "left"),
      build(stores[1].store, seed, "right"),
    ]);
    if (place === "doors") for (const world of [left, right]) doors.set(world, await openDoors(world));
    const chance = new Chance(seed, "calls");
    const cursors: string[] = [];
    const pool: Pool = { chance, ...left, cursors };
    const questions = questionsFor(pool, left.callers.length);
    const sum = { pairs: 0, answers: 0, readable: 0, recalled: 0 };
    for (let round = 0; round < rounds; round++) {
      sum.pairs++;
      if (round > 0) await Promise.all([left.goOn(), right.goOn()]);
      for (const operation of reading.flatMap((one) => Array.from({ length: timesOf(one) }, () => one))) {
        // Vera sees some things in part, so her answers are the most likely to be wrong.
        const watcher = chance.flip(0.4) ? "Vera" : (chance.pick(Object.keys(left.watchers)) ?? "");
        const input = inputFor(operation, pool);
        const door = operation.mcp !== undefined && chance.flip(0.5) ? "mcp" : "http";
        const answerIn = async (world: Built): Promise<Seen> => {
          world.tick();
          const credential = world.watchers[watcher] ?? missing();
          return (
            doors.get(world)?.ask(door, credential, operation, input) ??
            answerTo(world.dispatch, credential, operation, input)
          );
        };
        const [one, two] = await Promise.all([answerIn(left), answerIn(right)]);
        sum.answers++;
        if (one.status === 200) sum.readable++;
        const isBoards = operation.needs === "board" && one.status === 200;
        if (isEqual(one, two) && !isBoards) {
          const next = /"nextCursor":"([^"]+)"/.exec(one.body)?.[1];
          if (next !== undefined) cursors.push(next);
          continue;
        }
        const about = `${operation.name} ${place === "doors" ? door : ""} ${JSON.stringify(input)} as ${watcher} of seed ${seed}:`;
        return { difference: shown(about, ["left", one], ["right", two]), ...sum };
      }
      const differences = await Promise.all(
        [left, right].map(
          async (world) => (await recall(world, questions, doors.get(world))) ?? (await forget(world)),
        ),
      );
      sum.recalled += 2 * questions.length;
      const difference = differences.find((found) => found !== undefined);
      if (difference !== undefined) return { difference: `${difference} of seed ${seed}`, ...sum };
    }
    return { difference: undefined, ...sum };
  } finally {
    for (const { close } of doors.values()) close();
    await Promise.all(stores.map(({ close }) => close()));
  }
}

/** Questions of every round. If nothing changed, most of them are answered from memory. */
interface Question {
  readonly operation: Operation;
  readonly caller: number;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * Several callers ask the same question, because an answer belongs to one of them. The first caller asks something else too.
 */
function questionsFor(pool: Pool, callers: number): Question[] {
  return reading.filter(isKept).flatMap((operation) => {
    const first = pool.chance.between(0, callers - 1);
    const [same, other] = [inputFor(operation, pool), inputFor(operation, pool)];
    return [0, 1, 2, 3, 4, 5].map((index) => ({
      operation,
      caller: (first + (index % 5)) % callers,
      input: index === 5 ? other : same,
    }));
  });
}

/** The first answer that differs from that of a program without memory. */
async function recall(
  world: Built,
  questions: readonly Question[],
  doors: Doors | undefined,
): Promise<string | undefined> {
  for (const { operation, caller, input } of questions) {
    const credential = world.callers[caller] ?? missing();
    world.tick();
    const kept = await answerTo(world.dispatch, credential, operation, input);
    // A new program for each question: its memory of earlier questions is in doubt too.
    const fresh = await answerTo(world.forgetful(), credential, operation, input);
    const atDoor = await doors?.ask("http", credential, operation, input);
    const about = `${operation.name} ${JSON.stringify(input)} from memory for caller ${caller}`;
    if (!isEqual(kept, fresh)) return shown(about, ["kept", kept], ["fresh", fresh]);
    const isSame = atDoor === undefined || atDoor.status !== 200 || atDoor.body.endsWith(`\n${fresh.body}`);
    if (!isSame) return shown(`${about} at the door`, ["kept", atDoor], ["fresh", fresh]);
  }
  return undefined;
}

/**
 * An answer from before a change must not be given after it. Before the change, the caller asks only what it may ask: a refusal
 * is recorded, which is a change too.
 */
async function forget(world: Built): Promise<string | undefined> {
  const { concerns, make } = world.turn();
  const [agent] = world.nouns["agent"] ?? [];
  const asked = reading.filter(isKept).flatMap((operation) => {
    const id = "id" in operation.input.shape ? { id: agent } : {};
    return [id, { ...id, companyId: world.companyId }].flatMap((input) =>
      operation.input.safeParse(input).success ? [{ operation, input }] : [],
    );
  });
  const allowed: typeof asked = [];
  for (const one of asked)
    if ((await answerTo(world.dispatch, concerns, one.operation, one.input)).status === 200)
      allowed.push(one);
  for (const { operation, input } of allowed) await answerTo(world.dispatch, concerns, operation, input);
  await make();
  for (const { operation, input } of allowed) {
    const kept = await answerTo(world.dispatch, concerns, operation, input);
    const fresh = await answerTo(world.forgetful(), concerns, operation, input);
    const about = `${operation.name} ${JSON.stringify(input)} from memory after a change`;
    if (!isEqual(kept, fresh)) return shown(about, ["kept", kept], ["fresh", fresh]);
  }
  return undefined;
}

/** With more arguments, all of them fit less often. */
const timesOf = ({ input }: Operation): number => Math.min(4, Math.max(2, Object.keys(input.shape).length));

const isEqual = (one: Seen, two: Seen): boolean => one.status === two.status && one.body === two.body;

/** The status and the body that HTTP would answer with. */
async function answerTo(
  dispatch: Dispatch,
  { token, as }: Credential,
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<Seen> {
  try {
    const output = await dispatch({ operation, token, as, input, key: undefined });
    return { status: 200, body: JSON.stringify(output) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: refusalCodes[error.code].http, body: JSON.stringify(error.toBody()) };
  }
}

function shown(about: string, ...[one, two]: readonly [name: string, seen: Seen][]): string {
  if (one === undefined || two === undefined) return about;
  const line = ([name, { status, body }]: typeof one, other: Seen): string =>
    `  ${name.padEnd(5)} ${status} ${around(body, other.body)}`;
  return [about, line(one, two[1]), line(two, one[1])].join("\n");
}

function around(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  return `${hash("sha256", text).slice(0, 8)} …${text.slice(Math.max(0, at - 80), at + 120)}`;
}

function missing(): never {
  throw new Error("there is nothing here");
}
