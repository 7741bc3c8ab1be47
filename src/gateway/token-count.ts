import type { ModelApi } from "../brains/brain.ts";
import type { Judged } from "./request-rules.ts";

/**
 * When a conversation fills this share of the context, its session saves what it knows and ends, and another one continues. The
 * rest has room for one long tool result, the state document and the summary.
 */
export const mostOfContext = 0.85;

/**
 * Estimates the tokens of a text, rather too high. Most English texts have four characters for a token; three are counted. A
 * letter of another alphabet counts as two thirds of a token, a Chinese or Japanese character as one and a half.
 */
export function countTokens(text: string): number {
  let sixths = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair counts as one.
    const isHalf = code >= 0xd8_00 && code < 0xe0_00;
    sixths += code < 0x80 ? 2 : code < 0x8_00 ? 4 : isHalf ? 6 : 9;
  }
  return Math.ceil(sixths / 6);
}

/**
 * The most tokens that a model reads of one image, as the providers document it. Anthropic scales an image down to 4,784
 * patches. OpenAI counts 2,833 tokens and 5,667 for each of at most 8 tiles with its dearest model, or at most 10,000 patches,
 * each as up to 2.46 tokens.
 */
const mostOfImage: Readonly<Record<ModelApi, number>> = { messages: 4784, responses: 50_000, chat: 50_000 };

/**
 * The most tokens that a model can read of a request. The size of a file can't be seen from its letters, and content at the
 * provider or at an address is not in the request at all. So each counts as the whole window of the model.
 */
export function mostRead(
  api: ModelApi,
  body: string,
  { media, outside }: Pick<Judged, "media" | "outside">,
  windowTokens: number,
): number {
  const letters = countTokens(body);
  const window = Math.max(letters, windowTokens);
  if (media.hasFiles || outside.length > 0) return window;
  const { images, imageLetters } = media;
  return Math.min(window, letters - Math.floor(imageLetters / 3) + images * mostOfImage[api]);
}
