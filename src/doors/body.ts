import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../contract/refusal.ts";

/** Bodies come from anybody: bounded in size and depth, valid UTF-8, and only then parsed. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): Refusal =>
    new Refusal(
      "too_large",
      `The request is larger than ${maxBytes} bytes.`,
      "Send less, or split the content into several files.",
    );
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  // Kept open when we stop half-way: the refusal goes out on the same connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes))
    throw new Refusal(
      "invalid",
      "The body is not valid UTF-8.",
      "Encode text as UTF-8; send bytes as base64.",
    );
  if (depthOf(bytes) > maxDepth)
    throw new Refusal(
      "invalid",
      `The body is nested deeper than ${maxDepth} levels.`,
      "Send a flatter structure.",
    );
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new Refusal(
      "invalid",
      `The body is not valid JSON: ${error instanceof Error ? error.message : ""}`.slice(0, 300),
      "Send valid JSON.",
    );
  }
}

const maxDepth = 32;

/** How deep brackets nest outside strings, without building anything. Stops at the first level too many. */
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

/** The closing quote of the string that opens at `start`: one not preceded by an odd number of backslashes. */
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
