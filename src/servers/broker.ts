import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult, ServerCapabilities } from "@modelcontextprotocol/client";
import { demand } from "../capabilities/visible.ts";
import { serversOf } from "../capabilities/grants.ts";
import { holds } from "../capabilities/rights.ts";
import {
  storedConfig,
  healthOf,
  serverNamed,
  type ServerRow,
  type ServerTool,
} from "../companies/mcp-servers.ts";
import { notFound, Refusal } from "../contract/refusal.ts";
import { SecretReference } from "../contract/secrets.ts";
import { shown } from "../contract/visible-text.ts";
import { settingsOf } from "../dispatch/company-settings.ts";
import { authenticate, type Caller } from "../dispatch/identity.ts";
import type { StartServer } from "../processes/server-process.ts";
import { type Hide, hiderOf } from "../redaction/known-texts.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { selection } from "../store/query.ts";
import type { ReadTx, Store } from "../store/store.ts";
import { type ServerConnection, keepConnection, messageOf } from "./connection.ts";
import { markedTool } from "./server-answers.ts";
import {
  type ServerCall,
  serverCalls,
  type ServerRequest,
  type ServerUser,
  type UsedConnection,
  whileOpen,
} from "./server-calls.ts";
import { type FoundHealth, type HealthSource, keepHealth, seenTools } from "./server-health.ts";
import type { SignIns } from "./signing-in.ts";
import * as texts from "./texts.ts";

/**
 * The daemon's part between sessions and the company's MCP servers. A session never talks to a server directly, never sees its
 * secrets, and can do no more than its right allows. The right is checked in the transaction that records a call (use.ts), and
 * again after every commit and every second while the call runs.
 *
 * A connection lasts while its agent's session runs, the right is valid, and the record and its sign-in are unchanged.
 */
export interface BrokerParts {
  readonly store: Store;
  readonly newId: () => string;
  readonly secrets: Pick<SecretStore, "valueFor" | "valuesOf">;
  readonly signIns: SignIns;
  readonly start: StartServer;
  readonly version: string;
  readonly reportBug: (error: unknown, about: string) => string;
  /**
   * Called before each check of the rights. The returned function is called after it with the time for which the servers'
   * programs may live.
   */
  readonly renewal: () => (milliseconds: number) => void;
}

interface Kept extends UsedConnection {
  readonly sessionId: string | null;
  held: ServerUser;
  readonly hosts: readonly string[];
}

const mostConnections = 100;
const checkEvery = 1000;
const leastBetween = 100;
/** If rights could not be checked for this long, they count as ended. */
const patience = 15_000;
/** A program that acts for an agent from outside has no session. So its server ends after this time without a call. */
const idleMilliseconds = 10 * 60_000;
/** The longest that a list of tools waits for a starting server. Most take a second or two. */
const startMilliseconds = 20_000;
/** The longest that a connecting client waits for a server that starts again. */
const restartMilliseconds = 3000;

export function createBroker(parts: BrokerParts) {
  const { store } = parts;
  /** Promises that dropped connections have ended. The next connection with the same key waits for its predecessor. */
  const ending = new Map<string, Promise<unknown>>();
  const connections = new Map<string, Kept>();
  /** Programs of servers that the board tests. They can reach the hosts of their record as well. */
  const probes = new Map<string, { readonly caller: Caller; readonly hosts: readonly string[] }>();
  const calls = serverCalls({ ...parts, check });
  let checkedAt = performance.now();
  let checking: Promise<void> | undefined;
  let isStopped = false;

  const beat = setInterval(() => void check(), checkEvery);
  beat.unref();
  const forget = store.onCommit(() => {
    if ((calls.open().length > 0 || connections.size > 0) && performance.now() - checkedAt > leastBetween)
      void check();
  });

  /** Checks every right again that an open connection or call rests on. */
  function check(): Promise<void> {
    checking ??= look().finally(() => (checking = undefined));
    return checking;
  }

  async function look(): Promise<void> {
    if (calls.open().length === 0 && connections.size === 0) return void (checkedAt = performance.now());
    try {
      const [running, kept] = [calls.open(), [...connections]];
      const confirm = parts.renewal();
      const ended = await store.read(async (tx) => ({
        calls: await Promise.all(running.map(async (call) => ({ call, why: await whyEnded(tx, call.held) }))),
        kept: await Promise.all(
          kept.map(async ([key, one]) => ({ key, one, why: await whyEnded(tx, one.held) })),
        ),
      }));
      checkedAt = performance.now();
      confirm(patience);
      for (const { call, why } of ended.calls)
        if (why !== undefined) call.cut(texts.rightEnded(call.held.row.name, why.toBody().error));
      for (const { key, one, why } of ended.kept) {
        const isIdle =
          one.sessionId === null && one.calls === 0 && performance.now() - one.usedAt > idleMilliseconds;
        if ((why !== undefined || isIdle) && connections.get(key) === one) drop(key);
      }
    } catch (error) {
      if (!isStopped) parts.reportBug(error, "rights of MCP servers");
      if (performance.now() - checkedAt < patience) return;
      for (const { cut, held } of calls.open()) cut(texts.serverIsDown(held.row.name, "", null));
      for (const key of connections.keys()) drop(key);
    }
  }

  async function whyEnded(tx: ReadTx, held: ServerUser): Promise<Refusal | undefined> {
    try {
      const now = await allowedIn(tx, held.token, held.as, held.row.name);
      if (now.row.config !== held.row.config) return texts.recordChanged(held.row.name);
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  function drop(key: string): void {
    const kept = connections.get(key);
    connections.delete(key);
    if (kept === undefined) return;
    const closed = Promise.all([
      ending.get(key),
      kept.connection.close().catch((error: unknown) => void parts.reportBug(error, "MCP server")),
    ]);
    ending.set(key, closed);
    void closed.then(() => {
      if (ending.get(key) === closed) ending.delete(key);
    });
  }

  const keyOf = ({ companyId, agentId, row }: ServerUser): string => `${companyId} ${agentId} ${row.name}`;

  function connectionFor(held: ServerUser): Kept {
    const key = keyOf(held);
    const { sessionId } = held.caller.actor;
    const known = connections.get(key);
    if (known !== undefined && known.sessionId === sessionId && known.held.row.config === held.row.config) {
      known.held = held;
      known.usedAt = performance.now();
      return known;
    }
    drop(key);
    if (connections.size >= mostConnections) throw texts.tooManyServers(mostConnections);
    const made = keepFor(held.row, held.agentId, { after: ending.get(key) });
    const kept = { ...made, sessionId, held, calls: 0, usedAt: performance.now() };
    connections.set(key, kept);
    return kept;
  }

  function keepFor(
    row: ServerRow,
    agentId: string,
    { accepts = false, after }: { accepts?: boolean; after?: Promise<unknown> | undefined } = {},
  ) {
    const { company_id: companyId, name } = row;
    const config = storedConfig(row);
    // The server's own secrets are hidden in its answers even if they look like ordinary words.
    let own: readonly string[] = [];
    let last = { of: "", hide: hiderOf([]) };
    const hider = (): Hide => {
      const all = [...parts.secrets.valuesOf(companyId), ...own];
      const of = hash("sha256", all.join("\0"));
      if (last.of !== of) last = { of, hide: hiderOf(all) };
      return last.hide;
    };
    const connection = keepConnection(
      {
        start: parts.start,
        after,
        version: parts.version,
        hider,
        values: async () => {
          const { signedIn, ...read } = await store.read(async (tx) => ({
            ...(await valuesIn(tx, companyId, config)),
            signedIn: await parts.signIns.valuesFor(tx, row),
          }));
          own = [...Object.values(read.values), ...signedIn, connection.token];
          return read;
        },
        signedIn: (fetch) => parts.signIns.askAs(row, fetch),
        limits: () =>
          store.read(async (tx) => {
            const settings = await settingsOf(tx, companyId);
            return {
              processes: settings.maxSessionProcesses,
              memoryMb: settings.maxSessionMemoryMb,
              diskMb: settings.maxSessionDiskMb,
            };
          }),
        noteHealth: (found) => void note(row, found, { agentId, isSeen: accepts }),
      },
      { companyId, name, config },
    );
    return { connection, hider, hosts: "command" in config ? (config.hosts ?? []) : [] };
  }

  async function valuesIn(tx: ReadTx, companyId: string, config: ReturnType<typeof storedConfig>) {
    const values: Record<string, string> = {};
    const missing: string[] = [];
    for (const [key, given] of Object.entries(("command" in config ? config.env : config.headers) ?? {})) {
      const reference = SecretReference.safeParse(given).data;
      const value =
        typeof given === "string" || reference === undefined
          ? ""
          : await parts.secrets.valueFor(tx, companyId, reference.secret);
      if (value === undefined) missing.push(reference?.secret ?? key);
      else values[key] = value;
    }
    return { values, missing };
  }

  async function note(row: ServerRow, found: FoundHealth, by: HealthSource): Promise<void> {
    await keepHealth(parts, row, found, by).catch((error: unknown) => {
      if (!isStopped) parts.reportBug(error, `MCP server ${row.name}`);
    });
  }

  /** Checks that a caller may use the server. Throws a refusal otherwise. */
  async function allowedIn(
    tx: ReadTx,
    token: string | undefined,
    as: string | undefined,
    name: string,
  ): Promise<ServerUser> {
    const caller = await authenticate(tx, token, as);
    const { agentId } = caller.actor;
    const { companyId } = caller;
    if (caller.person?.unplaced !== undefined) throw caller.person.unplaced;
    if (agentId === null || companyId === null)
      throw (await tx.first(anyServer, { name })) === undefined
        ? notFound("MCP server", name)
        : texts.onlyAgentsUse(name);
    const row = await serverNamed(tx, companyId, name);
    await demand(tx, caller.actor, [{ on: `mcp:${name}`, level: "use" }]);
    return { token, as, caller, companyId, agentId, row };
  }

  /** The servers that the caller may use now. */
  function allHeld(token: string | undefined, as: string | undefined): Promise<ServerUser[]> {
    return store.read(async (tx) => {
      const { actor, companyId } = await authenticate(tx, token, as);
      const { agentId } = actor;
      if (agentId === null || companyId === null) return [];
      const rows = [];
      for (const row of await tx.all(serversOf, { company_id: companyId }))
        if (await holds(tx, agentId, `mcp:${row.name}`, "use"))
          rows.push(await allowedIn(tx, token, as, row.name));
      return rows;
    });
  }

  return {
    /** Reads the caller's right to use a server. Throws a refusal without the right. */
    allowed: (token: string | undefined, as: string | undefined, name: string): Promise<ServerUser> =>
      store.read((tx) => allowedIn(tx, token, as, name)),

    /** The tools of all servers that the caller may use, as the servers last listed them. */
    allTools: async (token: string | undefined, as: string | undefined) => {
      const all = await Promise.all(
        (await allHeld(token, as)).map(async (one) =>
          (await toolsOf(one)).map((tool) => ({ ...tool, name: `${one.row.name}__${tool.name}` })),
        ),
      );
      return all.flat();
    },

    tools: toolsOf,

    /** Starts the server if it does not run yet, and returns its abilities. Refuses if it does not work. */
    describe: async (
      held: ServerUser,
    ): Promise<{ capabilities: ServerCapabilities; instructions: string }> => {
      const { connection, hider } = connectionFor(held);
      await soon(connection);
      return {
        capabilities: connection.capabilities(),
        instructions: shown(hider()(texts.aboutServer(held.row.name, connection.instructions()))),
      };
    },

    /** Makes a call that has been recorded (use.ts). */
    call: (held: ServerUser, call: ServerCall): Promise<CallToolResult> =>
      calls.call(() => connectionFor(held), held, call),

    request: (held: ServerUser, request: ServerRequest): Promise<Record<string, unknown>> =>
      calls.request(connectionFor(held), held, request),

    /** Calls the listener when a list of the server changes. */
    follow: (held: ServerUser, listener: (method: string) => void): (() => void) =>
      connectionFor(held).connection.onListChanged(listener),

    followAll: async (token: string | undefined, as: string | undefined, listener: () => void) => {
      const followed = new Map<string, { connection: ServerConnection; forget: () => void }>();
      const hear = (method: string): void => {
        if (method === "notifications/tools/list_changed") listener();
      };
      const look = async (): Promise<boolean> => {
        const held = new Map((await allHeld(token, as)).map((one) => [one.row.name, one]));
        let isOther = false;
        for (const [name, { forget: leave }] of followed)
          if (!held.has(name)) {
            leave();
            isOther = followed.delete(name);
          }
        for (const [name, one] of held) {
          const known = followed.get(name);
          // Listening alone does not restart a server that was ended because it was idle.
          const { connection } =
            known === undefined ? connectionFor(one) : (connections.get(keyOf(one)) ?? known);
          if (known?.connection === connection) continue;
          known?.forget();
          followed.set(name, { connection, forget: connection.onListChanged(hear) });
          isOther = true;
        }
        return isOther;
      };
      await look();
      return {
        look: async () => {
          if (await look()) listener();
        },
        forget: () => {
          for (const { forget: leave } of followed.values()) leave();
        },
      };
    },

    /**
     * Tests a server for the board, apart from every agent. If the board accepts them, agents get the tools as they are now.
     */
    probe: async (
      row: ServerRow,
      caller: Caller,
      accept: boolean,
    ): Promise<{ tools: readonly ServerTool[]; says: string; works: boolean }> => {
      const { connection, hider, hosts } = keepFor(row, "", { accepts: accept });
      probes.set(connection.token, { caller, hosts });
      try {
        await connection.ready();
        return { works: true, tools: connection.tools(), says: "" };
      } catch (error) {
        return { works: false, tools: [], says: hider()(connection.trouble() ?? messageOf(error)) };
      } finally {
        await connection.close();
        probes.delete(connection.token);
      }
    },

    /** Ends all connections to a server, for example after a sign-in. Each starts again with the next call. */
    restart: ({ company_id: companyId, name }: ServerRow): void => {
      for (const [key, { held }] of connections)
        if (held.companyId === companyId && held.row.name === name) drop(key);
    },

    /** The server whose program shows this token to the relay, and the hosts that its record names. */
    hostsOf: (token: string): { readonly caller: Caller; readonly hosts: readonly string[] } | undefined => {
      for (const { connection, held, hosts } of connections.values())
        if (connection.token === token) return { caller: held.caller, hosts };
      return probes.get(token);
    },

    stop: async (): Promise<void> => {
      isStopped = true;
      clearInterval(beat);
      forget();
      for (const { cut, held } of calls.open()) cut(texts.serverIsDown(held.row.name, "", null));
      await Promise.all([...connections.values()].map(({ connection }) => connection.close()));
      connections.clear();
    },
  };

  async function toolsOf(held: ServerUser) {
    const kept = connectionFor(held);
    await soon(kept.connection).catch(() => undefined);
    const tools = seenTools(kept.connection.tools(), healthOf(held.row));
    const hide = kept.hider();
    return tools.map((tool) => markedTool(held.row.name, tool, hide));
  }
}

const anyServer = selection("mcp_servers", ["name"]);

/** Waits a moment for a server that starts. Throws a refusal if it still does not work then. */
async function soon(connection: ServerConnection): Promise<void> {
  for (const begun = performance.now(); ;) {
    const waited = AbortSignal.timeout(startMilliseconds);
    try {
      return void (await whileOpen(connection.ready(), waited));
    } catch (error) {
      if (performance.now() - begun > restartMilliseconds) throw error;
      await sleep(200, undefined, { ref: false });
    }
  }
}
