/**
 * About how many tokens a text has, rather too many. Most texts in Latin letters have four characters for a token, so three are
 * counted. Other scripts have more tokens: a Chinese or Japanese character, three bytes, counts as one and a half.
 */
export function countTokens(text: string): number {
  const bytes = Buffer.byteLength(text);
  let plain = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 0x80) plain++;
  return Math.ceil(plain / 3 + (bytes - plain) / 2);
}
