// One request of a flood, or of a measured client.
import { once } from "node:events";
import { type Agent, IncomingMessage, request } from "node:http";
import { z } from "zod";

export const Flood = z.object({
  loops: z.number(),
  method: z.string(),
  path: z.string(),
  token: z.string().optional(),
  accept: z.string().optional(),
  /** The body: an object with many keys, white space, or this text. */
  body: z.union([z.object({ kind: z.enum(["keys", "spaces"]), bytes: z.number() }), z.string()]).optional(),
  /** Sends all but the last byte, and keeps the connection open. */
  unfinished: z.literal(true).optional(),
});
export type Flood = z.infer<typeof Flood>;

/** Sends a request, reads the answer and returns its status. */
export async function send(sent: {
  readonly url: string;
  readonly agent: Agent;
  readonly method: string;
  readonly path: string;
  readonly token?: string | undefined;
  readonly accept?: string | undefined;
  readonly body?: string | Buffer | undefined;
  readonly unfinished?: boolean | undefined;
}): Promise<number> {
  const { url, agent, method, path, token, accept, body } = sent;
  const { hostname, port } = new URL(url);
  const length = Buffer.byteLength(body ?? "") + (sent.unfinished === true ? 1 : 0);
  const call = request({
    agent,
    hostname,
    port,
    method,
    path,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(accept === undefined ? {} : { accept }),
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": length }),
    },
  });
  // A server that closes the connection after its answer may reset it. The answer counts.
  call.on("error", () => undefined);
  const answered = once(call, "response");
  if (sent.unfinished === true) call.write(body);
  else call.end(body);
  const [response]: unknown[] = await answered;
  if (!(response instanceof IncomingMessage)) throw new Error("this is not an answer");
  response.resume();
  await once(response, "end");
  return response.statusCode ?? 0;
}
