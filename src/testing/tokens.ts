/**
 * About how many tokens a model counts in a text of JSON and English. Two published tokenizers (o200k and one of Anthropic)
 * count 4.30 and 4.13 bytes per token in our lists of tools, and 4.55 and 4.26 in our prompt. This uses the larger count.
 */
const bytesPerToken = 4.13;

export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
