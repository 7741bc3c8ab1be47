import { isUtf8 } from "node:buffer";
import { Refusal } from "../contract/refusal.ts";
import { tooLarge } from "./workspace.ts";

/** Pure rules about bytes: how they come in, how they go out, what can be searched and what they link to. */

export function decodeContent(
  content: string,
  encoding: "utf8" | "base64" | undefined,
  maxBytes: number,
): Uint8Array {
  if (encoding === "base64") {
    // Without the white space first: a pattern that allowed for it in two places would take the square of the length.
    const digits = content.replace(/\s+/g, "");
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits) || digits.replace(/={1,2}$/, "").length % 4 === 1)
      throw new Refusal(
        "invalid",
        "The content is not valid base64.",
        "Encode the bytes as standard base64, or send utf8 text.",
      );
    if (digits.length * 0.75 > maxBytes + 4) throw tooLarge(Math.floor(digits.length * 0.75), maxBytes);
    return checked(Buffer.from(digits, "base64"), maxBytes);
  }
  if (!content.isWellFormed())
    throw new Refusal(
      "invalid",
      "The content is not valid Unicode.",
      "Send well-formed text, or base64 for bytes.",
    );
  return checked(Buffer.from(content, "utf8"), maxBytes);
}

/** The same of a file among others: a refusal names it. */
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

/** The part of a text that is indexed for search, normalized as the words of a query are; nothing of what is not text. */
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

/** The ids a text links to, each once. */
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

/** The words of a query; what is between them does not matter. */
export function wordsOf(query: string): string[] {
  return (
    query
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  ).slice(0, 20);
}

/** A line of text around the first word found. */
export function excerptOf(body: string, words: readonly string[]): string {
  const lower = body.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...(places.length === 0 ? [0] : places)) - 60);
  const line = body
    .slice(start, start + 200)
    .replace(/\s+/g, " ")
    .trim()
    .toWellFormed();
  return `${start > 0 ? "…" : ""}${line}${start + 200 < body.length ? "…" : ""}`;
}

const searchableCharacters = 100_000;
const mostLinks = 1000;
const linkPattern = /kb:\/\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/gi;

function checked(bytes: Uint8Array, maxBytes: number): Uint8Array {
  if (bytes.byteLength > maxBytes) throw tooLarge(bytes.byteLength, maxBytes);
  return bytes;
}
