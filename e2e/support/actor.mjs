// The program of a `process` brain in tests: one session of a diligent agent without a model, over MCP. It sorts its inbox,
// verifies submitted work, delegates work to agents it hires, does the rest, saves its state and ends. A wild actor also writes
// messages, files and blocks, changes its mind, hangs, crashes, and leaves child processes behind. The actor writes its
// attempts and their answers into its own file in ACTOR_FOLDER, line by line. A test then compares the daemon with that file.
// An actor that repeats a call after a crash uses the same key.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

class Lost extends Error {}
class Refused extends Error {}

const { AGENCY_URL: url, AGENCY_TOKEN: token, AGENCY_WORKSPACE: workspace } = process.env;
const folder = process.env.ACTOR_FOLDER;
const session = basename(workspace);
const me = readBriefing(readFileSync(0, "utf8"));
let calls = 0;

note({ session, token, pid: process.pid, agent: me.id });
try {
  await live();
} catch (error) {
  note({ error: String(error) });
  if (error instanceof Lost) await haunt();
  process.exit(error instanceof Lost ? 4 : 1);
}

async function live() {
  if (wild(0.4)) spawn("sleep", ["300"], { stdio: "ignore" }).unref();
  const { grants } = await call("permissions", "list_permissions", {});
  const mayHire = grants.some(({ resource, stands }) => resource === "org:hire" && stands);
  for (let turn = 0; turn < 8; turn++) {
    const { messages } = await call("mail", "read_inbox", { limit: 20 });
    // This happens before the messages that ask for it are acknowledged. An actor that dies in between is started again for
    // those messages.
    while (await settleReports());
    await sortInbox(messages);
    const worked = await workOnce(mayHire);
    if (wild(0.6)) await whim();
    if (messages.length === 0 && !worked) break;
  }
  if (wild(0.08)) process.exit(1);
  if (wild(0.08)) await sleep(4000);
  await saveState();
  await call("audit", "submit_summary", { summary: `session ${session} has done what there was` });
}

/** A message with the word "goal" becomes an outcome, once, however often it is read. */
async function sortInbox(messages) {
  for (const { id, from, body } of messages) {
    let result = "noted";
    if (from.kind === "board" && body?.startsWith("goal ") === true) {
      const title = body.split("\n")[0];
      const input = { title, parents: [me.mandate], description: `asked for by message ${id}` };
      result = (await tell("outcome", "create_outcome", input, { key: `goal-${id}`, outcome: title })).id;
    }
    await tell("mail", "acknowledge_message", { id, result }, { acknowledge: id });
  }
}

/** Verifies submitted outcomes and unblocks failed ones, one at a time: each may change the next steps. */
async function settleReports() {
  const { below, mine } = await look();
  const owned = new Set(mine.map(({ id }) => id));
  for (const outcome of below) {
    const isMine = owned.has(outcome.id);
    const handedOut = !isMine && outcome.parents.some((id) => owned.has(id));
    if (!isMine && !handedOut) continue;
    if (outcome.status === "submitted" && handedOut) {
      if (wild(0.1)) await tell("outcome", "reopen_outcome", { id: outcome.id, reason: "not yet" });
      else await tell("outcome", "complete_outcome", { id: outcome.id, note: "verified" });
      return true;
    }
    // Killed sessions count as sessions without progress. Only the actor knows that they were not to blame.
    if (outcome.status === "open" && outcome.blocked?.reason.includes("no progress") === true) {
      await tell("outcome", "update_outcome", { id: outcome.id, blocked: null });
      return true;
    }
  }
  return false;
}

async function look() {
  const { outcomes: below } = await call("outcome", "view_subtree", { id: me.mandate, limit: 1000 });
  const { outcomes: mine } = await call("outcome", "my_outcomes", { status: "open", limit: 1000 });
  return { below, mine };
}

async function workOnce(mayHire) {
  const { below, mine } = await look();
  const next = mine.find(({ workable, kind }) => workable && kind !== "inbox");
  if (next === undefined) return false;
  const isWhole = !below.some(({ parents }) => parents.includes(next.id));
  if (mayHire && next.title.startsWith("part of ") && !next.delegated) await hand(next.id);
  else if (mayHire && isWhole && (await hasRoom())) {
    const title = `part of ${next.id}`;
    const part = await tell(
      "outcome",
      "create_outcome",
      { title, parents: [next.id], acceptance: "a file" },
      { key: `part-${next.id}`, outcome: title },
    );
    await hand(part.id);
  } else await finish(next);
  return true;
}

async function hand(id) {
  const adapterConfig = { command: process.execPath, args: process.argv.slice(1), env: actorEnvironment() };
  const hire = { name: `Worker ${id}`, role: "Worker", adapterType: "process", adapterConfig };
  const grants = wild(0.3) ? [{ resource: "org:hire" }] : [];
  const label = newLabel();
  const before = await call("outcome", "view_outcome", { id });
  if (before.delegated) return;
  await tell("outcome", "delegate_outcome", { id, hire, grants, message: label }, { letter: label });
}

/** Stores the result. Submits an outcome that was delegated to the actor, and completes the actor's own. */
async function finish({ id, title, delegated }) {
  const description = newLabel();
  const content = `# Result of ${title}\n\nby session ${session}\n`;
  const file = await tell("kb", "create_file", { description, content }, { file: description });
  if (delegated) return tell("outcome", "submit_outcome", { id, note: `kb://${file.id}` });
  await tell("outcome", "complete_outcome", { id, note: `kb://${file.id}` });
  if (!title.startsWith("goal ")) return;
  const body = `done ${id}`;
  await tell("mail", "send_message", { to: "boss", body }, { key: `done-${id}`, letter: body });
}

async function whim() {
  const label = newLabel();
  const key = chance(0.5) ? label : undefined;
  const dice = Math.random();
  if (dice < 0.2) await tell("mail", "send_message", { to: "boss", body: label }, { key, letter: label });
  else if (dice < 0.4) {
    const deliverAt = new Date(Date.now() + 100 + Math.random() * 2000).toISOString();
    const to = chance(0.7) ? "self" : "boss";
    await tell("mail", "send_deferred_message", { to, body: label, deliverAt }, { key, letter: label });
  } else if (dice < 0.5) {
    const report = (await roster()).find(({ boss, status }) => boss?.id === me.id && status !== "paused");
    if (report !== undefined)
      await tell("mail", "send_message", { to: report.id, body: label }, { key, letter: label });
  } else if (dice < 0.75) {
    const input = { description: label, content: `${label}\n${"x".repeat(Math.random() * 4000)}` };
    const { id, version, hash } = await tell("kb", "create_file", input, { key, file: label });
    const content = `${newLabel()} second`;
    await tell("kb", "write_file", { id, content, version, hash });
  } else if (dice < 0.85) {
    const { outcomes } = await call("outcome", "my_outcomes", { status: "open", limit: 100 });
    const job = outcomes.find(({ workable, kind }) => workable && kind !== "inbox");
    const until = new Date(Date.now() + 600).toISOString();
    if (job !== undefined)
      await tell("outcome", "update_outcome", { id: job.id, blocked: { reason: "a while", until } });
  } else if (dice < 0.9) {
    const { outcomes } = await call("outcome", "view_subtree", { id: me.mandate, limit: 1000 });
    const held = outcomes.find(({ title, status, responsible }) => {
      const isLive = status === "open" || status === "submitted";
      return isLive && title.startsWith("part of ") && responsible?.id !== me.id;
    });
    // Only outcomes that the actor delegated itself. Deeper ones are refused.
    if (held !== undefined)
      await tell("outcome", "reclaim_outcome", { id: held.id, reason: "changed my mind" }).catch(ifRefused);
  } else await sleep(Math.random() * 1500);
}

async function saveState() {
  const { files } = await call("kb", "list_files", { kind: "state" });
  const [state] = files;
  if (state === undefined) return;
  const { id, version, hash } = state;
  await tell("kb", "write_file", { id, content: `# State\n\n${session} was here.\n`, version, hash });
}

async function roster() {
  return (await call("org", "list_roster", { limit: 1000 })).agents;
}

/** The organization stays small, whatever happens. */
async function hasRoom() {
  return (await roster()).length < 14;
}

/** Makes a call that changes something, and notes the attempt and its result. */
async function tell(server, tool, args, what = {}) {
  const { key, ...about } = what;
  const attempt = `${session}-${++calls}`;
  note({ attempt, tool, ...about });
  const answer = await call(server, tool, args, key);
  note({ acknowledged: attempt, id: answer.id });
  return answer;
}

async function call(server, tool, args, key) {
  if (wild(0.3)) await sleep(Math.random() * 40);
  for (let tries = 0; ; tries++) {
    try {
      return await once(server, tool, args, key);
    } catch (error) {
      // Without a key there is no way to tell whether the call took effect.
      if (!(error instanceof Lost) || key === undefined || tries > 15) throw error;
      await sleep(100);
    }
  }
}

async function once(server, tool, args, key) {
  let response;
  let text;
  try {
    response = await fetch(`${url}/mcp/${server}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name: tool,
          arguments: args,
          ...(key === undefined ? {} : { _meta: { idempotencyKey: key } }),
        },
      }),
    });
    text = await response.text();
  } catch (error) {
    throw new Lost(`${tool}: ${error.cause?.code ?? error.message}`);
  }
  if (response.status === 401 || response.status === 403) {
    note({ refused: tool, status: response.status });
    process.exit(3);
  }
  if (!response.ok) throw new Error(`${tool}: ${response.status} ${text.slice(0, 300)}`);
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  const { result, error } = JSON.parse(data);
  if (error !== undefined) throw new Error(`${tool}: ${JSON.stringify(error)}`);
  if (result.isError === true) {
    // The session ended between the door and the transaction.
    if (result.structuredContent?.error?.code === "unauthenticated") process.exit(3);
    throw new Refused(`${tool}: ${JSON.stringify(result.structuredContent)}`);
  }
  return result.structuredContent;
}

/** No answer comes, because the daemon is dead. Keeps trying to write, as a stale process would, until it is killed. */
async function haunt() {
  for (let tries = 0; tries < 30; tries++) {
    const description = `ghost of ${session} ${tries}`;
    note({ ghost: description });
    try {
      await once("kb", "create_file", { description, content: description });
      note({ haunted: description });
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
    }
    await sleep(100);
  }
}

function ifRefused(error) {
  if (!(error instanceof Refused)) throw error;
}

function readBriefing(text) {
  return { id: /agent ([0-9a-f-]{36})/.exec(text)[1], mandate: /\(outcome ([0-9a-f-]{36})\)/.exec(text)[1] };
}

function actorEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("ACTOR_")));
}

/** Returns true with this probability. Always false for a calm actor, and once the test has told all actors to calm down. */
function wild(probability) {
  return process.env.ACTOR_WILD === "1" && chance(probability) && !existsSync(join(folder, "calm"));
}

function chance(probability) {
  return Math.random() < probability;
}

function newLabel() {
  return `label-${session}-${++calls}`;
}

/** Writes one line of notes. In a sandbox the folder is missing, so no notes are taken. */
function note(line) {
  try {
    appendFileSync(join(folder, `${session}.jsonl`), `${JSON.stringify(line)}\n`);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EROFS") throw error;
  }
}
