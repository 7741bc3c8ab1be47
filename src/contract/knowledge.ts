import { z } from "zod";
import { ActorRef, RemovedMonths } from "./ledger.ts";
import { operation } from "./operation.ts";
import {
  CompanyId,
  Flag,
  hiddenInSessions,
  hiddenInTools,
  idOf,
  shownInTools,
  inAll,
  nextCursor,
  Page,
  text,
  Time,
  whole,
} from "./words.ts";

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
  path: z.string().min(1).max(4096).optional().describe("Path in your workspace. Give this or `content`."),
  content: z
    .string()
    .optional()
    .describe("Text of the file.")
    .register(shownInTools, { description: "Its text." }),
  encoding: Encoding.optional()
    .describe("Encoding of `content`: `utf8` (default), or `base64` for binary data.")
    .register(hiddenInTools, {}),
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
  pinned: z
    .boolean()
    .optional()
    .describe("True if you can read only this version, which was delivered or sent to you."),
});
export type FileSummary = z.infer<typeof FileSummary>;

const FileContent = FileSummary.omit({ kind: true, level: true, updatedAt: true }).extend({
  encoding: Encoding,
  content: z.string(),
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
  guidance: "Use it for results that must outlive your session. To share it, deliver, send or grant it.",
  input: z.strictObject({
    companyId: CompanyId,
    description: Description.describe("What the file contains. Others search this."),
    ...source,
    mediaType: MediaType.optional()
      .describe("Media type of the content. Default `text/markdown`.")
      .register(shownInTools, { description: "Default `text/markdown`." }),
  }),
  output: Saved,
  carriesFiles: 1,
  needs: "member",
  mcp: { server: "kb", tool: "create_file" },
  cli: { command: "kb create <description>", example: '"Release checklist" --file checklist.md' },
});

export const readFile = operation("knowledge.read", "GET /api/kb/:id", {
  summary: "Read a knowledge file.",
  guidance: "Returns content, `version` and `hash`. `kb://<file id>` links to a file.",
  input: z.strictObject({ id: fileId }),
  output: FileContent,
  effect: "record",
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "read_file" },
  cli: { command: "kb read <id>", example: "<file id>" },
});

export const writeFile = operation("knowledge.write", "PUT /api/kb/:id", {
  summary: "Write a new version of a knowledge file.",
  guidance: "If `version` is outdated, the call fails: read, merge, retry.",
  input: z.strictObject({
    id: fileId,
    ...source,
    path: source.path.clone().register(shownInTools, { description: "As for create_file." }),
    version: VersionNumber.describe("Number of the last version you read.").register(shownInTools, {
      description: "Last version you read.",
    }),
    hash: Hash.describe("Hash of that version.").register(shownInTools, { description: "Its hash." }),
    description: Description.optional()
      .describe("New description. Default: unchanged.")
      .register(shownInTools, { description: "New description." }),
  }),
  output: Saved,
  carriesFiles: 1,
  needs: ({ id }) => [{ on: `kb:${id}`, level: "write" }],
  mcp: { server: "kb", tool: "write_file" },
  cli: { command: "kb write <id>", example: "<file id> --file notes.md --version 3 --hash <hash>" },
});

export const listFiles = operation("knowledge.list", "GET /api/companies/:companyId/kb", {
  summary: "List the knowledge files you can read or write.",
  guidance: "To find one by words, use search_files.",
  lists: "file",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500).optional().describe("Words in the description.").register(hiddenInSessions, {}),
    kind: z
      .enum(fileKinds)
      .optional()
      .describe("Only files of this kind. Default: all but messages.")
      .register(hiddenInTools, {}),
    order: z
      .enum(["oldest", "newest"])
      .default("oldest")
      .describe("Whether the oldest or the newest files come first. Default `oldest`.")
      .register(hiddenInTools, {}),
    materialize: Flag.optional()
      .describe("true copies the files into your workspace. Default false.")
      .register(shownInTools, { description: "true copies them into your workspace." }),
    ...Page,
  }),
  output: z.object({
    files: z.array(FileSummary.extend({ path: z.string().optional() })),
    count: inAll.optional().describe("Total number on all pages. Only for people."),
    nextCursor,
  }),
  heavy: ({ materialize }) => String(materialize) === "true",
  effect: "record",
  needs: "member",
  mcp: { server: "kb", tool: "list_files" },
  cli: { command: "kb list", example: "--query release" },
});

export const browseFiles = operation("knowledge.browse", "GET /api/companies/:companyId/kb/browse", {
  summary: "Search the descriptions of knowledge files.",
  guidance: "It also finds files you can't read yet.",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500).optional().describe("Words in the description."),
    ...Page,
  }),
  output: z.object({ files: z.array(FileSummary), nextCursor }),
  needs: "member",
  mcp: { server: "kb", tool: "browse_files" },
  cli: { command: "kb browse <query>", example: "release" },
});

export const searchFiles = operation("knowledge.search", "GET /api/companies/:companyId/kb/search", {
  summary: "Search the descriptions and content of the knowledge files you can read.",
  guidance: "Returns excerpts.",
  input: z.strictObject({
    companyId: CompanyId,
    query: text(500).min(1).describe("Words or beginnings of words."),
    kind: z
      .enum(fileKinds)
      .optional()
      .describe("Only files of this kind. Default: all kinds.")
      .register(hiddenInTools, {}),
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
  guidance: "read_version reads one.",
  input: z.strictObject({ id: fileId, ...Page }),
  output: z.object({ id: z.string(), versions: z.array(Version), nextCursor }),
  effect: "record",
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "view_history" },
  cli: { command: "kb history <id>", example: "<file id>" },
});

export const readVersion = operation("knowledge.read_version", "GET /api/kb/:id/versions/:version", {
  summary: "Read an earlier version of a knowledge file.",
  guidance: "view_history lists its versions.",
  input: z.strictObject({
    id: fileId,
    version: VersionNumber.describe("Number, from 1."),
  }),
  output: FileContent,
  effect: "record",
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "read_version" },
  cli: { command: "kb version <id> <version>", example: "<file id> 2" },
});

export const viewAccessLog = operation("knowledge.access_log", "GET /api/kb/:id/access", {
  summary: "List the agents and people that read or wrote a knowledge file, newest first.",
  guidance:
    "Use it to find out whether a reader has seen the latest version. Each entry has the version and the time.",
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
    removed: RemovedMonths.optional(),
    nextCursor,
  }),
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "view_access_log", for: ["manager"] },
  cli: { command: "kb access-log <id>", example: "<file id>" },
});

const Link = z.object({
  id: z.string(),
  description: z.string().nullable().describe("Null if the file does not exist or you may not know of it."),
  state: z.enum(["live", "deleted", "broken"]),
});

export const viewLinks = operation("knowledge.links", "GET /api/kb/:id/links", {
  summary: "List the kb:// links in a knowledge file and the files that link to it.",
  guidance: "Use it before you delete a file. Each link is `live`, `deleted` or `broken`.",
  input: z.strictObject({ id: fileId }),
  output: z.object({ id: z.string(), links: z.array(Link), backlinks: z.array(Link) }),
  needs: ({ id }) => [{ on: `kb:${id}`, level: "read" }],
  mcp: { server: "kb", tool: "view_links", for: ["manager"] },
  cli: { command: "kb links <id>", example: "<file id>" },
});

export const listBrokenLinks = operation(
  "knowledge.broken_links",
  "GET /api/companies/:companyId/kb/broken-links",
  {
    summary: "List every kb:// link that points to a missing or deleted file.",
    input: z.strictObject({ companyId: CompanyId, ...Page }),
    output: z.object({
      links: z.array(
        z.object({
          from: z.string(),
          description: z.string().describe("What the file with the link contains."),
          to: z.string(),
          deleted: z
            .string()
            .nullable()
            .describe("What the deleted file contained. Null if the file never existed."),
        }),
      ),
      nextCursor,
    }),
    cli: { command: "kb broken-links" },
  },
);

export const deleteFile = operation("knowledge.delete", "DELETE /api/kb/:id", {
  summary: "Delete a knowledge file.",
  guidance:
    "Links to the file break, and only the board can read it afterwards. To correct a file, use write_file.",
  input: z.strictObject({
    id: fileId,
    reason: text(1000).optional().describe("Reason, kept in the record."),
  }),
  output: z.object({ id: z.string(), deletedAt: Time }),
  needs: ({ id }) => [{ on: `kb:${id}`, level: "write" }],
  mcp: { server: "kb", tool: "delete_file", for: ["manager"] },
  cli: { command: "kb delete <id>", example: "<file id> --reason Outdated" },
});
