import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../cli/run.ts";
import type { Terminal } from "../cli/terminal.ts";
import { createClient } from "../client/client.ts";
import { createCompany } from "../contract/companies.ts";
import { type Daemon, startDaemon } from "../daemon/daemon.ts";

/** Runs the command line in this process against its own daemon and company, Acme. The daemon starts no sessions. */
export interface CommandLine {
  readonly env: Readonly<Record<string, string>>;
  /** A folder for the test's files. close() deletes it. */
  readonly folder: string;
  readonly daemon: Daemon;
  agency(...args: string[]): Promise<{ code: number; out: string; err: string }>;
  /** Runs a command with the key of an agent. */
  as(token: string): CommandLine["agency"];
  /** The output of the newest command so far. */
  readonly printed: () => string;
  /** Adds --json, demands exit code 0 and parses the output. */
  json(...args: string[]): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export async function openCommandLine(terminal: Partial<Terminal> = {}): Promise<CommandLine> {
  const folder = mkdtempSync(join(tmpdir(), "agency-cli-"));
  const env = { AGENCY_HOME: join(folder, "home"), PATH: "" };
  const daemon = await startDaemon({
    home: env.AGENCY_HOME,
    port: 0,
    schedule: false,
    log: () => undefined,
  });
  await createClient(daemon).call(createCompany, { name: "Acme" });
  let newest: string[] = [];
  const as =
    (token?: string): CommandLine["agency"] =>
    async (...args) => {
      const out: string[] = [];
      const err: string[] = [];
      newest = out;
      const code = await run(args, token === undefined ? env : { ...env, AGENCY_TOKEN: token }, {
        out: (text) => out.push(text),
        err: (text) => err.push(text),
        readStdin: async () => Buffer.from("from standard input"),
        ...terminal,
      });
      return { code, out: out.join("\n"), err: err.join("\n") };
    };
  const agency = as();
  return {
    env,
    as,
    folder,
    daemon,
    agency,
    printed: () => newest.join("\n"),
    json: async (...args) => {
      const { code, out, err } = await agency(...args, "--json");
      assert.equal(code, 0, err);
      return JSON.parse(out);
    },
    close: async () => {
      await daemon.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
