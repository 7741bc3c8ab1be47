import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { z } from "zod";
import { pageRoots } from "../contract/site.ts";
import { takesGzip } from "./encodings.ts";

/**
 * The dashboard's page and its assets. They are the same for everyone and contain no data, so they need no credential: links
 * from mail or a terminal open them, and the page then calls the API with the credential of its browser. Only files that the
 * build listed are served. Their names contain a hash of their content, so browsers keep them.
 */
export interface Site {
  /** Whether the request asks for the page or one of its files. */
  isFor(request: IncomingMessage): boolean;
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const Listed = z.array(z.object({ path: z.string(), gzip: z.boolean() }));

/**
 * `folder` is the output of scripts/build-web.ts. Without it there is no dashboard, for example when the sources run unbuilt.
 */
export function openSite(folder: string): Site {
  const files = new Map(listed(folder).map(({ path, gzip }) => [path, gzip]));
  const fileFor = ({ method, url = "" }: IncomingMessage): string | undefined => {
    if (method !== "GET" && method !== "HEAD") return undefined;
    // The path exactly as it was sent. No other part of the program reads it, so it is neither decoded nor resolved.
    const [path = ""] = url.split(/[?#]/, 1);
    if (path !== page && files.has(path)) return path;
    const isPage = pageShape.test(path) && pageRoots.some((root) => path.split("/")[1] === root);
    return isPage && files.has(page) ? page : undefined;
  };
  return {
    isFor: (request) => fileFor(request) !== undefined,
    answer: async (request, response) => {
      const path = fileFor(request) ?? page;
      const packed = files.get(path) === true && takesGzip(String(request.headers["accept-encoding"]));
      const bytes = await readFile(join(folder, packed ? `${path}.gz` : path));
      response.writeHead(200, {
        ...siteHeaders,
        "content-type": types[extname(path)] ?? "application/octet-stream",
        "content-length": bytes.byteLength,
        "cache-control": path === page ? "no-cache" : "public, max-age=31536000, immutable",
        vary: "accept-encoding",
        ...(packed && { "content-encoding": "gzip" }),
      });
      response.end(request.method === "HEAD" ? undefined : bytes);
    },
  };
}

const page = "/index.html";
const pageShape = /^\/$|^(?:\/[\w~-]+){1,4}\/?$/;

const siteHeaders = {
  "content-security-policy": [
    "default-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types agency",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

function listed(folder: string): z.infer<typeof Listed> {
  try {
    return Listed.parse(JSON.parse(readFileSync(join(folder, "files.json"), "utf8")));
  } catch {
    return [];
  }
}
