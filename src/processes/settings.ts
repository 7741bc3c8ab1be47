import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownServer } from "../brains/mcp-config.ts";
import type { StartSpec } from "./runner.ts";

/** The names of the tool with which a brain starts its own sub-agents. It was renamed once. */
const consultants = ["Task", "Agent"];

/** The skills that ship with Agency. The path is the same from src/ and from dist/. */
const ownSkills = fileURLToPath(new URL("../../skills", import.meta.url));

/** The files that a brain reads first. */
export const settingsIn = (workspace: string) => ({
  mcpConfigFile: join(workspace, ".mcp.json"),
  settingsFile: join(workspace, "settings.json"),
  systemPromptFile: join(workspace, "system-prompt.md"),
});

/**
 * Writes the files that a session starts with:
 *   .mcp.json         Agency's door with all its tools, and the servers that the agent was granted
 *   settings.json     allows the tools of those servers and, if the agent may consult, sub-agents
 *   system-prompt.md  the prompt
 *   briefing.json     the situation of the agent, for programs that should not parse sentences
 *   .claude/skills    the skills of Agency and of the company
 * No file contains the session's token. The files refer to the environment variable AGENCY_TOKEN.
 */
export function writeSettings(session: StartSpec, url: string): void {
  // The daemon starts and calls the servers. A session only knows the daemon's door to each server.
  const door = (path: string) => ({
    type: "http",
    url: `${url}/mcp${path}`,
    headers: { Authorization: "Bearer ${AGENCY_TOKEN}" },
    timeout: 3_600_000,
  });
  const granted = session.briefing.mcpServers.map((name): [string, unknown] => [name, door(`/${name}`)]);
  const servers = {
    ...Object.fromEntries(granted),
    // One door for Agency's own tools, because each further connection delays a session. Without this header, the door would
    // also list the tools of the other servers.
    [ownServer]: {
      ...door(""),
      headers: { ...door("").headers, "Agency-Tools": "own" },
      alwaysLoad: true,
    },
  };
  const allow = Object.keys(servers).map((name) => `mcp__${name}`);
  const put = (path: string, content: string): void => writeFileSync(path, content, { mode: 0o600 });
  const { mayConsult, situation } = session.briefing;
  const files = settingsIn(session.workspace);
  put(join(session.workspace, "briefing.json"), JSON.stringify(situation, null, 2));
  const skills = join(session.workspace, ".claude", "skills");
  cpSync(ownSkills, skills, { recursive: true });
  for (const { path, content } of session.skills) {
    mkdirSync(dirname(join(skills, path)), { recursive: true });
    writeFileSync(join(skills, path), content, { mode: 0o600, flag: "wx" });
  }
  put(files.mcpConfigFile, JSON.stringify({ mcpServers: servers }, null, 2));
  const permissions = {
    allow: [...allow, "Read(./**)", "Edit(./**)", "Write(./**)", ...(mayConsult ? consultants : [])],
    deny: mayConsult ? [] : consultants,
  };
  put(files.settingsFile, JSON.stringify({ permissions }, null, 2));
  put(files.systemPromptFile, session.briefing.systemPrompt);
}
