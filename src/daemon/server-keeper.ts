import type { ServerRow } from "../companies/mcp-servers.ts";
import { Refusal } from "../contract/refusal.ts";
import type { ProcessOptions } from "../processes/processes.ts";
import { serverStarter } from "../processes/server-process.ts";
import { keepWatchdog } from "../processes/watchdog.ts";
import type { SecretStore } from "../secrets/secrets.ts";
import { createBroker } from "../servers/broker.ts";
import { keepSignIns } from "../servers/signing-in.ts";
import { useServer } from "../servers/use.ts";
import type { Store } from "../store/store.ts";
import { newId, newSecret } from "./ids.ts";
import { version } from "./version.ts";

/** The MCP servers of the companies: their processes, their sign-ins, and the connection of sessions to their tools. */
export function keepServers(parts: {
  readonly store: Store;
  readonly folder: string;
  readonly running: Pick<ProcessOptions, "home" | "url" | "sandbox" | "onDoor" | "path">;
  readonly secrets: SecretStore;
  readonly origin: () => string;
  /** Adds a failure to the transcript of a session. */
  readonly failed: (sessionId: string, text: string) => void;
  readonly reportBug: (error: unknown, about: string) => string;
}) {
  const { store, folder, running, secrets, origin, failed, reportBug } = parts;
  const watchdog = keepWatchdog();
  const signIns = keepSignIns({ store, newId, newSecret, secrets, origin });
  const broker = createBroker({
    store,
    newId,
    secrets,
    signIns,
    version,
    reportBug,
    renewal: () => watchdog.renewal(),
    start: serverStarter({ ...running, servers: folder, watchdog }),
  });
  /** Servers that waited for the sign-in start again at once. */
  const finish = async (answer: URLSearchParams, of?: ServerRow): Promise<string> => {
    const { row, caller } = await signIns.finish(answer, of);
    broker.restart(row);
    void broker.probe(row, caller, false).catch((error: unknown) => reportBug(error, "MCP server"));
    return row.name;
  };
  /** Some programs don't report that they can't connect. */
  const describe = (held: Parameters<typeof broker.describe>[0]) =>
    broker.describe(held).catch((error: unknown) => {
      const { sessionId } = held.caller.actor;
      if (sessionId !== null && error instanceof Refusal) failed(sessionId, error.toBody().error.message);
      throw error;
    });
  return {
    signIns: { ...signIns, finish },
    outside: { ...broker, describe, use: useServer },
    probe: broker.probe,
    hostsOf: broker.hostsOf,
    async stop(): Promise<void> {
      await broker.stop();
      await watchdog.stop();
    },
  };
}
