// The programs of brains that the tests run. `npm run test:brains` installs exactly these versions outside the repository.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const packages: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "2.1.325",
  "@openai/codex": "0.166.0",
  "@agentclientprotocol/claude-agent-acp": "0.99.1",
  "@agentclientprotocol/codex-acp": "2.6.0",
  "opencode-ai": "1.18.33",
};

/** Where they are installed: AGENCY_CACHE, or `agency-clis` in the user's own cache folder. */
export function installFolder(): string {
  const userCache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  return process.env["AGENCY_CACHE"] ?? join(userCache, "agency-clis");
}

/** The folder with the installed programs. */
export function programFolder(): string {
  const folder = process.env["AGENCY_TEST_PROGRAMS"] ?? join(installFolder(), "node_modules", ".bin");
  if (!existsSync(join(folder, "claude")))
    throw new Error("The programs of the brains are not installed. Run: npm run test:brains");
  return folder;
}
