// What a row of the walk is, and who is refused by most of them.
import type { z } from "zod";
import type { Operation } from "../src/contract/operation.ts";
import type { RefusalCode } from "../src/contract/refusal.ts";
import type { TestCaller, Organization } from "../src/testing/organization.ts";

/** Root › boss › report; root › stranger; and a session of somebody else below the root. All the work and the files in the table are the boss's. */
export type Who = "board" | "root" | "boss" | "report" | "stranger" | "session";

export interface World {
  readonly org: Organization;
  readonly tokens: Readonly<Record<Who, string>>;
  readonly boss: { readonly id: string; readonly call: TestCaller };
  readonly report: { readonly id: string };
  /** A name nobody has yet. */
  readonly name: () => string;
}

export type NotApplicable = { readonly none: string };

export interface Row {
  readonly operation: Operation;
  readonly actor: Who;
  /** Made anew for each use: what a write needs is used up by it. */
  readonly input: (world: World) => Promise<Record<string, unknown>>;
  /** Members of the same company, or the board, that may not make this very call. */
  readonly denied: Readonly<Partial<Record<Who, RefusalCode>>> | NotApplicable;
  /** The same call by the root agent of another company. */
  readonly elsewhere: "not_found" | NotApplicable;
  /** What a write puts on record, if that has not the operation's own name. */
  readonly recordedAs?: string;
  /**
   * Of an operation whose answers have one shape, also to what it cannot read: is this answer such a no? Input that is no
   * object at all is refused all the same.
   */
  readonly saysMalformed?: (output: unknown) => boolean;
}

export function row<I extends z.ZodObject, O extends z.ZodType>(
  operation: Operation<I, O>,
  actor: Who,
  input: (world: World) => z.input<I> | Promise<z.input<I>>,
  denied: Row["denied"],
  elsewhere: Row["elsewhere"] = "not_found",
  more: Pick<Row, "recordedAs" | "saysMalformed"> = {},
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
/** No right at all hides that the thing exists. */
export const stranger = { stranger: "not_found" } as const;
/** The report may read the file, or drives the outcome, which is less than what is asked. */
export const strangerAndReport = { ...stranger, report: "forbidden" } as const;
/** The boss's boss reads what is below its own work, and that is all. */
export const strangerAndRoot = { ...stranger, root: "forbidden" } as const;

/** Whose report it is, everybody sees; what to do about it is its boss's. */
export const notItsBoss = { stranger: "forbidden", root: "forbidden" } as const;
