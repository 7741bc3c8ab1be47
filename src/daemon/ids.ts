import { randomBytes } from "node:crypto";

/**
 * Random bytes for the next ids, drawn for 256 ids at once: one draw costs as much as a row in the database. Never used for
 * secrets.
 */
let drawn = Buffer.alloc(0);

let last = 0;
let order = 0;

/**
 * A UUID of version 7. It begins with the time, so new rows are neighbours in every index. While the time is the same, the 12
 * bits after it grow: agents that one call hires are listed in the order of their hires. The steps are random, so ids don't
 * show how many there are.
 */
export function newId(now: number = Date.now()): string {
  if (drawn.byteLength === 0) drawn = randomBytes(16 * 256);
  const bytes = drawn.subarray(0, 16);
  drawn = drawn.subarray(16);
  const chance = bytes.readUInt16BE(6);
  order = now === last ? order + 1 + (chance & 0x7) : chance & 0x3ff;
  last = now;
  bytes.writeUIntBE(now, 0, 6);
  bytes.writeUInt16BE(0x7000 | (order & 0xfff), 6);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A secret of 256 bits, for tokens. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}
