import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** Encrypts values for the database with AES-256-GCM. The key is derived from the one that the user gives. */
export interface Sealer {
  /** `place` is where the value belongs. A sealed value that was moved to another place can't be opened. */
  readonly seal: (place: string, value: string) => string;
  /** Undefined if the value was changed, or was sealed with another key or for another place. */
  readonly open: (place: string, sealed: string) => string | undefined;
}

const nonceBytes = 12;
const tagBytes = 16;

export function sealerWith(key: string): Sealer {
  const derived = Buffer.from(hkdfSync("sha256", key, "", "agency secrets", 32));
  return {
    seal: (place, value) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", derived, nonce).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(value, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64");
    },
    open: (place, sealed) => {
      const bytes = Buffer.from(sealed, "base64");
      const start = nonceBytes + tagBytes;
      if (bytes.length < start) return undefined;
      const cipher = createDecipheriv("aes-256-gcm", derived, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(place))
        .setAuthTag(bytes.subarray(nonceBytes, start));
      try {
        return Buffer.concat([cipher.update(bytes.subarray(start)), cipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}
