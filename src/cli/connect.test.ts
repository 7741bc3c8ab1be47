import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openCommandLine } from "../testing/command-line.ts";
import { run } from "./run.ts";

/** `agency connect` with programs that only record how they were called. e2e/brains tests the real programs. */
describe("connecting a person's own program", async () => {
  const line = await openCommandLine();
  after(() => line.close());
  const bin = join(line.folder, "bin");
  mkdirSync(bin);
  const agency = async (path: string, ...args: string[]): Promise<string> => {
    const said: string[] = [];
    const terminal = { out: (text: string) => said.push(text), err: (text: string) => said.push(text) };
    const code = await run(
      args,
      { ...line.env, PATH: path },
      { ...terminal, readStdin: async () => Buffer.from("") },
    );
    return `${code} ${said.join("\n")}`;
  };
  const signIns = async (): Promise<string[]> =>
    Object(await line.json("me")).signIns.map(({ label }: { label: string }) => label);

  test("a program that is not installed is named with the command that installs it, and nothing is signed in", async () => {
    assert.match(
      await agency(bin, "connect", "claude"),
      /^1 Claude Code is not installed\.\nInstall it with: npm/,
    );
    assert.match(await agency(bin, "connect", "gemini"), /^2 [^]*claude, codex/);
    assert.match(
      await agency(bin, "mcp", "claude"),
      /^1 claude is not connected\.\nConnect it: agency connect claude/,
    );
    assert.deepEqual(await signIns(), ["board-token"]);
  });

  test("the program gets a bridge and no token; a program that refuses is quoted", async () => {
    const noted = join(line.folder, "noted");
    writeFileSync(join(bin, "claude"), `#!/bin/sh\necho "$@" >> ${noted}\n`);
    chmodSync(join(bin, "claude"), 0o755);
    assert.match(
      await agency(`${bin}:/usr/bin:/bin`, "connect", "claude"),
      /^0 Claude Code now has the tools of Agency/,
    );
    assert.deepEqual(await signIns(), ["board-token", "Claude Code (agency connect)"]);
    const kept = join(line.env["AGENCY_HOME"] ?? "", "connect-claude.json");
    const { token } = JSON.parse(readFileSync(kept, "utf8"));
    const calls = readFileSync(noted, "utf8");
    assert.match(calls, /mcp add --scope user agency -e AGENCY_HOME=\S+ -- \S+ \S+main\.ts mcp claude/);
    assert.ok(!calls.includes(token), "the token is in a command line");
    writeFileSync(
      join(bin, "claude"),
      `#!/bin/sh\n[ "$2" = add ] && { echo "no room" >&2; exit 1; }\nexit 0\n`,
    );
    assert.match(
      await agency(`${bin}:/usr/bin:/bin`, "connect", "claude"),
      /^1 Claude Code did not take the server: no room/,
    );
    assert.match(
      await agency(`${bin}:/usr/bin:/bin`, "connect", "claude", "--remove"),
      /^0 Claude Code is not connected any more\./,
    );
    assert.deepEqual([await signIns(), existsSync(kept)], [["board-token"], false]);
  });
});
