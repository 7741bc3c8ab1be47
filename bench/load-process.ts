import { Agent, request as send } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Loaded, Pair, Plan } from "./load.ts";
import { percentile } from "./timing.ts";

// The process that load.ts starts. It ends when the channel to the benchmark closes.

interface Call {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answered?: (body: string) => void;
  /** The caller's token, if it differs from the plan's. */
  readonly token?: string;
}

/** The last version and hash that this process wrote to each file, across all plans. */
const known = new Map<string, Pair>();
/** The approval that each client has asked for and not decided yet. */
const waiting = new Map<string, string>();
let serial = 0;

process.on("message", (plan: Plan) => {
  run(plan).then(
    (loaded) => process.send?.(loaded),
    (error: unknown) => process.send?.(String(error)),
  );
});

async function run(plan: Plan): Promise<Loaded> {
  const agent = new Agent({ keepAlive: true, maxSockets: plan.clients });
  const times: number[] = [];
  const start = performance.now();
  const end = start + plan.milliseconds;
  let sent = 0;
  const client = async (number: number): Promise<void> => {
    while (performance.now() < end) {
      if (plan.perSecond !== undefined) {
        const due = start + (sent++ * 1000) / plan.perSecond;
        if (due >= end) return;
        if (due > performance.now()) await sleep(due - performance.now());
      }
      const call = nextCall(plan, number);
      const before = performance.now();
      const body = await exchange(agent, plan, call);
      call.answered?.(body);
      times.push(performance.now() - before);
    }
  };
  try {
    await Promise.all(Array.from({ length: plan.clients }, (_, number) => client(number)));
  } finally {
    agent.destroy();
  }
  return {
    perSecond: (times.length / (performance.now() - start)) * 1000,
    p50: percentile(times, 50),
    p99: percentile(times, 99),
  };
}

function nextCall({ requests, url }: Plan, client: number): Call {
  const number = serial++;
  switch (requests.kind) {
    case "get":
      return {
        method: "GET",
        path: requests.paths[number % requests.paths.length] ?? "/",
        ...(requests.packed === true && { headers: { "accept-encoding": "gzip" } }),
      };
    case "overwrite": {
      const given = requests.files[client % requests.files.length];
      if (given === undefined) throw new Error("no file to write");
      const { id, version, hash } = known.get(given.id) ?? given;
      return {
        method: "PUT",
        path: `/api/kb/${id}`,
        body: JSON.stringify({ version, hash, content: prose(number, requests.bytes) }),
        answered: (body) => known.set(id, pairIn(body)),
      };
    }
    case "create file":
      return {
        method: "POST",
        path: `/api/companies/${requests.companyIds[client % requests.companyIds.length]}/kb`,
        body: JSON.stringify({ description: `Notes ${number}`, content: prose(number, requests.bytes) }),
      };
    case "create outcome":
      return {
        method: "POST",
        path: `/api/companies/${requests.companyId}/outcomes`,
        body: JSON.stringify({
          title: `Outcome ${number}`,
          description: "What is to be achieved, in a sentence or two of ordinary length.",
          parents: [requests.parents[number % requests.parents.length]],
        }),
      };
    case "hire and approve": {
      const who = `${url} ${client}`;
      const approval = waiting.get(who);
      if (approval !== undefined)
        return {
          method: "POST",
          path: `/api/approvals/${approval}/approve`,
          body: "{}",
          answered: () => waiting.delete(who),
        };
      return {
        method: "POST",
        path: `/api/companies/${requests.companyId}/agent-hires`,
        body: JSON.stringify({ name: `Hire ${process.pid} ${number}`, role: "Worker", mandate: "To work." }),
        answered: (body) => waiting.set(who, Hired.parse(JSON.parse(body)).approval.id),
      };
    }
    case "mail":
      return nextLetter(requests, client);
    case "mcp":
      return {
        method: "POST",
        path: requests.path,
        headers: {
          accept: "application/json, text/event-stream",
          ...(requests.era === "2025"
            ? { "mcp-protocol-version": "2025-11-25" }
            : {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": requests.tool,
              }),
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: number,
          method: "tools/call",
          params: {
            name: requests.tool,
            arguments: requests.inputs[number % requests.inputs.length] ?? {},
            ...(requests.era === "2025" ? {} : { _meta: envelope }),
          },
        }),
        answered: (body) => {
          if (!body.includes('"content"') || body.includes('"isError":true'))
            throw new Error(`the call failed: ${body.slice(0, 300)}`);
        },
      };
  }
}

const Hired = z.object({ approval: z.object({ id: z.string() }) });
/** The next action for each receiver's message: send it (undefined), read it (""), or acknowledge it (its id). */
const letters = new Map<string, string>();

function nextLetter(requests: Extract<Plan["requests"], { kind: "mail" }>, client: number): Call {
  const pair = requests.pairs[client % requests.pairs.length];
  if (pair === undefined) throw new Error("the plan has no pair of agents");
  const { receiverId } = pair;
  const letter = letters.get(receiverId);
  if (letter === undefined)
    return {
      method: "POST",
      path: `/api/companies/${requests.companyId}/messages`,
      token: pair.senderToken,
      body: JSON.stringify({ to: receiverId, body: prose(serial, 300) }),
      answered: () => letters.set(receiverId, ""),
    };
  if (letter === "")
    return {
      method: "GET",
      path: "/api/inbox?limit=10",
      token: pair.receiverToken,
      answered: (body) => letters.set(receiverId, firstIn(body)),
    };
  return {
    method: "POST",
    path: `/api/messages/${letter}/acknowledge`,
    token: pair.receiverToken,
    body: JSON.stringify({ result: "noted" }),
    answered: () => letters.delete(receiverId),
  };
}

function firstIn(body: string): string {
  const id = /"messages":\[\{"id":"([0-9a-f-]{36})"/.exec(body)?.[1];
  if (id === undefined) throw new Error(`no message has come: ${body.slice(0, 300)}`);
  return id;
}

const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function exchange(agent: Agent, plan: Plan, call: Call): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = send(
      new URL(call.path, plan.url),
      {
        agent,
        method: call.method,
        headers: {
          authorization: `Bearer ${call.token ?? plan.token}`,
          ...(call.body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(call.body) }),
          ...call.headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const body = Buffer.concat(chunks).toString();
          const status = response.statusCode ?? 0;
          if (status >= 200 && status < 300) resolve(body);
          else reject(new Error(`${call.method} ${call.path} answered ${status}: ${body.slice(0, 300)}`));
        });
      },
    );
    request.on("error", reject);
    request.end(call.body);
  });
}

/** Ordinary words, different each time, which give hashes and the search index real work. */
function prose(number: number, bytes: number): string {
  let text = `# Notes ${number}\n\n`;
  for (let word = number; text.length < bytes; word++) text += `${words[(word * 7919) % words.length]} `;
  return text.slice(0, bytes);
}

const words = (
  "the plan for next week is to review every open question with those who asked it write down what was decided and " +
  "why then hand the remaining work to people with time and the rights it needs report back when it is done or when " +
  "something stands in the way costs dates owners risks links to earlier notes and a short summary at the top"
).split(" ");

function pairIn(body: string): Pair {
  const answer: unknown = JSON.parse(body);
  if (
    typeof answer === "object" &&
    answer !== null &&
    "id" in answer &&
    "version" in answer &&
    "hash" in answer
  )
    return { id: String(answer.id), version: Number(answer.version), hash: String(answer.hash) };
  throw new Error(`not a saved file: ${body.slice(0, 300)}`);
}
