import MarkdownIt, { type Token } from "markdown-it";
import { shown } from "../../contract/visible-text.ts";
import type { MarkdownToken, Parsed, ToParse } from "./markdown-tokens.ts";

/** Parses Markdown outside of the page, so a text that takes long holds nothing up. It makes tokens, never HTML. */
const parser = new MarkdownIt("default", { html: false, linkify: false });
parser.validateLink = (url) => /^(?:https?:|mailto:|kb:)/i.test(url.trim());

/** Only the fields that the page uses, in a form that a message can carry. */
const plain = (token: Token): MarkdownToken => ({
  type: token.type,
  tag: token.tag,
  nesting: token.nesting,
  hidden: token.hidden,
  // The parser has decoded entities, which may be acting characters.
  content: shown(token.content),
  href: token.type === "link_open" ? String(token.attrGet("href") ?? "") : undefined,
  children: token.children?.map(plain) ?? [],
});

function tokensIn(text: string): readonly MarkdownToken[] | undefined {
  try {
    return parser.parse(text, {}).map(plain);
  } catch {
    return undefined;
  }
}

addEventListener("message", ({ data }: MessageEvent<ToParse>) => {
  const parsed: Parsed = { tokens: tokensIn(data.text) };
  postMessage(parsed);
});
