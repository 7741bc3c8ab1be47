import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { redactText } from "../redaction/redact.ts";
import { bodyNotJson, bodyNotUtf8, bodyTooDeep, bodyTooLarge } from "./texts.ts";

/** A body comes from outside. Its size, encoding and depth are checked before it is parsed. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  // The connection stays open if we stop half-way, because the refusal is sent on it.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.byteLength;
    if (size > maxBytes) throw bodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw bodyNotUtf8();
  if (depthOf(bytes) > maxDepth) throw bodyTooDeep(maxDepth);
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw bodyNotJson(redactText(error instanceof Error ? error.message : ""));
  }
}

const maxDepth = 32;

/** How deep brackets nest outside strings. It builds nothing, and stops at the first level too many. */
function depthOf(bytes: Buffer): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === quote) index = endOfString(bytes, index);
    else if (byte === openBrace || byte === openBracket) {
      deepest = Math.max(deepest, ++depth);
      if (deepest > maxDepth) return deepest;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return deepest;
}

/** The closing quote of the string that opens at `start`: the first one after an even number of backslashes. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return bytes.length;
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
