import type { z } from "zod";
import type { Level, Resource } from "./resources.ts";

/**
 * One operation, many doors. An operation is declared once, here in contract/; HTTP routes, MCP tools, CLI commands,
 * the OpenAPI page and the typed client all derive from the declaration. What it does is its handler, in a domain folder.
 */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType> {
  /** `noun.verb`; also what the ledger records. */
  readonly name: string;
  /** One sentence, shown by every door. */
  readonly summary: string;
  readonly input: I;
  readonly output: O;
  /**
   * read: sees one consistent state and leaves no trace. record: reads, and the reading itself goes on record.
   * write: changes something, takes an idempotency key.
   */
  readonly effect: "read" | "record" | "write";
  /** How the company is found before anything else is looked at. */
  readonly within: Within;
  /** What the actor must be or hold. The board governs and passes every check of a right. */
  readonly needs: "board" | "member" | ((input: z.infer<I>) => readonly Need[]);
  readonly http: {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** `:key` is an input; it may have an ending of its own, as in `:name.txt`. */
    readonly path: string;
    /** The answer's `text`, as plain text. */
    readonly as?: "text";
  };
  readonly mcp?: { readonly server: McpServerName; readonly tool: string };
  /**
   * The answer may take a person. While `again` finds in the output what to ask next, the door asks `by` (the operation
   * itself, if absent) anew whenever something has changed, for at most so many seconds.
   */
  readonly waits?: {
    readonly seconds: (input: Readonly<Record<string, unknown>>) => number;
    readonly again: (output: unknown) => Readonly<Record<string, unknown>> | null;
    readonly by?: Operation;
  };
  /** Output keys that are secrets: a repeated idempotency key does not show them again, and no store keeps them. */
  readonly shownOnce?: readonly string[];
  /** `args` are the input keys given by position; every other key is a flag. */
  readonly cli?: { readonly command: string; readonly args?: readonly string[] };
}

/**
 * installation: no company. company: the input's companyId, implied for an agent. A noun and an input key: the company
 * that owns the thing with that id (where the value is not an id, as for company).
 */
export type Within =
  | "installation"
  | "company"
  | {
      readonly [
        noun in
          | "file"
          | "agent"
          | "outcome"
          | "grant"
          | "message"
          | "session"
          | "approval"
          | "reorganization"
          | "agent or outcome"
      ]?: string;
    };

/** The actor needs one of these levels on this resource. */
export interface Need {
  readonly on: Resource;
  readonly level: Level | readonly Level[];
}

export const mcpServers = ["kb", "outcome", "mail", "permissions", "repo", "audit", "org"] as const;
export type McpServerName = (typeof mcpServers)[number];

export function operation<I extends z.ZodObject, O extends z.ZodType>(
  declaration: Operation<I, O>,
): Operation<I, O> {
  return declaration;
}

/** Whether a request carries its input as a JSON body; otherwise it is in the query string. */
export function takesBody({ effect, http }: Operation): boolean {
  return effect === "write" || http.method === "POST";
}

export type Input<Op> = Op extends Operation<infer I, z.ZodType> ? z.infer<I> : never;
export type Output<Op> = Op extends Operation<z.ZodObject, infer O> ? z.infer<O> : never;
