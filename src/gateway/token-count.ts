/**
 * About how many tokens a text has, rather too many. Most English texts have four characters for a token, and three are counted.
 * Letters of other alphabets count as two thirds of a token, and Chinese or Japanese characters as one and a half.
 */
export function countTokens(text: string): number {
  let sixths = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Two halves of a character that needs both count as one each.
    const isHalf = code >= 0xd8_00 && code < 0xe0_00;
    sixths += code < 0x80 ? 2 : code < 0x8_00 ? 4 : isHalf ? 6 : 9;
  }
  return Math.ceil(sixths / 6);
}
