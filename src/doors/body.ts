import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Limits } from "../contract/limits.ts";
import type { Operation } from "../contract/operation.ts";
import { redactText } from "../redaction/redact.ts";
import type { Account } from "./callers.ts";
import {
  bodyNotJson,
  bodyNotUtf8,
  bodyTooDeep,
  bodyTooLarge,
  bodyTooManyValues,
  tooManyAtOnce,
} from "./texts.ts";

/** The limits of a request. */
export interface Room {
  readonly bytes: number;
  readonly values: number;
}

export function roomFor(operations: readonly Operation[], limits: Limits): Room {
  const files = Math.max(0, ...operations.map(({ carriesFiles = 0 }) => carriesFiles));
  // Each file has a path, a content and an encoding.
  return { bytes: files > 0 ? limits.uploadBytes : limits.bodyBytes, values: 2000 + 4 * files };
}

/**
 * Reads and parses a JSON body from outside. Its size, its depth and the number of its values are checked while it arrives,
 * piece by piece, and its encoding before it is parsed. Parsing an object with many keys takes far longer than receiving it. So
 * one caller's bodies are parsed one after another, with a turn for all other callers in between.
 */
export async function readJson(
  request: IncomingMessage,
  room: Room,
  held: { readonly hold: (bytes: number) => void; readonly account: Pick<Account, "parsing"> },
): Promise<unknown> {
  if (Number(request.headers["content-length"] ?? 0) > room.bytes) throw bodyTooLarge(room.bytes);
  const chunks: Buffer[] = [];
  const shape = new Shape(room.values);
  let size = 0;
  // If reading stops half-way, the connection stays open, because the refusal is sent on it.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.byteLength;
    if (size > room.bytes) throw bodyTooLarge(room.bytes);
    held.hold(chunk.byteLength);
    shape.check(chunk);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.byteLength === 0) return undefined;
  if (bytes.byteLength < quicklyParsed) return parsedBody(bytes);
  return held.account.parsing.run(async () => {
    await new Promise(setImmediate);
    return parsedBody(bytes);
  }, tooManyAtOnce);
}

const quicklyParsed = 16 * 1024;

export function parsedBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw bodyNotUtf8();
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw bodyNotJson(redactText(error instanceof Error ? error.message : ""));
  }
}

const maxDepth = 32;

/**
 * Counts the brackets and commas of a JSON text outside its strings. It builds no values, and stops at the first one too many.
 */
export class Shape {
  #depth = 0;
  #values = 0;
  #inString = false;
  #escaped = false;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

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
      else if (byte === comma && ++this.#values > this.#most) throw bodyTooManyValues(this.#most);
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
