// The type of a row of the walk, and the callers that most rows refuse.
import type { z } from "zod";
import type { Operation } from "../src/contract/operation.ts";
import type { RefusalCode } from "../src/contract/refusal.ts";
import type { TestCaller, Organization } from "../src/testing/organization.ts";

/**
 * Root › boss › report, root › stranger, and a session of another agent below the root. The boss owns all outcomes and
 * files in the table.
 */
export type Who = "board" | "root" | "boss" | "report" | "stranger" | "session";

export interface World {
  readonly org: Organization;
  readonly tokens: Readonly<Record<Who, string>>;
  readonly boss: { readonly id: string; readonly call: TestCaller };
  readonly report: { readonly id: string };
  /** The agent of the session. */
  readonly sitter: string;
  /** A name that no agent has yet. */
  readonly name: () => string;
}

export type NotApplicable = { readonly none: string };

export interface Row {
  readonly operation: Operation;
  readonly actor: Who;
  /** Creates new input for each call, because a write uses up the objects it needs. */
  readonly input: (world: World) => Promise<Record<string, unknown>>;
  /** Members of the same company, or the board, that may not make this call. */
  readonly denied: Readonly<Partial<Record<Who, RefusalCode>>> | NotApplicable;
  /** The same call by the root agent of another company: refused, or answered with all ids listed as missing. */
  readonly elsewhere: "not_found" | "missing" | NotApplicable;
  /** The name under which a write is recorded, if it differs from the operation's name. */
  readonly recordedAs?: string;
  /** The name of the event that ends what the operation started. Without waiting for it, the event would fall into the next test. */
  readonly endsWith?: string;
  /**
   * For an operation that answers even malformed input with its usual result: does this result report malformed input? Input
   * that is not an object is still refused.
   */
  readonly saysMalformed?: (output: unknown) => boolean;
}

export function row<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  actor: Who,
  input: (world: World) => z.input<I> | Promise<z.input<I>>,
  denied: Row["denied"],
  elsewhere: Row["elsewhere"] = "not_found",
  more: Pick<Row, "recordedAs" | "endsWith" | "saysMalformed"> = {},
): Row {
  return {
    operation,
    actor,
    input: async (world) => ({ ...(await input(world)) }),
    denied,
    elsewhere,
    ...more,
  };
}

export const boardOnly = { boss: "forbidden" } as const;
export const everyMember: NotApplicable = { none: "every member of the company may" };
export const agentsOnly = { board: "refused" } as const;
export const noCompany: NotApplicable = { none: "it belongs to the installation, not to a company" };
export const ownOnly: NotApplicable = { none: "it names nothing: it is about the caller alone" };
/** An agent without any right isn't told that the object exists. */
/** A manager only looks at its direct reports. */
export const notItsManager = { stranger: "not_found", root: "not_found" } as const;
export const stranger = { stranger: "not_found" } as const;
/** The report may only read the file or work on the outcome. The call needs more than that. */
export const strangerAndReport = { ...stranger, report: "forbidden" } as const;
/** The boss's boss may only read outcomes below its own work. */
export const strangerAndRoot = { ...stranger, root: "forbidden" } as const;

/** Every agent sees the boss of an agent. Only the boss decides about it. */
export const notItsBoss = { stranger: "forbidden", root: "forbidden" } as const;
