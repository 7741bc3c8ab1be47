// The program of a `process` brain in tests: a session that asks for another agent over MCP and waits for the answer, as long
// as it takes. Without an answer it repeats the same call: whatever happened to the first call, both are the same request. The
// session writes everything it sees into its own file in CREATOR_FOLDER, line by line.
import { appendFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const { AGENCY_URL: url, AGENCY_TOKEN: token, AGENCY_WORKSPACE: workspace } = process.env;
const file = join(process.env.CREATOR_FOLDER, `${basename(workspace)}.jsonl`);
const wanted = JSON.parse(process.env.CREATOR_ARGUMENTS);
const begun = Date.now();

const { tools } = await request("org", "tools/list", {});
note({ tools: tools.map(({ name, inputSchema }) => ({ name, inputSchema })) });
let result = await call("org", "create_agent", wanted);
note({ tool: "create_agent", result });
while (result.status === "pending") {
  result = await call("org", "wait_for_approval", { requestId: result.requestId, waitSeconds: 30 });
  note({ tool: "wait_for_approval", result });
}
const { messages } = await call("mail", "read_inbox", {});
for (const { id } of messages) await call("mail", "acknowledge_message", { id, result: result.status });

async function call(server, tool, args) {
  for (;;) {
    try {
      const params = { name: tool, arguments: args, _meta: { progressToken: tool } };
      const answer = await request(server, "tools/call", params);
      if (answer.isError === true) throw new Error(JSON.stringify(answer.structuredContent));
      return answer.structuredContent;
    } catch (error) {
      if (error.message !== "lost") throw error;
      note({ lost: tool });
      await sleep(200);
    }
  }
}

/** The answer to a request. Notices of progress before it are noted as they arrive. */
async function request(server, method, params) {
  let answer;
  let rest = "";
  try {
    const response = await fetch(`${url}/mcp/${server}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    if (response.status === 401) process.exit(3);
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) answer = heard(line) ?? answer;
    }
    answer = heard(rest) ?? answer;
  } catch {
    throw new Error("lost");
  }
  if (answer === undefined) throw new Error("lost");
  if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error));
  return answer.result;
}

function heard(line) {
  const text = line.startsWith("data:") ? line.slice(5) : line;
  if (!text.trim().startsWith("{")) return undefined;
  const message = JSON.parse(text);
  if (message.method !== "notifications/progress") return message;
  note({ progress: message.params });
  return undefined;
}

function note(line) {
  appendFileSync(file, `${JSON.stringify({ at: Date.now() - begun, ...line })}\n`);
}
