import { isAbsolute, relative, resolve } from "node:path";
import type { RequestPermissionRequest, RequestPermissionResponse, ToolKind } from "@agentclientprotocol/sdk";
import { z } from "zod";
import * as texts from "./texts.ts";

/**
 * Answers the requests of an agent's program before it uses a tool, from the rights of the agent. The sandbox and the daemon
 * enforce the same rights. With the answer from here, the program's own refusal comes before the attempt.
 */
export interface SessionRights {
  /** Tools that the settings deny, such as sub-agents for an agent without the right to consult. */
  readonly denied: readonly string[];
  /** The MCP servers of the session: Agency's own, and those that the agent was granted. */
  readonly servers: readonly string[];
  readonly workspace: string;
  /** The agent's own folder. */
  readonly home: string;
  /** Whether the agent has the right `net:<host>`. `*` asks for the right to reach every host. */
  readonly mayReach: (host: string) => Promise<boolean>;
}

type ToolCall = RequestPermissionRequest["toolCall"];

/** The arguments of a tool as the program sent them. Of any other form, they count as none. */
const RawInput = z
  .looseObject({ serverName: z.string().catch(""), cwd: z.string().optional().catch(undefined) })
  .catch({ serverName: "" });

export async function answerPermission(
  { toolCall, options }: Pick<RequestPermissionRequest, "toolCall" | "options">,
  rights: SessionRights,
): Promise<{ refusal: string | undefined; response: RequestPermissionResponse }> {
  const why = await refusalOf(toolCall, options, rights);
  const wanted =
    why === undefined
      ? (["allow_once", "allow_always"] as const)
      : (["reject_once", "reject_always"] as const);
  const option = wanted.flatMap((one) => options.filter((offered) => offered.kind === one))[0];
  return {
    refusal: why ?? (option === undefined ? texts.notOffered : undefined),
    response: {
      outcome:
        option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId },
    },
  };
}

/** The reason why the call is refused. Undefined if it is allowed. */
async function refusalOf(
  call: ToolCall,
  options: RequestPermissionRequest["options"],
  rights: SessionRights,
): Promise<string | undefined> {
  const tools = [call.name ?? "", call.title ?? ""].flatMap((text) => text.split(/[^\w]+/).slice(0, 1));
  const denied = tools.find((tool) => rights.denied.includes(tool));
  if (denied !== undefined) return texts.toolDenied(denied);
  const kind = call.kind ?? "other";
  if (kind === "other") return isOfServer(call, options, rights.servers) ? undefined : texts.toolUnknown;
  const rule: Rule | undefined = Object.hasOwn(rules, kind) ? rules[kind] : undefined;
  return rule === undefined ? texts.kindUnknown(kind) : rule(call, rights);
}

type Rule = (call: ToolCall, rights: SessionRights) => Promise<string | undefined> | string | undefined;

const writes: Rule = (call, { workspace, home }) => {
  const outside = pathsIn(call, workspace).find((path) => !isWithin(path, [workspace, home]));
  return outside === undefined ? undefined : texts.outsideWorkspace(outside);
};

/** Besides its own folders, a session reads only system files: programs, their libraries and their settings. */
const reads: Rule = (call, { workspace, home }) => {
  const outside = pathsIn(call, workspace).find(
    (path) => !isWithin(path, [workspace, home, ...systemFolders]),
  );
  return outside === undefined ? undefined : texts.outsideWorkspace(outside);
};
const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt"];

/** A call without a host, such as a search of the web, may reach any host. */
const fetches: Rule = async (call, { mayReach }) => {
  const hosts = hostsIn(call);
  for (const host of hosts.length === 0 ? ["*"] : hosts)
    if (!(await mayReach(host))) return texts.hostDenied(host);
  return undefined;
};

const rules: Readonly<Record<Exclude<ToolKind, "other">, Rule>> = {
  read: reads,
  search: reads,
  edit: writes,
  delete: writes,
  move: writes,
  // A command runs in the session's sandbox, which has no more rights than the session.
  execute: writes,
  think: () => undefined,
  fetch: fetches,
  switch_mode: () => texts.modeStays,
};

/**
 * Programs have their own names for the tools of MCP servers: `mcp__agency__read_inbox`, `agency_read_inbox`,
 * `mcp.agency.read_inbox`. Gemini shows only the tool's title, but offers to allow its server. A session has no other servers
 * than ours.
 */
function isOfServer(
  { name, title, toolCallId, rawInput }: ToolCall,
  options: RequestPermissionRequest["options"],
  servers: readonly string[],
): boolean {
  const plain = (text: string): string => `_${text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")}_`;
  const named = [name ?? "", title ?? "", toolCallId, RawInput.parse(rawInput).serverName];
  return (
    servers.some((server) => named.some((text) => plain(text).includes(plain(server)))) ||
    options.some(({ name: offered }) => /\bserver\b/i.test(offered))
  );
}

function pathsIn({ locations, content, rawInput }: ToolCall, workspace: string): string[] {
  const { cwd } = RawInput.parse(rawInput);
  const named = [
    ...(locations ?? []).map(({ path }) => path),
    ...(content ?? []).flatMap((one) => (one.type === "diff" ? [one.path] : [])),
    ...(cwd === undefined ? [] : [cwd]),
  ];
  return named.map((path) => resolve(workspace, path));
}

function isWithin(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => {
    const way = relative(folder, path);
    return way === "" || (!way.startsWith("..") && !isAbsolute(way));
  });
}

function hostsIn({ title, rawInput, content }: ToolCall): string[] {
  const text = `${title ?? ""} ${JSON.stringify(rawInput ?? "")} ${JSON.stringify(content ?? "")}`;
  const hosts = [...text.matchAll(/\bhttps?:\/\/[^\s"'<>\\)\]}]+/gi)].map(([url]) =>
    URL.canParse(url) ? new URL(url).hostname : "*",
  );
  return [...new Set(hosts)];
}
