import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { redactText } from "../redaction/redact.ts";
import { bodyNotJson, bodyNotUtf8, bodyTooDeep, bodyTooLarge, bodyTooManyValues } from "./texts.ts";

/**
 * Reads a JSON body. It comes from outside: its size, its depth and the number of its values are checked while it arrives,
 * piece by piece, and its encoding before it is parsed. Parsing an object of many keys takes far longer than receiving it.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  /** Counts the bytes until the request is answered (callers.ts). */
  held: { hold(bytes: number): void },
): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const chunks: Buffer[] = [];
  const shape = new Shape();
  let size = 0;
  // The connection stays open if we stop half-way, because the refusal is sent on it.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.byteLength;
    if (size > maxBytes) throw bodyTooLarge(maxBytes);
    held.hold(chunk.byteLength);
    shape.check(chunk);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** Parses a body that readBody() returned. */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw bodyNotUtf8();
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw bodyNotJson(redactText(error instanceof Error ? error.message : ""));
  }
}

const maxDepth = 32;
/** An imported company has up to 5,000 files of three values each. */
const maxValues = 25_000;

/** Follows the brackets and commas of a JSON text outside its strings. It builds nothing, and stops at the first one too many. */
export class Shape {
  #depth = 0;
  #values = 0;
  #inString = false;
  #escaped = false;

  check(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index];
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) this.#inString = false;
      } else if (byte === quote) this.#inString = true;
      else if (byte === openBrace || byte === openBracket) {
        if (++this.#depth > maxDepth) throw bodyTooDeep(maxDepth);
        this.#values++;
      } else if (byte === closeBrace || byte === closeBracket) this.#depth--;
      else if (byte === comma && ++this.#values > maxValues) throw bodyTooManyValues(maxValues);
    }
  }
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
