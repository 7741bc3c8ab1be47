import { couldBeKey, looksMade, type Shape, type Span } from "./values.ts";

/** Finds the secret in `scheme://user:password@host` and `https://token@host`. The user and the host stay. */
export function* loginsIn(text: string): Iterable<Span> {
  // Each match ends at the next `://`, so no character is scanned twice.
  for (const match of text.matchAll(/:\/\/([^\s"'`<>]*?)(?=:\/\/|[\s"'`<>]|$)/g)) {
    const address = match[1] ?? "";
    const start = match.index + 3;
    const scheme = /[a-z]*$/i.exec(text.slice(Math.max(0, match.index - 12), match.index))?.[0] ?? "";
    const isHttp = /^(?:https?|wss?)$/i.test(scheme);
    const authority = address.split(/[/?#]/, 1)[0] ?? "";
    const colon = authority.indexOf(":");
    const at = authority.lastIndexOf("@");
    if (address.startsWith("[")) continue;
    if (at > 0 && (colon < 0 || colon > at)) {
      const user = authority.slice(0, at);
      const isClone = plainUser.test(user) && /\.git\b|\/_git\/|^[^/]*(?:git|bitbucket|azure)/.test(address);
      const isToken = isHttp ? !isClone && !isReference(user) : user.length >= 12 && couldBeKey(user);
      if (isToken) yield [start, start + at];
      continue;
    }
    // A port has no letters. In a database URL, a password may contain a slash that was not encoded.
    const isWeb = isHttp || /^(?:git|ssh|s?ftp)$/i.test(scheme);
    const isPort = /^\d*$/.test(authority.slice(colon + 1));
    const end = at > 0 && isWeb ? at : isPort ? -1 : address.lastIndexOf("@");
    if (colon < 0 || end <= colon) continue;
    const user = address.slice(0, colon);
    const password = address.slice(colon + 1, end);
    const isUserToken = /^(?:|x|x-oauth-basic)$/i.test(password);
    if (user !== "" && (isUserToken || looksMade(user))) yield [start, start + colon];
    if (!isUserToken && !isReference(password)) yield [start + colon + 1, start + end];
  }
}

/** A plain user name, as in the URL of a repository. Anything else before the @ of a web URL counts as a token. */
const plainUser = /^[a-z][a-z._-]{0,19}$/;
const isReference = (word: string): boolean => /^(?:\$|\{|<|%7B|\[redacted)/i.test(word);

/** Logins without a scheme (`root:password@db:3306/shop`, but not `app:1.2@sha256:…`), and those of Oracle. */
export const loginShapes: readonly Shape[] = [
  [
    "@",
    /(?<![\w/@:.%-])(?<kept>(?!(?:mailto|acct|b?cc|to|from|sips?|xmpp):)[\w.-]{1,64}:)(?<secret>[^\s"'`@/:[|,]{1,256})(?=@(?!sha\d)[\w.-]{1,200}(?::\d|\/|\())/gi,
  ],
  ["@", /(?<kept>(?:oracle:(?:thin|oci):|\bsqlplus )[\w$#]{1,64}\/)(?<secret>[^\s"'`@[]{1,256})(?=@)/gi],
];
