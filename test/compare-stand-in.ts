// A small server with the routes of Paperclip that bench/compare uses. The test of the comparison starts it in its place.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

/** Its data outlives a restart, like that of the real one. */
const file = `${process.argv.at(-1) ?? ""}.json`;
const kept: Record<string, unknown> = existsSync(file) ? Object(JSON.parse(readFileSync(file, "utf8"))) : {};
const issues: unknown[] = Array.isArray(kept["issues"]) ? kept["issues"] : [];
const pending = new Set<string>();
let serial = Number(kept["serial"] ?? 0);
let needsApproval = kept["needsApproval"] === true;

createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
  request.on("end", () => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const answer = route(request.method ?? "", pathname, body === "" ? {} : Object(JSON.parse(body)));
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { error: pathname }));
  });
}).listen(Number(process.env["PORT"]), "127.0.0.1");

function route(method: string, path: string, given: Readonly<Record<string, unknown>>): unknown {
  const id = `id-${++serial}`;
  if (path === "/api/health") return { status: "ok" };
  if (method === "POST" && path === "/api/companies") return { id };
  if (method === "PATCH" && path.startsWith("/api/companies/")) {
    needsApproval = given["requireBoardApprovalForNewAgents"] === true;
    return {};
  }
  if (path.endsWith("/issues")) {
    if (method === "GET") return issues.slice(0, 1000);
    issues.push(id);
    return { id };
  }
  if (path.endsWith("/comments") && issues.includes(path.split("/")[3])) return { id };
  if (path.endsWith("/agent-hires")) {
    pending.add(id);
    return { agent: {}, approval: needsApproval ? { id } : null };
  }
  const approved = /^\/api\/approvals\/([^/]+)\/approve$/.exec(path)?.[1];
  return approved !== undefined && pending.delete(approved) ? { status: "approved" } : undefined;
}

process.once("SIGTERM", () => {
  writeFileSync(file, JSON.stringify({ issues, serial, needsApproval }));
  process.exit();
});
