// An agent that speaks the Agent Client Protocol and plays one of a few parts (ACP_PART). It keeps its conversations in its home.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, methods, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const part = process.env.ACP_PART ?? "works";
const memory = join(process.env.HOME ?? "", "acp-agent.txt");
const remembered = existsSync(memory) ? readFileSync(memory, "utf8") : "";
/** The models and efforts that it offers (ACP_OFFERS), in groups and as a list. The efforts depend on the model. */
const models = ["small-1", "large-1"].map((value) => ({ value, name: value }));
const chosen = { model: "small-1", thought: "low" };
const offers = () =>
  process.env.ACP_OFFERS === undefined
    ? undefined
    : [
        {
          id: "model",
          name: "Model",
          category: "model",
          type: "select",
          currentValue: chosen.model,
          options: [{ group: "all", name: "All", options: models }],
        },
        {
          id: "thought",
          name: "Thinking",
          category: "thought_level",
          type: "select",
          currentValue: chosen.thought,
          options: [
            { value: "low", name: "Low" },
            ...(chosen.model === "large-1" ? [{ value: "xhigh", name: "Most" }] : []),
          ],
        },
      ];
let servers = [];
let cancelled = () => undefined;
const cancel = new Promise((resolve) => (cancelled = resolve));

const app = agent({ name: "scripted" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true, mcpCapabilities: { http: part !== "no-http" } },
    authMethods: [{ id: "login", name: "Sign in with the vendor" }],
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (part === "signed-out") throw RequestError.authRequired();
    servers = params.mcpServers;
    void connect();
    return { sessionId: "conversation-1", configOptions: offers() };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    servers = params.mcpServers;
    void connect();
    // The protocol replays the conversation, which must not count as new words.
    await say(client, params.sessionId, `Replayed: ${remembered}`);
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params: { configId, value } }) => {
    const values = offers()
      .find(({ id }) => id === configId)
      ?.options.flatMap((one) => one.options ?? [one]);
    if (!values?.some((one) => one.value === value)) throw RequestError.invalidParams();
    chosen[configId] = value;
    return { configOptions: offers() };
  })
  .onNotification(methods.agent.session.cancel, () => {
    appendFileSync(memory, "cancelled ");
    cancelled();
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const told = prompt.map(({ text }) => text).join("");
    appendFileSync(memory, "prompted ");
    if (part === "silent") return { stopReason: "end_turn" };
    if (part === "crashes") process.exit(3);
    if (part === "busy") throw RequestError.internalError({ details: "529 overloaded_error" });
    if (part === "refused") {
      // Copilot does the same.
      await say(client, sessionId, "Info: Request failed due to a transient API error. Retrying...");
      await say(
        client,
        sessionId,
        "Error: Authentication failed with provider at http://x (HTTP 401).\n  Check your key.",
      );
      return { stopReason: "end_turn" };
    }
    const inbox = await use(client, sessionId, "read_inbox", {});
    if (part === "hangs" && !told.includes("previous session was cut off")) {
      await cancel;
      return { stopReason: "cancelled" };
    }
    const id = /"id":"([0-9a-f-]{36})"/.exec(inbox)?.[1];
    for (const [kind, title] of [
      ["execute", "echo hello"],
      ["switch_mode", "Leave the mode"],
      ["think", "Task: ask a colleague"],
      ["fetch", "Fetch https://docs.example.com/"],
      ["fetch", "Fetch https://other.example.com/"],
      ["other", "mcp__agency__read_inbox"],
    ]) {
      const { outcome } = await client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: `${kind}-1`, kind, title },
        options: [
          { optionId: "yes", name: "Allow", kind: "allow_once" },
          { optionId: "no", name: "Reject", kind: "reject_once" },
        ],
      });
      await say(client, sessionId, `${kind}: ${outcome.optionId}. `);
    }
    await say(client, sessionId, `model: ${chosen.model}, thought: ${chosen.thought}`);
    if (id !== undefined) await use(client, sessionId, "acknowledge_message", { id, result: "done" });
    await use(client, sessionId, "submit_summary", { summary: "The scripted agent did its part." });
    await say(client, sessionId, "All ");
    await say(client, sessionId, "done.");
    return { stopReason: "end_turn", usage: { inputTokens: 7, outputTokens: 5, totalTokens: 12 } };
  });

const say = (client, sessionId, text) =>
  client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
  });

/** Asks for the tools in the background after a while, as most programs do. */
async function connect() {
  await sleep(500);
  appendFileSync(memory, "listing ");
  for (const server of servers) await ask(server, "tools/list", {}).catch(() => undefined);
}

const ask = ({ url, headers }, method, params) =>
  fetch(url, {
    method: "POST",
    headers: {
      ...Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++calls, method, params }),
  }).then((response) => response.json());

let calls = 0;
/** Calls a tool of Agency over MCP, and reports the call to the client. */
async function use(client, sessionId, tool, args) {
  const toolCallId = `call-${++calls}`;
  const update = (content) =>
    client.notify(methods.client.session.update, { sessionId, update: { toolCallId, ...content } });
  await update({ sessionUpdate: "tool_call", title: tool, status: "in_progress", rawInput: args });
  let text = `no server has the tool ${tool}`;
  for (const server of servers) {
    const answer = await ask(server, "tools/call", { name: tool, arguments: args }).catch(() => ({}));
    if (answer.result === undefined) continue;
    text = answer.result.content.map((one) => one.text).join("\n");
    break;
  }
  const content = [{ type: "content", content: { type: "text", text } }];
  await update({ sessionUpdate: "tool_call_update", status: "completed", content });
  return text;
}

app.connect(ndJsonStream(Writable.toWeb(process.stdout), ReadableStream.from(Readable.from(process.stdin))));
