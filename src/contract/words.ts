import { z } from "zod";
import { mostInName, onOneLine, showsItself } from "./visible-text.ts";

/**
 * The small schemas in every other contract file. The message of a check completes the sentence "Use …": it names the expected
 * value. problems.ts adds which argument is wrong and what was given.
 */

/** Any JSON object. Unlike z.record, this keeps a key named __proto__, and the reader of the object refuses it. */
export const JsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);

/** The things that have ids. */
export const nouns = [
  "company",
  "agent",
  "key",
  "outcome",
  "file",
  "message",
  "grant",
  "approval",
  "session",
  "reorganization",
  "sign-in",
] as const;
export type Noun = (typeof nouns)[number];
export type NounOfId = Noun | "agent or outcome";

/** The kind of thing that an id names. A refusal can then name it, and the command that lists the right ids. */
export const nounsOfIds = z.registry<{ noun: NounOfId }>();

/** JSON Schema for a schema that also accepts the text of a query string. */
export const shownAs = z.registry<Readonly<Record<string, unknown>>>();

/** The short form in a tool's schema for a large schema that another tool describes in full. */
export const shownInTools = z.registry<Readonly<Record<string, unknown>>>();

/** Arguments left out of a tool's schema: they are for people, or for programs at other doors. */
export const hiddenInTools = z.registry<object>();

/**
 * Arguments also left out of the tools of a session, because few calls need them: a session pays for each in every list. People
 * see them, and so do clients at the door of each server.
 */
export const hiddenInSessions = z.registry<object>();

export const Id = z.uuid("a UUID").transform((id) => id.toLowerCase());

export const describedId = (noun: NounOfId): string => `UUID of the ${noun}.`;

/** The id of one kind of thing. Callers give another description if the argument means more than "which one". */
export function idOf(noun: NounOfId) {
  return z
    .uuid("a UUID")
    .register(nounsOfIds, { noun })
    .transform((id) => id.toLowerCase())
    .register(nounsOfIds, { noun })
    .describe(describedId(noun));
}

const isOneLine = (text: string): boolean => showsItself(text, "");
const oneLine = "one line of visible text, without control, formatting or invisible characters";

/** A name, a role or a job title. */
export const Name = z
  .string()
  .transform((text) => text.normalize("NFC").replace(/\s+/gu, " ").trim())
  .pipe(
    z
      .string()
      .refine((text) => text !== "", "at least one visible character")
      .refine((text) => [...text].length <= mostInName, `at most ${mostInName} characters`)
      .refine(isOneLine, oneLine),
  );

const wellFormed = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000");

/** Free text of bounded length: valid Unicode without NUL. PostgreSQL cannot store NUL, and both stores accept the same. */
export const text = (max: number): z.ZodString =>
  z.string().max(max).refine(wellFormed, "valid Unicode text without NUL characters");

/** A reason that others have to act on. It needs more than spaces and invisible characters. */
export const said = (max: number): z.ZodString =>
  text(max)
    .min(1)
    .refine((words) => onOneLine(words) !== "", "a text with at least one visible character");

export const Reason = said(2000).optional().describe("Reason, kept in the record. Default: none.");

export const Title = text(300)
  .trim()
  .refine((title) => title.length > 0, "a title with at least one visible character")
  .refine(isOneLine, oneLine);

/** ISO 8601 in requests and answers, milliseconds since 1970 in the store. */
export const Time = z.iso.datetime({
  offset: true,
  error: "a date and time with a time zone, such as 2030-01-31T09:00:00Z",
});

/** Numbers arrive as text in a query string. Text that is not a plain decimal number is refused. */
export const numeric = (bounds: z.ZodNumber) => {
  const schema = z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^-?\d{1,15}(\.\d{1,6})?$/, "a number")
          .transform(Number),
      ],
      "a number",
    )
    .pipe(bounds);
  const { minValue, maxValue } = bounds;
  return schema.register(shownAs, {
    type: bounds.format === "safeint" ? "integer" : "number",
    ...(minValue === null || !Number.isFinite(minValue) ? {} : { minimum: minValue }),
    ...(maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER ? {} : { maximum: maxValue }),
  });
};

/** A whole number in JSON. `whole` also accepts the text of a query string. */
export const count = (min: number, max: number) => z.number().int().min(min).max(max);

/** Values by name. */
export const Data = z.record(z.string(), z.unknown());

export const whole = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  numeric(z.number().int().min(min).max(max));

export const PageSize = whole(1, 1000).optional().describe("Page size. Default 100.");

export const Page = {
  limit: PageSize.describe("Page size. Default 100.").register(hiddenInTools, {}),
  cursor: z
    .string()
    .max(500)
    .optional()
    .describe("`nextCursor` of the last page.")
    .register(shownInTools, { description: "Last `nextCursor`." }),
};

/** The number of entries on all pages. */
export const inAll = z.number().describe("Total number on all pages.");

export const nextCursor = z
  .string()
  .nullable()
  .describe("Pass it as `cursor` to get the next page. Null on the last page.");

export const CompanyId = idOf("company")
  .optional()
  .describe(
    "UUID of the company. Agents leave this out, because their credential names the company. The board can leave it out if there is only one company.",
  )
  .register(hiddenInTools, {});

/** Booleans arrive as text in a query string. */
export const Flag = z
  .union([z.boolean(), z.enum(["true", "false"]).transform((word) => word === "true")], "true or false")
  .register(shownAs, { type: "boolean" });

export const AgentRef = z.object({ id: z.string(), name: z.string() });
export type AgentRef = z.infer<typeof AgentRef>;

/** A thing that a text refers to. */
export const Reference = z.object({
  kind: z.string().describe("What it is, such as agent, outcome, file, approval or board."),
  id: z.string().nullable().describe("Null for the board."),
  title: z.string().nullable().describe("Its name or title. Null if you can't read it."),
});
export type Reference = z.infer<typeof Reference>;

export const AdapterType = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[a-z0-9_]+$/, "the type of a brain, such as rehearsal");
