import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { databaseIn, portOf } from "./terminal.ts";
import { systemTrouble } from "./trouble.ts";
import { homeOf, urlOf } from "./where.ts";

/** Checks of what the system gives the daemon: a port and a database. Each finding has a fix. */
interface Checked {
  readonly check: string;
  readonly ok: boolean;
  readonly says: string;
}

/** A running daemon has its port. Otherwise the port that it would take must be free. */
export async function portFinding(env: NodeJS.ProcessEnv, isRunning: boolean): Promise<Checked> {
  if (isRunning) return { check: "port", ok: true, says: `${new URL(urlOf(env)).port}, used by the daemon` };
  const port = portOf(env);
  const trouble = await new Promise<Error | undefined>((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(undefined)));
  });
  if (trouble === undefined) return { check: "port", ok: true, says: `${port} is free` };
  return { check: "port", ok: false, says: oneLine(systemTrouble(trouble, env) ?? trouble.message) };
}

/** A running daemon was just asked. Otherwise the file is read, or the server is called. */
export async function databaseFinding(env: NodeJS.ProcessEnv, isRunning: boolean): Promise<Checked> {
  const { databaseUrlIn, directUrlIn } = await import("../daemon/home.ts");
  const [home, given] = [{ path: homeOf(env) }, databaseIn(env)];
  let address: URL | undefined;
  let directUrl: string | undefined;
  try {
    const url = databaseUrlIn(home, given);
    address = url === undefined ? undefined : new URL(url);
    directUrl = directUrlIn(home, given);
  } catch (error) {
    return { check: "database", ok: false, says: oneLine(systemTrouble(error, env) ?? messageOf(error)) };
  }
  const file = join(homeOf(env), "agency.db");
  const kind = address === undefined ? `SQLite, ${file}` : `PostgreSQL at ${address.host}`;
  if (address !== undefined) {
    if (!isRunning && !(await answers(address)))
      return {
        check: "database",
        ok: false,
        says: `${kind} does not answer. Start it, or correct its address.`,
      };
    const { troubleWith } = await import("../store/pooling.ts");
    const trouble = await troubleWith({ url: address.href, directUrl });
    return { check: "database", ok: trouble === undefined, says: trouble ?? `${kind}, answers` };
  }
  if (isRunning) return { check: "database", ok: true, says: `${kind}, answers` };
  if (!existsSync(file))
    return { check: "database", ok: true, says: `${file} does not exist yet. \`agency up\` creates it.` };
  try {
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(file, { readOnly: true });
    const [found] = database.prepare("pragma quick_check(1)").all();
    database.close();
    const [result] = Object.values(found ?? {});
    if (result !== "ok") throw new Error(`database disk image is malformed: ${String(result)}`);
    return { check: "database", ok: true, says: `${kind}, is sound` };
  } catch (error) {
    return { check: "database", ok: false, says: oneLine(systemTrouble(error, env) ?? String(error)) };
  }
}

const answers = ({ hostname, port }: URL): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(Number(port || 5432), hostname);
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.setTimeout(3000, () => end(false));
    socket.once("error", () => end(false));
    socket.once("connect", () => end(true));
  });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const oneLine = (text: string): string => text.replaceAll("\n", " ");
