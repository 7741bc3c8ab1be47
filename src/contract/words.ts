import { z } from "zod";
import { showsItself } from "./visible-text.ts";

/**
 * The small schemas every other contract file is made of. The message of a check completes the sentence "Use …": it names
 * what is expected. problems.ts adds which argument is wrong and what was given.
 */

/** Any JSON object. Unlike z.record, this keeps a key named __proto__ for the reader of the object to refuse. */
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
] as const;
export type Noun = (typeof nouns)[number];
export type NounOfId = Noun | "agent or outcome";

/** Which thing an id names. A refusal then says what the id should be and which command lists the right ones. */
export const nounsOfIds = z.registry<{ noun: NounOfId }>();

/** What JSON Schema shows in place of a schema that also accepts the text of a query string. */
export const shownAs = z.registry<Readonly<Record<string, unknown>>>();

/** What a tool's schema shows in place of a large schema that another tool describes in full. */
export const shownInTools = z.registry<Readonly<Record<string, unknown>>>();

export const Id = z.uuid("a UUID").transform((id) => id.toLowerCase());

/** The id of one kind of thing. Callers override the description where the argument means more than "which one". */
export function idOf(noun: NounOfId) {
  return z
    .uuid("a UUID")
    .register(nounsOfIds, { noun })
    .transform((id) => id.toLowerCase())
    .register(nounsOfIds, { noun })
    .describe(noun === "file" ? "Id of the knowledge file (UUID)." : `Id of the ${noun} (UUID).`);
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
      .refine((text) => [...text].length <= 64, "at most 64 characters")
      .refine(isOneLine, oneLine),
  );

const wellFormed = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000");

/** Free text of bounded length: valid Unicode without NUL. PostgreSQL cannot store NUL, and both stores accept the same. */
export const text = (max: number): z.ZodString =>
  z.string().max(max).refine(wellFormed, "valid Unicode text without NUL characters");

export const Reason = text(2000)
  .min(1)
  .optional()
  .describe("Why, up to 2,000 characters. Kept in the record.");

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

export const Page = {
  limit: whole(1, 1000).optional().describe("Maximum number of rows in the answer. Default 100."),
  cursor: z
    .string()
    .max(500)
    .optional()
    .describe("`nextCursor` of the previous answer, to get the next page. Omit it for the first page."),
};

export const nextCursor = z
  .string()
  .nullable()
  .describe("Pass it as `cursor` to get the next page. Null on the last page.");

export const CompanyId = idOf("company")
  .optional()
  .describe(
    "Id of the company (UUID). Agents leave it out: their credential names it. The board may leave it out while there is one company.",
  );

/** Booleans arrive as text in a query string. */
export const Flag = z
  .union([z.boolean(), z.enum(["true", "false"]).transform((word) => word === "true")], "true or false")
  .register(shownAs, { type: "boolean" });

export const AgentRef = z.object({ id: z.string(), name: z.string() });
export type AgentRef = z.infer<typeof AgentRef>;

export const AdapterType = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[a-z0-9_]+$/, "the type of a brain, such as rehearsal");
