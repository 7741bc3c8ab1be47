import { isUtf8 } from "node:buffer";
import { Refusal } from "../contract/refusal.ts";
import { firstPlace } from "../store/search-words.ts";
import { notBase64, notUnicode, contentTooLarge } from "./texts.ts";

/** Pure rules about the bytes of a file: decoding, encoding, the text for search, and the links in it. */

export function decodeContent(
  content: string,
  encoding: "utf8" | "base64" | undefined,
  maxBytes: number,
): Uint8Array {
  if (encoding === "base64") {
    // White space is removed first. One pattern that also allows white space would take quadratic time on some inputs.
    const digits = content.replace(/\s+/g, "");
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits) || digits.replace(/={1,2}$/, "").length % 4 === 1)
      throw notBase64();
    if (digits.length * 0.75 > maxBytes + 4)
      throw contentTooLarge(Math.floor(digits.length * 0.75), maxBytes);
    return checked(Buffer.from(digits, "base64"), maxBytes);
  }
  if (!content.isWellFormed()) throw notUnicode();
  return checked(Buffer.from(content, "utf8"), maxBytes);
}

/** Like decodeContent, for one of several files: the refusal names its path. */
export function decodeFile(
  file: { path: string; content: string; encoding?: "utf8" | "base64" | undefined },
  maxBytes: number,
): Uint8Array {
  try {
    return decodeContent(file.content, file.encoding, maxBytes);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.code, `${file.path}: ${error.message}`, error.hint);
  }
}

export function encodeContent(bytes: Uint8Array): { encoding: "utf8" | "base64"; content: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer)
    ? { encoding: "utf8", content: buffer.toString("utf8") }
    : { encoding: "base64", content: buffer.toString("base64") };
}

/** The part of a text that search indexes, normalized like the words of a query. Empty if the bytes are not text. */
export function searchableText(bytes: Uint8Array): string {
  const head = Buffer.from(
    bytes.buffer,
    bytes.byteOffset,
    Math.min(bytes.byteLength, 4 * searchableCharacters),
  );
  if (!isUtf8(bytes)) return "";
  return head
    .toString("utf8")
    .slice(0, searchableCharacters)
    .replaceAll("\u0000", " ")
    .toWellFormed()
    .normalize("NFC");
}

/** The ids that a text links to, each once. */
export function linksIn(bytes: Uint8Array): string[] {
  if (!isUtf8(bytes)) return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (!text.includes("kb://")) return [];
  const found = new Set<string>();
  for (const [, id] of text.matchAll(linkPattern)) {
    if (id !== undefined) found.add(id.toLowerCase());
    if (found.size >= mostLinks) break;
  }
  return [...found];
}

/** A line of text around the first word found, without the marks of Markdown. */
export function excerptOf(text: string, words: readonly string[]): string {
  const body = withoutMarks(text);
  const start = Math.max(0, firstPlace(body, words) - 60);
  const line = body
    .slice(start, start + 200)
    .replace(/\s+/g, " ")
    .trim()
    .toWellFormed();
  return `${start > 0 ? "…" : ""}${line}${start + 200 < body.length ? "…" : ""}`;
}

/** A quick pass, not a parser: people and models read an excerpt, but no code uses it. */
function withoutMarks(text: string): string {
  return text
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,9}[.)])[ \t]+/gm, "")
    .replace(/^[ \t]*[|:-][|:\- \t]*$/gm, "")
    .replace(/!?\[([^[\]\n]{1,300})\]\([^()\s]{1,500}\)/g, "$1")
    .replace(/\*\*|~~|`/g, "")
    .replaceAll("|", " ")
    .replace(/(?<![\p{L}\p{N}])\*(?=\S)|(?<=\S)\*(?![\p{L}\p{N}])/gu, "");
}

const searchableCharacters = 100_000;
const mostLinks = 1000;
const linkPattern = /kb:\/\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/gi;

function checked(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (bytes.byteLength > maxBytes) throw contentTooLarge(bytes.byteLength, maxBytes);
  return bytes;
}
