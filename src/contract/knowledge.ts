import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, Flag, Id, nextCursor, Page, text, Time, whole } from "./words.ts";

export const fileKinds = ["file", "outcome", "state", "log", "message", "result", "skill"] as const;

const Description = text(1000).refine(
  (words) => words.trim().length > 0,
  "a description needs at least one visible character",
);
const MediaType = z
  .string()
  .max(100)
  .regex(
    /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i,
    "a media type looks like text/markdown",
  );
const VersionNumber = whole(1);
const Hash = z.string().regex(/^[0-9a-f]{64}$/, "a hash is 64 hexadecimal digits (SHA-256)");
const Encoding = z.enum(["utf8", "base64"]);

/** How bytes come in: a path inside the session's own workspace, or the content itself. */
const source = {
  path: z.string().min(1).max(4096).optional().describe("A file in your workspace; or send content."),
  content: z.string().optional().describe("The content itself; or name a path."),
  encoding: Encoding.optional().describe("Of content: utf8 (default) or base64."),
};

const Author = z.object({
  kind: z.enum(["board", "agent", "system"]),
  agentId: z.string().nullable(),
  sessionId: z.string().nullable(),
});

const FileSummary = z.object({
  id: z.string(),
  kind: z.enum(fileKinds),
  description: z.string(),
  mediaType: z.string(),
  level: z.enum(["none", "read", "write"]).describe("What you may do with it."),
  version: z.number(),
  hash: z.string(),
  size: z.number(),
  updatedAt: z.string(),
});
export type FileSummary = z.infer<typeof FileSummary>;

const FileContent = z.object({
  id: z.string(),
  description: z.string(),
  mediaType: z.string(),
  version: z.number(),
  hash: z.string(),
  size: z.number(),
  encoding: Encoding,
  content: z.string(),
});

const Saved = z.object({ id: z.string(), version: z.number(), hash: z.string() });

const Version = z.object({
  version: z.number(),
  hash: z.string(),
  size: z.number(),
  author: Author,
  at: z.string(),
});

export const createFile = operation({
  name: "knowledge.create",
  summary: "Create a knowledge file with a description; answers its id, version and hash.",
  input: z.strictObject({
    companyId: CompanyId,
    description: Description,
    ...source,
    mediaType: MediaType.optional(),
  }),
  output: Saved,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/companies/:companyId/kb" },
  mcp: { server: "kb", tool: "create_file" },
  cli: { command: "kb create", args: ["description"] },
});

export const readFile = operation({
  name: "knowledge.read",
  summary: "Read a knowledge file with its version and hash. The reading is on record.",
  input: z.strictObject({ id: Id }),
  output: FileContent,
  effect: "record",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/kb/:id" },
  mcp: { server: "kb", tool: "read_file" },
  cli: { command: "kb read", args: ["id"] },
});

export const writeFile = operation({
  name: "knowledge.write",
  summary:
    "Write a new version; pass the version and hash you last saw, otherwise the write is refused with the current pair.",
  input: z.strictObject({
    id: Id,
    ...source,
    version: VersionNumber.describe("The version number you last saw."),
    hash: Hash.describe("The hash you last saw."),
    description: Description.optional().describe("A better description, if it changed."),
  }),
  output: Saved,
  effect: "write",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "write" }],
  http: { method: "PUT", path: "/api/kb/:id" },
  mcp: { server: "kb", tool: "write_file" },
  cli: { command: "kb write", args: ["id"] },
});

export const listFiles = operation({
  name: "knowledge.list",
  summary:
    "List the files you can read or write; with materialize, place read-only copies in your workspace.",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500).optional().describe("Only files whose description has these words."),
    kind: z.enum(fileKinds).optional(),
    materialize: Flag.optional().describe("Copy each file of this page into the workspace and say where."),
    ...Page,
  }),
  output: z.object({ files: z.array(FileSummary.extend({ path: z.string().optional() })), nextCursor }),
  effect: "record",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/kb" },
  mcp: { server: "kb", tool: "list_files" },
  cli: { command: "kb list" },
});

export const browseFiles = operation({
  name: "knowledge.browse",
  summary: "Search the descriptions of every file you may know of, also of those you cannot read.",
  input: z.strictObject({ companyId: CompanyId, query: text(500).optional(), ...Page }),
  output: z.object({ files: z.array(FileSummary), nextCursor }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/kb/browse" },
  mcp: { server: "kb", tool: "browse_files" },
  cli: { command: "kb browse", args: ["query"] },
});

export const searchFiles = operation({
  name: "knowledge.search",
  summary: "Full-text search over descriptions and the content you may read.",
  input: z.strictObject({ companyId: CompanyId, query: text(500).min(1), limit: Page.limit }),
  output: z.object({
    files: z.array(FileSummary.extend({ excerpt: z.string() })),
    truncated: z.boolean().describe("There are more matches than were looked at: narrow the query."),
  }),
  effect: "read",
  within: "company",
  needs: "member",
  http: { method: "GET", path: "/api/companies/:companyId/kb/search" },
  mcp: { server: "kb", tool: "search_files" },
  cli: { command: "kb search", args: ["query"] },
});

export const viewHistory = operation({
  name: "knowledge.history",
  summary: "List the versions of a file, newest first.",
  input: z.strictObject({ id: Id, ...Page }),
  output: z.object({ id: z.string(), versions: z.array(Version), nextCursor }),
  effect: "record",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/kb/:id/versions" },
  mcp: { server: "kb", tool: "view_history" },
  cli: { command: "kb history", args: ["id"] },
});

export const readVersion = operation({
  name: "knowledge.read_version",
  summary: "Read one version of a file. The reading is on record.",
  input: z.strictObject({ id: Id, version: VersionNumber }),
  output: FileContent,
  effect: "record",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/kb/:id/versions/:version" },
  mcp: { server: "kb", tool: "read_version" },
  cli: { command: "kb version", args: ["id", "version"] },
});

export const viewAccessLog = operation({
  name: "knowledge.access_log",
  summary: "Who read and wrote a file, and when, newest first.",
  input: z.strictObject({ id: Id, ...Page }),
  output: z.object({
    id: z.string(),
    accesses: z.array(
      z.object({
        seq: z.number(),
        at: z.string(),
        action: z.string(),
        by: Author,
        version: z.number().nullable(),
      }),
    ),
    nextCursor,
  }),
  effect: "read",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/kb/:id/access" },
  mcp: { server: "kb", tool: "view_access_log" },
  cli: { command: "kb access-log", args: ["id"] },
});

const Link = z.object({
  id: z.string(),
  description: z.string().nullable().describe("Null when you may not know of it, or there is nothing."),
  state: z.enum(["live", "deleted", "broken"]),
});

export const viewLinks = operation({
  name: "knowledge.links",
  summary: "The kb:// links in a file and the files that link to it.",
  input: z.strictObject({ id: Id }),
  output: z.object({ id: z.string(), links: z.array(Link), backlinks: z.array(Link) }),
  effect: "read",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  http: { method: "GET", path: "/api/kb/:id/links" },
  mcp: { server: "kb", tool: "view_links" },
  cli: { command: "kb links", args: ["id"] },
});

export const listBrokenLinks = operation({
  name: "knowledge.broken_links",
  summary: "Every kb:// link of the company that points to nothing or to a deleted file.",
  input: z.strictObject({ companyId: CompanyId, ...Page }),
  output: z.object({ links: z.array(z.object({ from: z.string(), to: z.string() })), nextCursor }),
  effect: "read",
  within: "company",
  needs: "board",
  http: { method: "GET", path: "/api/companies/:companyId/kb/broken-links" },
  cli: { command: "kb broken-links" },
});

export const deleteFile = operation({
  name: "knowledge.delete",
  summary: "Delete a file. Its history stays for the board; links to it answer 410.",
  input: z.strictObject({ id: Id, reason: text(1000).optional() }),
  output: z.object({ id: z.string(), deletedAt: Time }),
  effect: "write",
  within: { file: "id" },
  needs: ({ id }) => [{ on: `kb:${id}`, level: "write" }],
  http: { method: "DELETE", path: "/api/kb/:id" },
  mcp: { server: "kb", tool: "delete_file" },
  cli: { command: "kb delete", args: ["id"] },
});
