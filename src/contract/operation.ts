import type { z } from "zod";
import type { Level, Resource } from "./resources.ts";
import { type Noun, type NounOfId, nounsOfIds } from "./words.ts";

/**
 * One operation, many doors. An operation is declared once, here in contract/. HTTP routes, MCP tools, CLI commands, the
 * OpenAPI page and the typed client all derive from the declaration. Its handler is in a domain folder.
 */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType> {
  /** `noun.verb`. The ledger uses this name. */
  readonly name: string;
  /** One sentence that starts with a verb: the help of the command, the summary in OpenAPI, the tool's first sentence. */
  readonly summary: string;
  /**
   * The other sentences of a tool's description, and OpenAPI's description. Written for a model that has never seen the
   * product: when to use the tool and when not, what comes back, and an example if the arguments are not obvious.
   */
  readonly guidance?: string;
  readonly input: I;
  readonly output: O;
  /**
   * read: sees one consistent state and leaves no trace. record: reads, and the reading itself is recorded. write: changes
   * something and accepts an idempotency key.
   */
  readonly effect: "read" | "record" | "write";
  /** How the company is found, before anything else is checked. */
  readonly within: Within;
  /**
   * The role or the rights that the actor needs. The board passes every check of a right. person: any person, for their own
   * record. link: the code of a sign-in link.
   */
  readonly needs: "board" | "member" | "person" | "link" | ((input: z.infer<I>) => readonly Need[]);
  readonly http: {
    readonly method: (typeof methods)[number];
    /** `:key` is an input. A fixed ending may follow, as in `:name.txt`. */
    readonly path: string;
    /** The answer is the output's `text` as plain text, not JSON. */
    readonly as?: "text";
  };
  /**
   * `for`: the agents that find the tool in their list. Default: all. An empty list: none, because another tool shows the same.
   * Only `needs` decides about a call, whether the tool is listed or not.
   */
  readonly mcp?: {
    readonly server: McpServerName;
    readonly tool: string;
    readonly for?: readonly Audience[];
  };
  /**
   * Set if the answer may depend on a person. While `again` finds the next question in the output, the door repeats `by`
   * (default: this operation) each time something changes, for at most `seconds`.
   */
  readonly waits?: {
    readonly seconds: (input: Readonly<Record<string, unknown>>) => number;
    readonly again: (output: unknown) => Readonly<Record<string, unknown>> | null;
    readonly by?: Operation;
  };
  /** How many whole files the input may carry. Other inputs are small (limits.ts). */
  readonly carriesFiles?: number;
  /** Whether the call takes long. The daemon runs one such call at a time. */
  readonly heavy?: (input: Readonly<Record<string, unknown>>) => boolean;
  /** True if the input is a secret, which the handler keeps. Secrets in other inputs are replaced. */
  readonly takesSecret?: true;
  /** The input key with the credential of the call. No other credential is needed. */
  readonly credentialIn?: string;
  /** The output key that a browser gets as its cookie and not in the answer. An empty value deletes the cookie. */
  readonly setsCookie?: string;
  /** The operation that agents, and people from a position, use in place of this one for the board. */
  readonly fromPosition?: Operation;
  /** Output keys that are secrets. They are not stored, so a repeated idempotency key does not show them again. */
  readonly shownOnce?: readonly string[];
  /** The things whose ids the answer shows. A refusal about a wrong id points to this operation. */
  readonly lists?: Noun | "repository";
  /** `args` are the input keys given by position; every other key is a flag. `example` is the text after the command. */
  readonly cli?: {
    readonly command: string;
    readonly args?: readonly string[];
    readonly example?: string;
  };
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/**
 * installation: no company. company: the input's companyId, which an agent may leave out. A noun and an input key: the company
 * that owns the thing with that id. If the value of that key is not an id, the company is found as for "company".
 */
export type Within =
  | "installation"
  | "company"
  | { readonly [noun in Exclude<NounOfId, "company" | "key" | "sign-in">]?: string };

/** The actor needs one of these levels on this resource. */
export interface Need {
  readonly on: Resource;
  readonly level: Level | readonly Level[];
}

export const mcpServers = ["kb", "outcome", "mail", "permissions", "repo", "audit", "org"] as const;
export type McpServerName = (typeof mcpServers)[number];

/**
 * Agents with tools in their list that others don't have, because of their place or their rights. manager: has direct reports.
 * hirer: holds `org:hire`. requester: has an undecided request. root: reports to the board. developer: may read a repository.
 * pusher: may push to one. person: not an agent, but a person who acts for the board.
 */
export type Audience = "manager" | "hirer" | "requester" | "root" | "developer" | "pusher" | "person";

/** The declaration of an operation. Everything that follows from the name, the route and the input is derived. */
type Declaration<I extends z.ZodObject, O extends z.ZodType> = Omit<
  Operation<I, O>,
  "name" | "http" | "effect" | "within" | "needs" | "cli"
> &
  Partial<Pick<Operation<I, O>, "effect" | "within" | "needs">> &
  Pick<Operation["http"], "as"> & {
    /** Every `<key>` after the command is an input given by position: `agents pause <id>`. */
    readonly cli?: { readonly command: string; readonly example?: string };
  };

/**
 * Declares an operation. By default only the board may call it, a GET reads and anything else writes, and the company is that
 * of the thing in the first id of the input.
 */
export function operation<I extends z.ZodObject, O extends z.ZodType>(
  name: string,
  route: `${Operation["http"]["method"]} /${string}`,
  { as, cli, ...declaration }: Declaration<I, O>,
): Operation<I, O> {
  const method = methods.find((each) => route.startsWith(`${each} `)) ?? "GET";
  const http = { method, path: route.slice(method.length + 1), ...(as && { as }) };
  const effect = method === "GET" ? "read" : "write";
  return {
    name,
    http,
    effect,
    within: withinOf(declaration.input),
    needs: "board",
    ...declaration,
    ...(cli && { cli: positional(cli) }),
  };
}

function withinOf({ shape }: z.ZodObject): Within {
  for (const [key, schema] of Object.entries(shape)) {
    if (key === "companyId") return "company";
    const { noun } = nounsOfIds.get(schema) ?? {};
    if (noun !== undefined) return { [noun]: key };
  }
  return "company";
}

function positional({ command, ...rest }: { readonly command: string; readonly example?: string }) {
  const args = [...command.matchAll(/ <(\w+)>/g)].map(([, key = ""]) => key);
  return { command: command.replace(/ <.*/, ""), ...(args.length > 0 && { args }), ...rest };
}

/** The description of the operation's MCP tool. */
export function toolDescription({ summary, guidance }: Operation): string {
  return guidance === undefined ? summary : `${summary} ${guidance}`;
}

/** Whether a request carries its input as a JSON body. Otherwise the input is in the query string. */
export function takesBody({ effect, http }: Operation): boolean {
  return effect === "write" || http.method === "POST";
}

/**
 * Whether one request may carry this call together with others (doors/batch.ts): it changes nothing and shows no secret. A
 * secret must not be compressed with other text.
 */
export function isBatched({ effect, http, shownOnce, takesSecret, credentialIn }: Operation): boolean {
  const isSecret = shownOnce !== undefined || takesSecret === true || credentialIn !== undefined;
  return effect !== "write" && http.as === undefined && !isSecret;
}

/** An input, or with a dot a part of one: `monthlyBudget.tokens`. */
type Wanted<Key extends string> = Key | `${Key}.${string}`;

/**
 * A call as data: where to send it, and the command that makes it. `asks` names the missing inputs that only the caller can
 * give: the required ones, and those that are wanted here.
 */
export function callTo<I extends z.ZodObject>(
  operation: Operation<I>,
  input: Partial<z.input<I>>,
  wanted: readonly Wanted<keyof z.input<I> & string>[] = [],
) {
  const { name, http, cli } = operation;
  const rest: Record<string, unknown> = { ...input };
  const asks = Object.entries(operation.input.shape).flatMap(([key, schema]) => {
    const named = wanted.filter((each) => each.split(".")[0] === key);
    const isMissing = !(key in rest || schema.safeParse(undefined).success);
    return named.length === 0 && isMissing ? [key] : named;
  });
  const args = (cli?.args ?? []).map((key) => (key in rest ? String(rest[key]) : `<${key}>`));
  const flags = Object.entries(rest)
    .filter(([key]) => !cli?.args?.includes(key) && !chosenByCommandLine.includes(key))
    .map(([key, value]) => `${flagOf(key)} ${String(value)}`)
    .concat(asks.filter((key) => !cli?.args?.includes(key)).map(askedFlag));
  const path = http.path.replace(/:(\w+)/g, (_, key: string) => {
    const value = encodeURIComponent(String(rest[key]));
    delete rest[key];
    return value;
  });
  return {
    name,
    method: http.method,
    path,
    ...(Object.keys(rest).length > 0 && { body: rest }),
    asks,
    command: cli === undefined ? null : ["agency", cli.command, ...args, ...flags].join(" "),
  };
}

/** The flag for a missing input. A part of an input is given as JSON. */
function askedFlag(ask: string): string {
  const [key = "", part] = ask.split(".");
  return part === undefined ? `${flagOf(key)} <${key}>` : `${flagOf(key)} '{"${part}": <${part}>}'`;
}

/** The command line chooses the company, and sends the hash of the request that it displayed. */
const chosenByCommandLine = ["companyId", "payloadHash"];

/** The flag of an input on the command line, in whole words: `chatLLMProvider` is --chat-provider. */
export const flagOf = (key: string): string =>
  `--${key.replace("LLM", "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

export type Input<Op> = Op extends Operation<infer I, z.ZodType> ? z.infer<I> : never;
export type Output<Op> = Op extends Operation<z.ZodObject, infer O> ? z.infer<O> : never;
