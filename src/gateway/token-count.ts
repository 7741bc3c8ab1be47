import type { ModelApi } from "../brains/brain.ts";
import type { Judged } from "./request-rules.ts";

/**
 * When a conversation fills this part of the context, its session saves what it knows and ends, and another one continues. One long
 * result of a tool still fits, and so do the state document and the summary.
 */
export const mostOfContext = 0.85;

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

/**
 * The most that a model reads of one image, as the providers document it. Anthropic scales an image down to 4,784 patches. OpenAI
 * counts 2,833 tokens and 5,667 for each of at most 8 tiles with its dearest model, or at most 10,000 patches, each as up to 2.46 tokens.
 */
const mostOfImage: Readonly<Record<ModelApi, number>> = { messages: 4784, responses: 50_000, chat: 50_000 };

/**
 * The most that a model can read of a request. How much a file is can't be seen from its letters, and what lies at the provider or at an
 * address is not in the request at all, so either counts as all that the model's window holds.
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
