import { isDeepStrictEqual } from "node:util";
import {
  healthOf,
  noteHealth,
  serverNamed,
  type ServerHealth,
  type ServerRow,
  type ServerTool,
} from "../companies/mcp-servers.ts";
import { writeIn } from "../dispatch/context.ts";
import type { Store } from "../store/store.ts";

/**
 * The known state of a server. Each agent has a separate connection, so a server may fail for one agent and work for others. It
 * counts as working once no connection of the last minutes fails.
 *
 * Agents see the definition of a tool that the board saw: in a test, or else the first one. A server that changes its
 * description of a tool after it was granted could give orders to agents that way. The change is recorded, and takes effect
 * with the next test.
 */
export interface FoundHealth {
  readonly status: "works" | "fails" | "signed_out";
  readonly says: string;
  readonly tools: readonly ServerTool[];
}

/** A failing connection tries again within a minute. An older finding belongs to a connection that has ended. */
const stale = 3 * 60_000;
const mostFailing = 50;
const mostGone = 200;

export interface HealthSource {
  /** The agent whose connection found it. Empty for a test by the board. */
  readonly agentId: string;
  /** True if the board accepts the definitions of the tools. */
  readonly isSeen: boolean;
}

export function mergedHealth(
  was: ServerHealth | undefined,
  found: FoundHealth,
  { agentId, isSeen }: HealthSource,
  at: number,
): ServerHealth {
  const isFine = found.status === "works";
  const others = Object.entries(was?.failing ?? {}).filter(
    ([id, trouble]) =>
      id !== agentId && !(isFine && (id === "" || agentId === "" || at - trouble.at > stale)),
  );
  const own = isFine ? [] : [[agentId, { status: found.status, says: found.says, at }] as const];
  const failing = Object.fromEntries([...others.slice(-mostFailing), ...own]);
  const newest = Object.values(failing).toSorted((a, b) => b.at - a.at)[0];
  const { status, says } = newest ?? { status: "works" as const, says: "" };
  return { status, says, at, failing, ...comparedTools(was, found, isSeen) };
}

function comparedTools(was: ServerHealth | undefined, { status, tools }: FoundHealth, isSeen: boolean) {
  const { tools: before = [], gone = [], changed = [] } = was ?? {};
  // A server that failed before it could list its tools has lost none.
  if (status !== "works" && tools.length === 0) return { tools: before, gone, changed };
  if (isSeen) return { tools: [...tools], gone: [], changed: [] };
  const known = new Map([...gone, ...before].map((tool) => [tool.name, tool]));
  return {
    tools: tools.map((tool) => known.get(tool.name) ?? tool),
    gone: [...known.values()]
      .filter(({ name }) => !tools.some((tool) => tool.name === name))
      .slice(-mostGone),
    changed: tools.filter((tool) => differs(tool, known)).map(({ name }) => name),
  };
}

const differs = (tool: ServerTool, known: ReadonlyMap<string, ServerTool>): boolean => {
  const before = known.get(tool.name);
  return before !== undefined && !isDeepStrictEqual(before, tool);
};

/** The tools as agents see them: with the definitions that the board saw. */
export function seenTools(
  live: readonly ServerTool[],
  health: ServerHealth | undefined,
): readonly ServerTool[] {
  if (live.length === 0) return health?.tools ?? [];
  const known = new Map([...(health?.gone ?? []), ...(health?.tools ?? [])].map((tool) => [tool.name, tool]));
  return live.map((tool) => known.get(tool.name) ?? tool);
}

/** Stores the finding. Records a change between working and failing, and tools whose definition has changed. */
export async function keepHealth(
  parts: { readonly store: Store; readonly newId: () => string },
  row: ServerRow,
  found: FoundHealth,
  by: HealthSource,
): Promise<void> {
  const { company_id: companyId, name: server } = row;
  await writeIn(parts.store, companyId, parts.newId, async (call) => {
    const { tx } = call;
    const before = await serverNamed(tx, companyId, server).catch(() => undefined);
    if (before === undefined || before.config !== row.config) return;
    const was = healthOf(before);
    const now = mergedHealth(was, found, by, tx.now);
    await noteHealth(tx, row, now);
    const changed = now.changed.filter((name) => was?.changed.includes(name) !== true);
    if (changed.length > 0) await call.record(companyId, { server, tools: changed }, "mcp_server.change");
    if ((was?.status ?? "works") === now.status) return;
    if (now.status === "works") await call.record(companyId, { server }, "mcp_server.recover");
    else await call.record(companyId, { server, says: now.says }, "mcp_server.fail");
  });
}
