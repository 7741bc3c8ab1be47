import { lookup } from "node:dns";
import {
  Agent as PlainAgent,
  type IncomingMessage,
  request as askPlain,
  type RequestOptions,
} from "node:http";
import { Agent as SecureAgent, request as askSecure } from "node:https";
import { isIP } from "node:net";
import type { FetchLike } from "@modelcontextprotocol/client";
import { reachOf } from "../capabilities/hosts.ts";
import type { RemoteConfig } from "../contract/servers.ts";
import type { Intake } from "./intake.ts";
import { leadsInside, leadsNowhereElse } from "./texts.ts";

/**
 * How the daemon reaches a remote server and the service where people sign in for it. The board named the server's host and
 * nothing else: what a server names later (a redirect, a sign-in service) must not lead into the network around the daemon. The
 * name is resolved here, and the connection goes to the address that was checked.
 */
export function fetchFor(config: Pick<RemoteConfig, "url" | "privateNetwork">, intake: Intake): FetchLike {
  const isNear = config.privateNetwork === true || isOwnAddress(new URL(config.url).hostname);
  const problemOf = (host: string, address: string): Error | undefined => {
    const reach = reachOf(address);
    if (reach === "public" || (reach === "private" && isNear)) return undefined;
    return new Error(reach === "never" ? leadsNowhereElse(host) : leadsInside(host, address));
  };
  const checked: NonNullable<RequestOptions["lookup"]> = (host, options, answer) =>
    lookup(host, { ...options, all: true }, (error, found) => {
      const problem = error ?? found.map(({ address }) => problemOf(host, address)).find(Boolean);
      const [first] = found ?? [];
      if (problem) answer(problem, []);
      else if (options.all === true) answer(null, found);
      else answer(null, first?.address ?? "", first?.family);
    });
  const plain = new PlainAgent({ keepAlive: true, timeout: idleMilliseconds });
  const secure = new SecureAgent({ keepAlive: true, timeout: idleMilliseconds });
  return async (given, init = {}) => {
    const url = new URL(given);
    const host = url.hostname.replaceAll(/^\[|\]$/g, "");
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

/** Names and addresses that are private by themselves: a record that has one means this machine or its network. */
const isOwnAddress = (hostname: string): boolean => {
  const host = hostname.replaceAll(/^\[|\]$/g, "");
  return isIP(host) === 0 ? /^(?:.+\.)?localhost$/i.test(host) : reachOf(host) === "private";
};

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
