import {
  Agent as PlainAgent,
  type IncomingMessage,
  request as askPlain,
  type RequestOptions,
} from "node:http";
import { isIP } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { blockerFor, plainHost, type Resolve, resolveHost } from "../capabilities/hosts.ts";
import type { RemoteConfig } from "../contract/servers.ts";
import type { Intake } from "./intake.ts";
import { leadsInside, leadsNowhereElse } from "./texts.ts";

/**
 * How the daemon reaches a remote server and the service where people sign in for it. The board named only the server's host.
 * Addresses that a server names later (a redirect, a sign-in service) must not lead into the network around the daemon. So the
 * name is resolved here, and the connection goes to the address that was checked.
 */
export function fetchFor(
  config: Pick<RemoteConfig, "url" | "privateNetwork">,
  intake: Intake,
  resolve: Resolve = resolveHost,
): FetchLike {
  const { hostname: named } = new URL(config.url);
  const blockerOf = blockerFor({ host: named, privateNetwork: config.privateNetwork === true });
  const problemOf = (host: string, address: string): Error | undefined => {
    const blocker = blockerOf(address);
    if (blocker === undefined) return undefined;
    return new Error(blocker === "never" ? leadsNowhereElse(host) : leadsInside(host, address));
  };
  const checked: NonNullable<RequestOptions["lookup"]> = (host, options, answer) => {
    resolve(host).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const problem = addresses.map((address) => problemOf(host, address)).find(Boolean);
        const [first] = found;
        if (problem !== undefined) answer(problem, []);
        else if (options.all === true) answer(null, found);
        else answer(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => answer(error, []),
    );
  };
  const plain = new PlainAgent({ keepAlive: true, timeout: idleMilliseconds });
  // Loaded with the first remote server: TLS takes 8 MB.
  const { Agent: SecureAgent, request: askSecure } = process.getBuiltinModule("node:https");
  const secure = new SecureAgent({ keepAlive: true, timeout: idleMilliseconds });
  return async (given, init = {}) => {
    const url = new URL(given);
    const host = plainHost(url.hostname);
    const problem = isIP(host) === 0 ? undefined : problemOf(host, host);
    if (problem !== undefined) throw problem;
    const { method = "GET", headers, body, signal } = init;
    const isPlain = url.protocol === "http:";
    const made = (isPlain ? askPlain : askSecure)(url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      lookup: checked,
      agent: isPlain ? plain : secure,
      ...(signal && { signal }),
    });
    return new Promise((resolve, reject) => {
      made.once("error", reject);
      made.once("response", (answer) => {
        // Without this listener, a connection that breaks after the head would end the daemon.
        answer.on("error", () => undefined);
        try {
          resolve(responseOf(answer, intake));
        } catch (error) {
          made.destroy();
          reject(error);
        }
      });
      made.end(body instanceof URLSearchParams ? body.toString() : body);
    });
  };
}

const idleMilliseconds = 60_000;

function responseOf(answer: IncomingMessage, intake: Intake): Response {
  const status = answer.statusCode ?? 0;
  const headers = new Headers();
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2)
    headers.append(answer.rawHeaders[at] ?? "", answer.rawHeaders[at + 1] ?? "");
  const isStream = /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
  const take = isStream ? intake.lines : intake.document();
  const hasBody = ![204, 205, 304].includes(status);
  if (!hasBody) answer.resume();
  return new Response(hasBody ? ReadableStream.from(counted(answer, take)) : null, { status, headers });
}

async function* counted(answer: IncomingMessage, take: (chunk: Uint8Array) => void) {
  for await (const chunk of answer) {
    if (!(chunk instanceof Uint8Array)) continue;
    take(chunk);
    yield new Uint8Array(chunk);
  }
}
