// Organizations whose agents are programs: the brain `process` with actor.mjs, or with a line of shell.
import { allowed } from "../../src/testing/allowed.ts";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { grantPermission } from "../../src/contract/capabilities.ts";
import { updateCompany, viewCompany } from "../../src/contract/companies.ts";
import { createAgent } from "../../src/contract/hiring.ts";
import { updateAgent } from "../../src/contract/agents.ts";
import type { BuiltDaemon } from "./daemon.ts";

const actor = fileURLToPath(new URL("actor.mjs", import.meta.url));

/** The brain that runs actor.mjs. `wild` is explained there. */
export function actorBrain(folder: string, options: { wild: boolean }) {
  return {
    adapterType: "process",
    adapterConfig: {
      command: process.execPath,
      // A sandbox shows files that the arguments name. So the actor notices the file that calms all actors.
      args: [actor, join(folder, "calm")],
      env: { ACTOR_FOLDER: folder, ACTOR_WILD: options.wild ? "1" : "0" },
    },
  };
}

/** Prints the session's token letter by letter. A transcript hides the token itself. */
export const sayToken = `printf 'said '; printf %s "$AGENCY_TOKEN" | sed 's/./& /g'; echo`;

/** The token that a session printed with `sayToken`. Undefined before the line is complete. */
export function tokenIn(transcript: string): string | undefined {
  return /^said ((?:\S )+)\n/m.exec(transcript)?.[1]?.replaceAll(" ", "");
}

const waiting = (onTerm: string) =>
  ({
    adapterType: "process",
    adapterConfig: {
      command: "/bin/sh",
      args: ["-c", `trap '${onTerm}' TERM; sleep 3600 & sleep 3600 & ${sayToken}; wait`],
    },
  }) as const;

/** The output of a sleeper that is asked to end. */
export const farewell = "asked to end";

/** A brain that waits, with two children that wait as well. It prints its token once both run. */
export const sleeper = waiting(`echo ${farewell}; exit 0`);

/** Like the sleeper, but neither it nor its children end when asked. */
export const deaf = waiting("");

/** Like the sleeper, with a child that left its parent's process group. Only a sandbox can end such a child. */
export const runaway = {
  adapterType: "process",
  adapterConfig: {
    command: process.execPath,
    args: [
      "-e",
      `const { spawn } = require("node:child_process");
       for (const detached of [true, false]) spawn("sleep", ["3600"], { stdio: "ignore", detached });
       console.log("said " + process.env.AGENCY_TOKEN.replaceAll(/./g, "$& "));`,
    ],
  },
} as const;

/** Waits for this many sessions of sleepers on a home. Returns them with the tokens they printed. */
export async function tokensOf(home: string, count: number): Promise<{ id: string; token: string }[]> {
  const folder = join(home, "transcripts");
  for (const start = performance.now(); ; await sleep(50)) {
    const entries = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
    const said = entries.flatMap((name) => {
      const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
      const token = tokenIn(lines.map((line): string => Object(JSON.parse(line)).text ?? "").join(""));
      return token === undefined ? [] : [{ id: name.slice(0, -".jsonl".length), token }];
    });
    if (said.length >= count) return said;
    if (performance.now() - start > allowed(120_000))
      throw new Error(`${said.length} sessions have begun, not ${count}`);
  }
}

export interface Staff {
  readonly rootId: string;
  /** The agents that take goals from the board and may hire. */
  readonly managerIds: readonly string[];
}

/** Makes the root and some managers below it. All are actors that may hire more actors. */
export async function employActors(
  daemon: BuiltDaemon,
  folder: string,
  options: { wild: boolean; managers: number; maxSessions: number },
): Promise<Staff> {
  const { board, companyId } = daemon;
  mkdirSync(folder, { recursive: true });
  const { rootAgentId } = await board.call(viewCompany, { companyId });
  const brain = actorBrain(folder, options);
  await board.call(updateCompany, {
    companyId,
    maxSessions: options.maxSessions,
    allowedAdapterTypes: ["process"],
    requireBoardApprovalForNewAgents: false,
    maxAgents: 10_000,
  });
  await board.call(updateAgent, { id: rootAgentId, ...brain });
  const managerIds = [];
  for (let number = 0; number < options.managers; number++) {
    const name = `Manager ${number}`;
    const { id } = await board.call(createAgent, { companyId, name, role: "Manager", ...brain });
    await board.call(grantPermission, { companyId, to: id, resource: "org:hire" });
    managerIds.push(id);
  }
  return { rootId: rootAgentId, managerIds };
}

/** Tells the actors to do only what they must from now on. */
export function calmDown(folder: string): void {
  writeFileSync(join(folder, "calm"), "");
}

const Line = z.object({
  session: z.string().optional(),
  token: z.string().optional(),
  pid: z.number().optional(),
  agent: z.string().optional(),
  attempt: z.string().optional(),
  acknowledged: z.string().optional(),
  id: z.string().optional(),
  tool: z.string().optional(),
  /** The label of the effect: part of the title, the description or the first line. */
  outcome: z.string().optional(),
  file: z.string().optional(),
  letter: z.string().optional(),
  /** The id of the acknowledged message. */
  acknowledge: z.string().optional(),
  ghost: z.string().optional(),
  haunted: z.string().optional(),
  error: z.string().optional(),
});

/** An attempt, by the label of its effect. An acknowledged attempt also has the id from the answer. */
export interface Attempt {
  readonly kind: "outcome" | "file" | "letter";
  readonly label: string;
  readonly id: string | undefined;
}

export interface Notes {
  readonly sessions: readonly { id: string; token: string; agentId: string }[];
  readonly attempts: readonly Attempt[];
  /** The messages that were certainly acknowledged. */
  readonly acknowledged: readonly string[];
  /** Writes tried after the daemon was gone, and how many of them reached a daemon. */
  readonly ghosts: number;
  readonly haunted: number;
  readonly errors: readonly string[];
  readonly calls: number;
}

/** Reads the notes of all actors so far. The last line of a killed actor may be incomplete. */
export function readNotes(folder: string): Notes {
  const notes = {
    sessions: new Array<Notes["sessions"][number]>(),
    attempts: new Array<Attempt>(),
    acknowledged: new Array<string>(),
    errors: new Array<string>(),
    ghosts: 0,
    haunted: 0,
    calls: 0,
  };
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(".jsonl")) continue;
    const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
    const parsed = lines.map((line) => Line.parse(JSON.parse(line)));
    const answers = new Map(parsed.map((line) => [line.acknowledged, line]));
    for (const line of parsed) {
      if (line.session !== undefined)
        notes.sessions.push({ id: line.session, token: line.token ?? "", agentId: line.agent ?? "" });
      if (line.error !== undefined) notes.errors.push(line.error);
      if (line.ghost !== undefined) notes.ghosts += 1;
      if (line.haunted !== undefined) notes.haunted += 1;
      if (line.attempt === undefined) continue;
      const answer = answers.get(line.attempt);
      if (answer !== undefined) notes.calls += 1;
      if (line.acknowledge !== undefined && answer !== undefined) notes.acknowledged.push(line.acknowledge);
      for (const kind of ["outcome", "file", "letter"] as const) {
        const label = line[kind];
        // Delegating also sends a letter, but answers with the outcome.
        const id = line.tool === "delegate_outcome" && answer !== undefined ? "" : answer?.id;
        if (label !== undefined) notes.attempts.push({ kind, label, id });
      }
    }
  }
  return notes;
}

/**
 * A fixed port, for a program that listens later, or for several daemons one after the other: processes that a killed daemon
 * left behind then find the next daemon. It is below the range from which the system takes ports for outgoing connections and
 * for servers that ask for any port. So none of them takes it meanwhile.
 */
export async function fixedPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
