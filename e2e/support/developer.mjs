// The program of a `process` brain in the tests of repositories: a lead that divides a goal, a worker that fixes a bug, a
// reviewer that runs the tests. DEVELOPER names the role.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const { AGENCY_URL: url, AGENCY_TOKEN: token, DEVELOPER: role } = process.env;

async function call(name, args) {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  const text = await response.text();
  const line = text.startsWith("{") ? text : (/^data: ?(.*)$/m.exec(text)?.[1] ?? "{}");
  const { result } = JSON.parse(line);
  if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.structuredContent)}`);
  return result.structuredContent;
}

const git = (path, ...args) => execFileSync("git", ["-C", path, ...args], { encoding: "utf8" }).trim();
const mine = async () =>
  (await call("my_outcomes", { status: "open" })).outcomes.filter(({ kind }) => kind === "work");

const roles = {
  lead: async () => {
    for (const goal of await mine()) {
      const children = [];
      for (const { id } of (await call("view_outcome", { id: goal.id })).children)
        children.push(await call("view_outcome", { id }));
      const find = (title) => children.find((child) => child.title === title);
      const begin = async (title, to, message) => {
        const { id } = await call("create_outcome", { title, parents: [goal.id] });
        await call("delegate_outcome", {
          id,
          to,
          message,
          grants: [{ resource: "repo:shop", level: "read" }],
        });
      };
      const fix = find("Fix the rounding");
      const review = find("Review the fix");
      if (fix === undefined) await begin("Fix the rounding", "worker", "Mend price.mjs.");
      else if (fix.status === "submitted" && review === undefined)
        await begin("Review the fix", "reviewer", "Run the tests of agency/worker/fix.");
      else if (fix.status === "submitted" && review?.status === "submitted") {
        await call("decide_outcome", { id: review.id, verdict: "pass", note: "good" });
        await call("decide_outcome", { id: fix.id, verdict: "pass", note: "good" });
        const files = fix.deliverables.map(({ id }) => id);
        await call("submit_outcome", { id: goal.id, note: "The bug is mended on agency/worker/fix.", files });
      }
    }
  },
  worker: async () => {
    for (const { id } of await mine()) {
      const { path } = await call("clone_repo", { name: "shop" });
      git(path, "checkout", "-qb", "fix");
      writeFileSync(join(path, "price.mjs"), "export const price = (n) => Math.round(n * 110) / 100;\n");
      const testOutput = execFileSync(process.execPath, ["test.mjs"], { cwd: path, encoding: "utf8" });
      git(path, "commit", "-qam", "Round prices to cents");
      if (process.argv[2] === "stop") {
        writeFileSync(join(process.env.AGENCY_WORKSPACE, "committed"), git(path, "rev-parse", "HEAD"));
        await sleep(600_000);
      }
      const { file } = await call("publish_branch", {
        repo: "shop",
        branch: "fix",
        message: "Prices are rounded to cents.",
        testOutput,
      });
      await call("submit_outcome", { id, note: "Published as agency/worker/fix.", files: [file] });
    }
  },
  reviewer: async () => {
    for (const { id } of await mine()) {
      const { path } = await call("clone_repo", { name: "shop" });
      git(path, "checkout", "-q", "origin/agency/worker/fix");
      const said = execFileSync(process.execPath, ["test.mjs"], { cwd: path, encoding: "utf8" });
      await call("submit_outcome", { id, note: `The tests say: ${said.trim()}` });
    }
  },
  // Writes markup wherever an agent can. Git takes no angle brackets in the name of an author.
  vandal: async () => {
    const [evil, branch] = process.argv.slice(2);
    const { path } = await call("clone_repo", { name: "shop" });
    git(path, "checkout", "-qb", branch);
    writeFileSync(join(path, "Eve <b>il<b>.txt"), `${evil}\n`);
    git(path, "add", "-A");
    git(path, "commit", "--author=Eve &lt;b&gt; <eve@example.com>", "-qm", `Eve <b>il</b> ${evil}`);
    await call("publish_branch", { repo: "shop", branch, message: `Eve <b>il</b> ${evil}` });
    await call("request_permission", { resource: "net:eve.example", reason: `Eve <b>il</b> ${evil}` });
    await call("submit_summary", { summary: `Eve <b>il</b> ${evil}` });
    console.log(JSON.stringify({ usage: { inputTokens: 10, outputTokens: 1, costUsd: 0.5 } }));
    process.exit();
  },
};

readFileSync(0);
for (let turn = 0; turn < 3; turn++) {
  const { messages } = await call("read_inbox", {});
  await roles[role]();
  for (const { id } of messages) await call("acknowledge_message", { id, result: "seen" });
  if (messages.length === 0) break;
}
await call("submit_summary", { summary: "Did what there was." });
