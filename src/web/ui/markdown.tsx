import { Link } from "@tanstack/react-router";
import { createElement, Fragment, type ReactNode } from "react";
import { shown } from "../../contract/visible-text.ts";
import { type MarkdownToken, useMarkdown } from "./markdown-tokens.ts";
import { ResourceWords } from "./resource.tsx";

/**
 * An agent's Markdown as React elements. It becomes no HTML, and no image is loaded. Links lead to knowledge files, or outside
 * with their host beside them. A text that is too long, or takes too long to read, is shown as it is.
 */
export function Markdown({ text }: { text: string }): ReactNode {
  const state = useMarkdown(text);
  if (state === "plain")
    return (
      <pre className="code-box" tabIndex={0}>
        {shown(text)}
      </pre>
    );
  if (state === "reading") return <div className="md" aria-busy="true" />;
  return <div className="md">{render(state)}</div>;
}

/** Elements that Markdown can make. Headings begin one level below the title of the page. */
const elements = new Set("p h2 h3 h4 ul ol li blockquote strong em s table thead tbody tr th td".split(" "));
const headings: Readonly<Record<string, string>> = { h1: "h2", h2: "h3", h3: "h4", h5: "h4", h6: "h4" };

function render(tokens: readonly MarkdownToken[]): ReactNode[] {
  const stack: { token: MarkdownToken | null; children: ReactNode[] }[] = [{ token: null, children: [] }];
  const isInLink = (): boolean => stack.some((each) => each.token?.type === "link_open");
  const add = (node: ReactNode): void => void stack.at(-1)?.children.push(node);
  for (const [at, token] of tokens.entries()) {
    if (token.hidden) continue;
    if (token.nesting === 1) stack.push({ token, children: [] });
    else if (token.nesting === -1) {
      const done = stack.pop();
      if (done?.token != null) add(wrapped(done.token, done.children, at));
    } else add(token.type === "text" && !isInLink() ? withFiles(token.content, at) : single(token, at));
  }
  return stack[0]?.children ?? [];
}

function wrapped(token: MarkdownToken, children: ReactNode[], key: number): ReactNode {
  if (token.type === "link_open")
    return (
      <MarkdownLink key={key} to={token.href ?? ""}>
        {children}
      </MarkdownLink>
    );
  const tag = headings[token.tag] ?? token.tag;
  return elements.has(tag) ? (
    createElement(tag, { key }, children)
  ) : (
    <Fragment key={key}>{children}</Fragment>
  );
}

function single(token: MarkdownToken, key: number): ReactNode {
  switch (token.type) {
    case "inline":
      return <Fragment key={key}>{render(token.children)}</Fragment>;
    case "text":
      return token.content;
    case "softbreak":
      return " ";
    case "hardbreak":
      return <br key={key} />;
    case "hr":
      return <hr key={key} />;
    case "code_inline":
      return <code key={key}>{token.content}</code>;
    case "fence":
    case "code_block":
      return (
        <pre key={key} className="code-box" tabIndex={0}>
          {token.content}
        </pre>
      );
    case "image":
      return (
        <span key={key} className="tag">
          image: {token.content === "" ? "without a description" : token.content}, not loaded
        </span>
      );
    default:
      return token.content;
  }
}

/** Text in which each bare `kb://…` becomes a link with the name of its file. */
function withFiles(text: string, key: number): ReactNode {
  const parts = text.split(bareFile);
  if (parts.length === 1) return text;
  return (
    <Fragment key={key}>
      {parts.map((part, at) => (at % 2 === 0 ? part : <ResourceWords key={at} resource={`kb:${part}`} />))}
    </Fragment>
  );
}

/** Matches a bare link. After a split, the text between two links is at even positions. */
const bareFile = /kb:\/\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/i;

function MarkdownLink({ to, children }: { to: string; children: ReactNode }): ReactNode {
  const file = /^kb:\/\/([0-9a-f-]{36})/i.exec(to)?.[1];
  if (file !== undefined) return <Link to={`/knowledge/${file}`}>{children}</Link>;
  const host = hostOf(to);
  return (
    <>
      <a
        href={to}
        rel="noopener noreferrer"
        target="_blank"
        onClick={(event) => {
          if (!confirm(`This link leaves Agency and opens ${to.slice(0, 300)}`)) event.preventDefault();
        }}
      >
        {children}
      </a>
      <span className="host"> ({host})</span>
    </>
  );
}

function hostOf(url: string): string {
  try {
    const { host, protocol, pathname } = new URL(url);
    return protocol === "mailto:" ? pathname : host;
  } catch {
    return "not a link";
  }
}
