import { z } from "zod";
import { mcpServers, operation } from "./operation.ts";
import { canonicalHost } from "./resources.ts";
import { SecretReference } from "./secrets.ts";
import { CompanyId, count, Data, Id, nextCursor, text } from "./words.ts";

/** The MCP servers that a company added. Agents reach them through the daemon, with the right `mcp:<name>`. */

const ServerName = z
  .string()
  .max(60)
  .regex(
    // With an underscore at the end, `<server>__<tool>` would look like the tool of another server.
    /^(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9-])?$/,
    "letters, digits, hyphens and single underscores, starting with a letter or digit and not ending with an underscore",
  )
  .refine(
    (name) => ![...mcpServers, "agency"].includes(name),
    `a name other than those of the built-in servers (agency, ${mcpServers.join(", ")})`,
  )
  .describe(
    "Name of the server: up to 60 letters, digits, hyphens and underscores. Agents use it as `mcp:<name>`.",
  );

/** A value becomes a secret of the company before it is stored (secrets/secrets.ts). */
const Value = z.union([text(65_536), SecretReference]).meta({ secret: true });
const Path = text(4096).regex(/^\//, "an absolute path");
const Timeout = count(1, 3600)
  .optional()
  .describe("A call is cancelled after this many seconds without progress. Default 300.");

const RemoteConfig = z.strictObject({
  type: z.literal("http").describe("A server that is reached over HTTP."),
  url: z
    .url({ protocol: /^https?$/, error: "an http or https URL" })
    .refine(
      (url) => !URL.parse(url)?.username && !URL.parse(url)?.password,
      "a URL without a user or password",
    )
    .describe("URL of the server."),
  headers: z
    .record(z.string().regex(/^[\w-]{1,100}$/, "the name of a header"), Value)
    .optional()
    .describe('Headers of each request, such as {"Authorization": {"secret": "CHAT_AUTHORIZATION"}}.'),
  privateNetwork: z
    .boolean()
    .optional()
    .describe("Whether the host name may lead to an address of a private network. Default false."),
  signIn: z
    .strictObject({
      clientId: text(500).min(1).describe("Id of the client that was registered for Agency."),
      clientSecret: Value.optional().describe("Secret of that client. Default: none."),
      scope: text(1000).optional().describe("The scopes to ask for. Default: those that the server names."),
    })
    .optional()
    .describe(
      "For a sign-in service that registers no clients by itself: the client that a person registered there.",
    ),
  timeoutSeconds: Timeout,
});
export type RemoteConfig = z.infer<typeof RemoteConfig>;

const CommandConfig = z.strictObject({
  command: text(4096).min(1).describe("The program to start."),
  args: z
    .array(text(4096))
    .max(100)
    .optional()
    .describe("Arguments of the program, without secrets. Default: none."),
  env: z
    .record(z.string().regex(/^[A-Za-z_]\w{0,99}$/, "the name of a variable"), Value)
    .optional()
    .describe(
      'Environment variables of the program, such as {"API_KEY": {"secret": "CHAT_KEY"}}. Default: none.',
    ),
  hosts: z
    .array(
      z
        .string()
        .refine(
          (host) => host === "*" || canonicalHost(host) === host.toLowerCase(),
          "a host name, or * for all",
        ),
    )
    .max(100)
    .optional()
    .describe("Hosts that the program may connect to. Default: none."),
  reads: z
    .array(Path)
    .max(50)
    .optional()
    .describe("Further files and folders that the program may read. Default: none."),
  writes: z.array(Path).max(50).optional().describe("Folders that the program may change. Default: none."),
  timeoutSeconds: Timeout,
});

export const ServerConfig = z.union(
  [RemoteConfig, CommandConfig],
  '{"type":"http","url":"https://…"} or {"command":"npx","args":["…"]}',
);
export type ServerConfig = z.infer<typeof ServerConfig>;

const ServerTool = z.object({ name: z.string(), description: z.string() });

const McpServerEntry = z.object({
  name: z.string(),
  config: Data,
  createdAt: z.string(),
  status: z
    .enum(["untried", "works", "fails", "no_secret", "signed_out"])
    .describe(
      "untried: no session has used it yet. fails: `says` has the last error. no_secret: a secret it needs has no value. signed_out: a person of the board must sign in for it.",
    ),
  says: z.string().describe("The last error and its remedy. Empty if the server works."),
  checkedAt: z.string().nullable().describe("When it was last started or asked."),
  tools: z.array(ServerTool).describe("Its tools, as it listed them last."),
  missingSecrets: z.array(z.string()),
  usedBy: z.array(z.string()).describe("Names of the agents that may use it."),
  failsFor: z
    .array(z.string())
    .describe("Names of the agents for which it fails. Each agent has its own connection."),
  changedTools: z
    .array(z.string())
    .describe(
      "Tools that the server describes differently than when the board last tested it. Agents see the earlier description until the next test.",
    ),
});
export type McpServerEntry = z.infer<typeof McpServerEntry>;

export const putMcpServer = operation("mcp_server.put", "POST /api/companies/:companyId/mcp-servers", {
  summary: "Add an MCP server to the company, or replace its configuration.",
  guidance:
    "An agent can use the server once it holds a grant for `mcp:<name>`. The daemon starts or calls the server for it, and no session sees its secrets. A plain value of a variable or a header becomes a secret with a generated name.",
  input: z.strictObject({
    companyId: CompanyId,
    name: ServerName,
    config: ServerConfig.describe(
      'Address or command of the server: {"type":"http","url":"https://…","headers":{…}} or {"command":"npx","args":["…"],"env":{…},"hosts":["…"]}. Refer to secrets by name: {"secret":"<name>"}.',
    ),
  }),
  output: McpServerEntry,
  cli: {
    command: "servers add <name>",
    example: `calendar --config '{"type":"http","url":"https://example.com/mcp"}'`,
  },
});

export const listMcpServers = operation("mcp_server.list", "GET /api/companies/:companyId/mcp-servers", {
  summary: "List the MCP servers of the company: whether each one works, its tools and its last error.",
  input: z.strictObject({ companyId: CompanyId }),
  output: z.object({ servers: z.array(McpServerEntry), nextCursor }),
  cli: { command: "servers list" },
});

export const removeMcpServer = operation(
  "mcp_server.remove",
  "DELETE /api/companies/:companyId/mcp-servers/:name",
  {
    summary:
      "Remove an MCP server from the company. Running calls end, and the rights to use it are revoked.",
    input: z.strictObject({ companyId: CompanyId, name: ServerName }),
    output: McpServerEntry,
    cli: { command: "servers remove <name>", example: "calendar" },
  },
);

const ServerTest = z.object({
  status: z.enum(["running", "works", "fails"]),
  companyId: z.string(),
  name: z.string(),
  test: z.string(),
  milliseconds: z.number(),
  tools: z.array(ServerTool),
  says: z.string().describe("Result of the test, as a sentence."),
});
export type ServerTest = z.infer<typeof ServerTest>;

export const testMcpServer = operation(
  "mcp_server.test",
  "POST /api/companies/:companyId/mcp-servers/:name/test",
  {
    summary: "Check whether an MCP server works: start or call it, and list its tools.",
    guidance:
      "The call waits for the answer, up to 60 seconds. A server that is started for the test is ended after it.",
    input: z.strictObject({
      companyId: CompanyId,
      name: ServerName,
      test: Id.optional().describe("Id of a running test, to wait for it again."),
      accept: z
        .boolean()
        .optional()
        .describe(
          "true shows agents the tools as the server describes them now. false keeps the earlier descriptions of changed tools. Default true.",
        ),
    }),
    output: ServerTest,
    waits: {
      seconds: () => 60,
      again: (output) => {
        const { status, companyId, name, test } = ServerTest.parse(output);
        return status === "running" ? { companyId, name, test } : null;
      },
    },
    cli: { command: "servers test <name>", example: "calendar" },
  },
);

/** The name of the secret with the sign-in tokens for a server. */
export const signInSecret = (server: string): string => `signin.${server}`;

const SignInLink = z.object({
  name: z.string(),
  status: z.enum(["waiting", "signed_in"]),
  url: z.string().nullable().describe("The page to open in a browser. Null after the sign-in."),
  expiresAt: z.string().nullable().describe("When the link stops working."),
  says: z.string().describe("The next step, as a sentence."),
});

export const signInMcpServer = operation(
  "mcp_server.sign_in",
  "POST /api/companies/:companyId/mcp-servers/:name/sign-in",
  {
    summary: "Create a link with which a person of the board signs in for a remote MCP server.",
    guidance:
      "Open the link in a browser and allow the access. The server then sends the browser back to Agency, which keeps the tokens as a secret. All agents with a right to the server use that sign-in. To end it, remove the secret. The link works once, for 10 minutes.",
    input: z.strictObject({
      companyId: CompanyId,
      name: ServerName,
      answer: text(8192)
        .optional()
        .describe(
          "The whole address of the last page, if the browser runs on another machine and can't open that page.",
        ),
    }),
    output: SignInLink,
    cli: { command: "servers signin <name>", example: "calendar" },
  },
);
