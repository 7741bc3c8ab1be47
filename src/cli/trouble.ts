import { homeOf } from "./where.ts";

/** The problem with the system, and what to do. Undefined if the error does not come from the system. */
export function systemTrouble(error: unknown, env: NodeJS.ProcessEnv): string | undefined {
  const { code, port, path, message, syscall } = Object(error);
  const text = String(message ?? "");
  const home = homeOf(env);
  if (code === "EADDRINUSE")
    return `Port ${String(port)} is taken by another program, or by another Agency.\nUse a different one: agency up --port ${Number(port) + 1}. To see whether it is yours: agency status`;
  if (code === "EACCES" && port !== undefined)
    return `Your user account is not allowed to listen on port ${String(port)}.\nUse a port above 1023: agency up --port 4600`;
  // Node reports ENOENT if a folder can't be made on a read-only file system.
  if (["EROFS", "EACCES", "EPERM"].includes(String(code)) || (code === "ENOENT" && syscall === "mkdir"))
    return `Agency can't write to ${String(path ?? home)}.\nMake the folder writable for your user, or choose another: AGENCY_HOME=<folder> agency up`;
  if (code === "ENOTDIR" || code === "EEXIST")
    return `${String(path ?? home)} is not a folder.\nChoose another home: AGENCY_HOME=<folder> agency up`;
  if (/not a database|malformed|disk image|file is encrypted/i.test(text))
    return `The database ${home}/agency.db is damaged: ${text}.\nRestore it from a backup. To start without it, move it away: mv ${home}/agency.db ${home}/agency.db.damaged`;
  if (/^(?:Query read timeout|Connection terminated)/.test(text))
    return `PostgreSQL stopped answering.\nCheck the server and the network between, then run the same command again.`;
  if (code === "ECONNREFUSED" && env["DATABASE_URL"] !== undefined)
    return `PostgreSQL does not answer at the address in DATABASE_URL.\nStart it, or unset DATABASE_URL to use SQLite.`;
  return undefined;
}
