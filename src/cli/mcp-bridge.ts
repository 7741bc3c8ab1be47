import { createInterface } from "node:readline";
import { z } from "zod";
import { homeOf, signInOf, urlOf } from "./where.ts";

export const connectFile = (program: string): string => `connect-${program}`;

/** The daemon of this home may have another port than when the program was connected. */
export function localUrl(env: NodeJS.ProcessEnv, kept: string): string {
  const now = urlOf(env);
  return new URL(kept).hostname === new URL(now).hostname ? now : kept;
}

/** Serves a connected program until it closes standard input. Returns false if the program is not connected. */
export async function serveProgram(env: NodeJS.ProcessEnv, program: string): Promise<boolean> {
  const kept = signInOf(homeOf(env), connectFile(program));
  if (kept === undefined) return false;
  await bridge({ ...kept, url: localUrl(env, kept.url), as: env["AGENCY_AS"] });
  return true;
}

/**
 * Carries MCP messages between standard input and output, one JSON text per line, and the daemon's door `/mcp`. Requests run at
 * the same time. If the daemon does not answer a message in JSON, the program gets an error of the protocol.
 */
async function bridge(to: {
  readonly url: string;
  readonly token: string;
  readonly as?: string | undefined;
}): Promise<void> {
  let version: string | undefined;
  const open = new Set<Promise<void>>();
  const write = (text: string): void => void process.stdout.write(`${text}\n`);

  async function carry(line: string): Promise<void> {
    const message = Message.safeParse(parsed(line));
    const id = message.data?.id;
    try {
      const response = await fetch(`${to.url}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${to.token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(version === undefined || message.data?.method === "initialize"
            ? {}
            : { "mcp-protocol-version": version }),
          ...(to.as === undefined || to.as === "" ? {} : { "x-agency-as": to.as }),
        },
        body: line,
      });
      const text = await response.text();
      const answers = (response.headers.get("content-type") ?? "").includes("event-stream")
        ? text.split("\n").flatMap((one) => (one.startsWith("data:") ? [one.slice(5).trim()] : []))
        : [text];
      const known = answers.filter((one) => Message.safeParse(parsed(one)).success);
      for (const answer of known) {
        version ??= Initialized.safeParse(parsed(answer)).data?.result.protocolVersion;
        write(answer);
      }
      if (known.length === 0 && id !== undefined)
        fail(id, `Agency answered ${response.status}: ${text.slice(0, 500)}`);
    } catch (error) {
      if (id !== undefined)
        fail(
          id,
          `Agency can't be reached at ${to.url}: ${error instanceof Error ? error.message : String(error)}. Start it: agency up`,
        );
    }
  }

  const fail = (id: string | number, message: string): void =>
    write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_000, message } }));

  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    const carried = carry(line);
    open.add(carried);
    void carried.finally(() => open.delete(carried));
    // The common version of the protocol is known only after the first answer.
    if (version === undefined) await carried;
  }
  await Promise.all(open);
}

const Message = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
});
const Initialized = z.looseObject({ result: z.looseObject({ protocolVersion: z.string() }) });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
