import { z } from "zod";
import { ActorRef } from "./ledger.ts";
import { operation } from "./operation.ts";
import { CompanyId, Flag, idOf, nextCursor, Page, text, Time, whole } from "./words.ts";

/** The knowledge base: versioned files with a description. */

export const fileKinds = ["file", "outcome", "state", "log", "message", "result", "skill"] as const;

const fileId = idOf("file");
const Description = text(1000).refine(
  (words) => words.trim().length > 0,
  "a description with at least one visible character",
);
const MediaType = z
  .string()
  .max(100)
  .regex(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i, "a media type such as text/markdown");
const VersionNumber = whole(1);
const Hash = z.string().regex(/^[0-9a-f]{64}$/, "a SHA-256 hash of 64 hexadecimal digits");
const Encoding = z.enum(["utf8", "base64"]);

/** Where the bytes come from: a path inside the session's workspace, or the content itself. */
const source = {
  path: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe("Path of a file in your workspace, relative to it. Use this or `content`, not both."),
  content: z.string().optional().describe("The content itself. Use this or `path`, not both."),
  encoding: Encoding.optional().describe(
    "Encoding of `content`. Default `utf8`; use `base64` for binary data.",
  ),
};

const FileSummary = z.object({
  id: z.string(),
  kind: z.enum(fileKinds),
  description: z.string(),
  mediaType: z.string(),
  level: z.enum(["none", "read", "write"]).describe("Your right: `none` means you see only the description."),
  version: z.number(),
  hash: z.string(),
  size: z.number(),
  updatedAt: z.string(),
});
export type FileSummary = z.infer<typeof FileSummary>;

const FileContent = FileSummary.omit({ kind: true, level: true, updatedAt: true }).extend({
  encoding: Encoding,
  content: z.string(),
  pinned: z
    .boolean()
    .optional()
    .describe("True if you can read only the version that was sent to you. The file may have newer ones."),
});

const Saved = z.object({ id: z.string(), version: z.number(), hash: z.string() });

const Version = z.object({
  version: z.number(),
  hash: z.string(),
  size: z.number(),
  author: ActorRef,
  at: z.string(),
});

export const createFile = operation("knowledge.create", "POST /api/companies/:companyId/kb", {
  summary: "Create a knowledge file.",
  guidance:
    'Use it for everything that must outlive your session: results, notes, decisions. Prefer several small files that link to each other as `kb://<file id>`. You can write the file; others need a grant (grant_permission). Returns `id`, `version` and `hash`; keep them for write_file. Example: {"description": "Release checklist", "content": "# Checklist…"}.',
  input: z.strictObject({
    companyId: CompanyId,
    description: Description.describe(
      "What the file contains, in one line of up to 1,000 characters. Others find it by this.",
    ),
    ...source,
    mediaType: MediaType.optional().describe("Media type, such as `text/markdown`. Default `text/markdown`."),
  }),
  output: Saved,
  carriesFiles: 1,
  needs: "member",
  mcp: { server: "kb", tool: "create_file" },
  cli: { command: "kb create <description>", example: '"Release checklist" --file checklist.md' },
});

export const readFile = operation("knowledge.read", "GET /api/kb/:id", {
  summary: "Read a knowledge file.",
  guidance:
    "Returns the current content with `version` and `hash`, which write_file needs. Text is returned as it is, other files as base64. The file's access log records that you read it. A link `kb://<id>` in a text names a file: pass that id.",
  input: z.strictObject({ id: fileId }),
  output: FileContent,
  effect: "record",
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "read_file" },
  cli: { command: "kb read <id>", example: "<file id>" },
});

export const writeFile = operation("knowledge.write", "PUT /api/kb/:id", {
  summary: "Write a new version of a knowledge file.",
  guidance:
    "Pass the `version` and `hash` you last saw from read_file, create_file or write_file. If the file has changed since, the call is refused and names the current version: read it, merge your change, and write again. The new content replaces the old one as a whole; earlier versions stay readable. Returns the new `version` and `hash`.",
  input: z.strictObject({
    id: fileId,
    ...source,
    version: VersionNumber.describe("The version number you last saw."),
    hash: Hash.describe("The hash you last saw: 64 hexadecimal digits."),
    description: Description.optional().describe("New description. Default: unchanged."),
  }),
  output: Saved,
  carriesFiles: 1,
  needs: ({ id }) => [{ on: `kb:${id}`, level: "write" }],
  mcp: { server: "kb", tool: "write_file" },
  cli: { command: "kb write <id>", example: "<file id> --file notes.md --version 3 --hash <hash>" },
});

export const listFiles = operation("knowledge.list", "GET /api/companies/:companyId/kb", {
  summary: "List the knowledge files you can read or write.",
  guidance:
    "Returns id, description, your right, version and hash of each file. To search the content, use search_files. To find files that exist but that you can't read, use browse_files. Messages are not listed unless you ask for kind `message`.",
  lists: "file",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500).optional().describe("Only files whose description contains all these words."),
    kind: z
      .enum(fileKinds)
      .optional()
      .describe(
        "Only files of this kind: `file` (ordinary), `outcome`, `state`, `log`, `message`, `result`, `skill`.",
      ),
    materialize: Flag.optional().describe(
      "true puts a read-only copy of each file of this page into your workspace and returns its `path`. A page then ends after 4 MB. Default false.",
    ),
    ...Page,
  }),
  output: z.object({ files: z.array(FileSummary.extend({ path: z.string().optional() })), nextCursor }),
  heavy: ({ materialize }) => String(materialize) === "true",
  effect: "record",
  needs: "member",
  mcp: { server: "kb", tool: "list_files" },
  cli: { command: "kb list", example: "--query release" },
});

export const browseFiles = operation("knowledge.browse", "GET /api/companies/:companyId/kb/browse", {
  summary: "Search the descriptions of all knowledge files you may know of.",
  guidance:
    "Includes files you can't read, shown with right `none`: ask for them with request_permission. It looks only at descriptions; search_files also looks at content.",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500)
      .optional()
      .describe("Only files whose description contains all these words. Default: every file."),
    ...Page,
  }),
  output: z.object({ files: z.array(FileSummary), nextCursor }),
  needs: "member",
  mcp: { server: "kb", tool: "browse_files" },
  cli: { command: "kb browse <query>", example: "release" },
});

export const searchFiles = operation("knowledge.search", "GET /api/companies/:companyId/kb/search", {
  summary: "Search the descriptions and the content of knowledge files.",
  guidance:
    "Finds files that contain all words of the query, each word also as the beginning of a longer one. Files whose description has the words come first, then the newest. Searches only content you can read. Returns each file with an excerpt; read_file gives the whole.",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500)
      .min(1)
      .describe("Words to look for, such as `release checklist`. All of them must occur."),
    limit: Page.limit,
  }),
  output: z.object({
    files: z.array(FileSummary.extend({ excerpt: z.string() })),
    truncated: z.boolean().describe("True if more files match: use a narrower query."),
  }),
  effect: "record",
  heavy: () => true,
  needs: "member",
  mcp: { server: "kb", tool: "search_files" },
  cli: { command: "kb search <query>", example: '"release checklist"' },
});

export const viewHistory = operation("knowledge.history", "GET /api/kb/:id/versions", {
  summary: "List the versions of a knowledge file, newest first.",
  guidance:
    "Returns number, hash, size, author and time of each version, without the content. To read an earlier version, use read_version. To see who read the file, use view_access_log.",
  input: z.strictObject({ id: fileId, ...Page }),
  output: z.object({ id: z.string(), versions: z.array(Version), nextCursor }),
  effect: "record",
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "view_history" },
  cli: { command: "kb history <id>", example: "<file id>" },
});

export const readVersion = operation("knowledge.read_version", "GET /api/kb/:id/versions/:version", {
  summary: "Read an earlier version of a knowledge file.",
  guidance:
    "Use it to compare with the past or to restore it; for the current content use read_file. Version numbers come from view_history. The file's access log records that you read it.",
  input: z.strictObject({
    id: fileId,
    version: VersionNumber.describe("Number of the version, counted from 1."),
  }),
  output: FileContent,
  effect: "record",
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "read_version" },
  cli: { command: "kb version <id> <version>", example: "<file id> 2" },
});

export const viewAccessLog = operation("knowledge.access_log", "GET /api/kb/:id/access", {
  summary: "List who read and wrote a knowledge file, newest first.",
  guidance:
    "Each entry names the agent and session, the action, the version and the time. For the content of versions, use view_history.",
  input: z.strictObject({ id: fileId, ...Page }),
  output: z.object({
    id: z.string(),
    accesses: z.array(
      z.object({
        at: z.string(),
        action: z.string(),
        by: ActorRef,
        version: z.number().nullable(),
      }),
    ),
    nextCursor,
  }),
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "view_access_log" },
  cli: { command: "kb access-log <id>", example: "<file id>" },
});

const Link = z.object({
  id: z.string(),
  description: z.string().nullable().describe("Null if the file does not exist or you may not know of it."),
  state: z.enum(["live", "deleted", "broken"]),
});

export const viewLinks = operation("knowledge.links", "GET /api/kb/:id/links", {
  summary: "List the kb:// links in a knowledge file and the files that link to it.",
  guidance:
    "Use it to follow references without reading whole files. Each link has a state: `live`, `deleted` or `broken` (the file does not exist, or you may not know of it).",
  input: z.strictObject({ id: fileId }),
  output: z.object({ id: z.string(), links: z.array(Link), backlinks: z.array(Link) }),
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "view_links" },
  cli: { command: "kb links <id>", example: "<file id>" },
});

export const listBrokenLinks = operation(
  "knowledge.broken_links",
  "GET /api/companies/:companyId/kb/broken-links",
  {
    summary: "List every kb:// link that points to a missing or deleted file.",
    input: z.strictObject({ companyId: CompanyId, ...Page }),
    output: z.object({ links: z.array(z.object({ from: z.string(), to: z.string() })), nextCursor }),
    cli: { command: "kb broken-links" },
  },
);

export const deleteFile = operation("knowledge.delete", "DELETE /api/kb/:id", {
  summary: "Delete a knowledge file.",
  guidance:
    "Needs the right to write it. The board can still read its history; for everyone else the file is gone and links to it break. Documents of the system (outcomes, results, state documents, logs, skills) can't be deleted. To replace the content, use write_file.",
  input: z.strictObject({
    id: fileId,
    reason: text(1000).optional().describe("Why, up to 1,000 characters. Kept in the record."),
  }),
  output: z.object({ id: z.string(), deletedAt: Time }),
  needs: ({ id }) => [{ on: `kb:${id}`, level: "write" }],
  mcp: { server: "kb", tool: "delete_file" },
  cli: { command: "kb delete <id>", example: "<file id> --reason Outdated" },
});
