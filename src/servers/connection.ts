import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  AuthProvider,
  Client,
  FetchLike,
  ServerCapabilities,
  Transport,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import type { ServerTool } from "../companies/mcp-servers.ts";
import { serverLacksSecrets } from "../companies/texts.ts";
import type { ServerConfig } from "../contract/servers.ts";
import type { SessionLimits } from "../processes/runner.ts";
import { itWrote } from "../processes/texts.ts";
import type { ServerProcess, StartServer } from "../processes/server-process.ts";
import type { Hide } from "../redaction/known-texts.ts";
import { limitIntake } from "./intake.ts";
import { mcpClient } from "./mcp-client.ts";
import { overPipes } from "./pipes.ts";
import { fetchFor } from "./reaching.ts";
import type { FoundHealth } from "./server-health.ts";
import { isSignedOut } from "./signing-in.ts";
import { emptyCause, headerHasLines, serverIsDown } from "./texts.ts";

/**
 * One connection to an MCP server, for one agent.
 *
 *   starting ──answers──▶ works ──ends──▶ waiting ──later and later──▶ starting
 *       └────────fails─────────────────────▲
 *   any ──close()──▶ closed
 *
 * The program of a command server lives as long as its connection. Each failure doubles the wait, up to a minute. A server that
 * worked for a minute starts again with the shortest wait. A call made meanwhile is refused with the time of the next start.
 */
export interface ServerConnection {
  /** The client, once the server works. Refuses while the server does not work. */
  ready(): Promise<Client>;
  /** The known abilities of the server. */
  capabilities(): ServerCapabilities;
  instructions(): string | undefined;
  tools(): readonly ServerTool[];
  /** The reason why the server is not working. */
  trouble(): string | undefined;
  /** Called when a request failed in a way that needs a new connection. */
  failed(error: unknown): void;
  onListChanged(listener: (method: string) => void): () => void;
  /** The token with which the server's program reaches the hosts of the record. */
  readonly token: string;
  close(): Promise<void>;
}

export interface ConnectionParts {
  readonly start: StartServer;
  readonly version: string;
  /** The values of the record's secrets, read at each start. */
  readonly values: () => Promise<{ values: Readonly<Record<string, string>>; missing: readonly string[] }>;
  readonly limits: () => Promise<SessionLimits>;
  readonly noteHealth: (found: FoundHealth) => void;
  /** Adds the sign-in to the requests for a remote server. */
  readonly signedIn: (fetch: FetchLike) => { fetch: FetchLike; authProvider?: AuthProvider };
  /** Hides the secrets in everything that the server says. */
  readonly hider: () => Hide;
  /** The end of the last connection for the same agent. No program starts before it. */
  readonly after?: Promise<unknown> | undefined;
}

const connectMilliseconds = 30_000;
const firstWait = 2000;
const longestWait = 60_000;
const betweenChanges = 1000;
const changedLists = ["tools", "prompts", "resources"].map((list) => `notifications/${list}/list_changed`);
const mostTools = 200;
const mostPages = 50;
const mostToolBytes = 256 * 1024;

type State =
  | { readonly is: "starting"; readonly done: Promise<void> }
  | { readonly is: "works"; readonly client: Client; readonly since: number }
  | { readonly is: "waiting"; readonly says: string; readonly until: number; readonly timer: NodeJS.Timeout }
  | { readonly is: "closed" };

export function keepConnection(
  parts: ConnectionParts,
  server: { readonly companyId: string; readonly name: string; readonly config: ServerConfig },
): ServerConnection {
  const listeners = new Set<(method: string) => void>();
  const token = randomUUID();
  let failures = 0;
  let tools: readonly ServerTool[] = [];
  let capabilities: ServerCapabilities = { tools: {} };
  let instructions: string | undefined;
  let process: ServerProcess | undefined;
  let excess: Error | undefined;
  /** The end of the last program, including everything that it left. */
  let ending: Promise<unknown> = parts.after ?? Promise.resolve();
  let state: State = begin();

  function begin(): State {
    const done = connect().then(
      (client) => {
        if (state.is === "closed") return void end(client);
        state = { is: "works", client, since: performance.now() };
        parts.noteHealth({ status: "works", says: "", tools });
      },
      (error: unknown) => wait(error),
    );
    return { is: "starting", done };
  }

  async function connect(): Promise<Client> {
    const { values, missing } = await parts.values();
    if (missing.length > 0) throw new Error(serverLacksSecrets(missing));
    excess = undefined;
    const hear = listChanges(() => client);
    const on = (list: string) => ({
      autoRefresh: false,
      debounceMs: 0,
      onChanged: () => hear(`notifications/${list}/list_changed`),
    });
    const sdk = await mcpClient();
    const client = new sdk.Client(
      { name: "agency", version: parts.version },
      {
        capabilities: {},
        // A server of the newest revision sends notices only to clients that ask for them. Programs are not probed, because
        // some end on the first request that they don't know.
        versionNegotiation: { mode: "command" in server.config ? "legacy" : "auto" },
        listChanged: { tools: on("tools"), prompts: on("prompts"), resources: on("resources") },
      },
    );
    const transport = await transportWith(values, (error) => {
      excess = error;
      if (state.is === "works" && state.client === client) wait(error);
      void end(client);
    });
    // A server may send these notices without having announced them.
    client.fallbackNotificationHandler = async ({ method }) => {
      if (method.endsWith("/list_changed")) hear(method);
    };
    try {
      await client.connect(transport, { timeout: connectMilliseconds });
      capabilities = client.getServerCapabilities() ?? {};
      instructions = client.getInstructions();
      tools = capabilities.tools === undefined ? [] : await toolsOf(client);
    } catch (error) {
      const ended = process?.exited;
      await end(client);
      if (excess !== undefined) throw excess;
      // The exit of a program says more than the silence after it.
      throw ended === undefined ? error : new Error(`${asSentence(messageOf(error))} ${await ended}`);
    }
    void process?.exited.then((says) => {
      if (state.is === "works" && state.client === client) wait(new Error(says));
    });
    return client;
  }

  /** Asks for changed lists, and passes them on, at most once a second. */
  function listChanges(client: () => Client): (method: string) => void {
    const changed = new Set<string>();
    let running: Promise<void> | undefined;
    const pass = async (): Promise<void> => {
      while (changed.size > 0 && state.is === "works" && state.client === client()) {
        const methods = [...changed];
        changed.clear();
        if (methods.includes("notifications/tools/list_changed")) {
          tools = await toolsOf(client()).catch(() => tools);
          parts.noteHealth({ status: "works", says: "", tools });
        }
        for (const method of methods) for (const listener of listeners) listener(method);
        await sleep(betweenChanges, undefined, { ref: false });
      }
    };
    return (method) => {
      // A server may invent any number of lists.
      if (!changedLists.includes(method)) return;
      changed.add(method);
      running ??= pass().finally(() => (running = undefined));
    };
  }

  async function transportWith(
    values: Readonly<Record<string, string>>,
    onExcess: (error: Error) => void,
  ): Promise<Transport> {
    const { config } = server;
    const intake = limitIntake(onExcess);
    if (!("command" in config)) {
      const wrong = Object.keys(values).find((name) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(values[name] ?? ""));
      if (wrong !== undefined) throw new Error(headerHasLines(wrong));
      const { StreamableHTTPClientTransport } = await mcpClient();
      return new StreamableHTTPClientTransport(new URL(config.url), {
        ...parts.signedIn(fetchFor(config, intake)),
        requestInit: { headers: values },
        onInsufficientScope: "throw",
      });
    }
    // Two programs at once could write the same files.
    await ending;
    process = await parts.start({
      id: randomUUID(),
      command: [config.command, ...(config.args ?? [])],
      env: values,
      reads: config.reads ?? [],
      writes: config.writes ?? [],
      limits: await parts.limits(),
      token,
    });
    return overPipes(process, intake);
  }

  function wait(error: unknown): void {
    if (state.is === "closed" || state.is === "waiting") return;
    failures = state.is === "works" && performance.now() - state.since > longestWait ? 1 : failures + 1;
    const milliseconds = Math.min(longestWait, firstWait * 2 ** (failures - 1));
    const says = shortened(parts.hider()(messageOf(error)));
    const timer = setTimeout(() => (state = begin()), milliseconds);
    timer.unref();
    state = { is: "waiting", says, until: performance.now() + milliseconds, timer };
    parts.noteHealth({ status: isSignedOut(error) ? "signed_out" : "fails", says, tools });
  }

  function end(client: Client): Promise<void> {
    const ended = process;
    process = undefined;
    const all = async (): Promise<void> => {
      await client.close().catch(() => undefined);
      ended?.kill();
      await ended?.exited;
    };
    const done = all();
    ending = Promise.allSettled([ending, done]);
    return done;
  }

  return {
    token,
    ready: async () => {
      for (;;) {
        const now = state;
        if (now.is === "works") return now.client;
        if (now.is === "waiting") throw serverIsDown(server.name, now.says, now.until - performance.now());
        if (now.is === "closed") throw serverIsDown(server.name, "", null);
        await now.done;
      }
    },
    capabilities: () => capabilities,
    instructions: () => instructions,
    tools: () => tools,
    trouble: () => (state.is === "waiting" ? state.says : undefined),
    failed: (error) => {
      if (state.is !== "works") return;
      const { client } = state;
      wait(error);
      void end(client);
    },
    onListChanged: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      const last = state;
      state = { is: "closed" };
      if (last.is === "waiting") clearTimeout(last.timer);
      if (last.is === "works") await end(last.client);
      if (last.is === "starting") {
        process?.kill();
        await last.done;
      }
    },
  };
}

const ToolPage = z.looseObject({
  tools: z.array(
    z.looseObject({ name: z.string(), description: z.string().optional(), inputSchema: z.looseObject({}) }),
  ),
  nextCursor: z.string().optional(),
});

/** Tool names that are allowed: none can be read as another name, and none acts on a terminal. */
const toolName = /^[A-Za-z0-9_.-]{1,100}$/;

/** All pages of the list. A list that is too long for a model is cut off. Further tools of the same name are left out. */
async function toolsOf(client: Client): Promise<readonly ServerTool[]> {
  const all: ServerTool[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = ToolPage.parse(
      await client.request({ method: "tools/list", params }, { timeout: connectMilliseconds }),
    );
    all.push(...page.tools);
    cursor = page.nextCursor;
    pages++;
  } while (cursor !== undefined && all.length < mostTools && pages < mostPages);
  const byName = new Map(all.filter(({ name }) => toolName.test(name)).map((tool) => [tool.name, tool]));
  let bytes = 0;
  return [...byName.values()]
    .slice(0, mostTools)
    .filter((tool) => (bytes += JSON.stringify(tool).length) <= mostToolBytes);
}

const mostLine = 400;

/** How the program ended, the first line it wrote that names an error, and the last lines. */
function shortened(says: string): string {
  const [how = "", wrote] = says.split(itWrote, 2);
  if (wrote === undefined) return how.slice(0, 2000);
  const all = wrote.split("\n").filter((line) => line.trim() !== "");
  const cause = all.findIndex((line) => /\berror\b|Error:/i.test(line));
  const lines = all.filter((_, at) => at === cause || at >= all.length - (cause < 0 ? 5 : 4));
  return how.slice(0, 2000) + itWrote + lines.map((line) => line.slice(0, mostLine)).join("\n");
}

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** What the client of the protocol adds to its error about an answer over HTTP. */
const AnswerData = z.looseObject({ status: z.number() });

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const status = "data" in error ? AnswerData.safeParse(error.data).data?.status : undefined;
  // An answer without a body leaves only the beginning of a sentence.
  const said = error.message
    .replace(/^Version negotiation probe failed: /, "")
    .replace(/:\s*$/, status === undefined ? "" : ` (HTTP ${status})`);
  const cause =
    error.cause instanceof Error && !said.includes(error.cause.message) ? error.cause.message : "";
  return `${said === "" ? emptyCause : said}${cause === "" ? "" : ` (${cause})`}`;
}
