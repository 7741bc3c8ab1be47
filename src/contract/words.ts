import { z } from "zod";

/** The small schemas every other contract file is made of. */

export const Id = z.uuid().transform((id) => id.toLowerCase());

export const Name = z
  .string()
  .transform((text) => text.normalize("NFC").replace(/\s+/gu, " ").trim())
  .pipe(
    z
      .string()
      .min(1, "a name needs at least one character")
      .refine(
        (text) => /[^\p{Default_Ignorable_Code_Point}\s]/u.test(text),
        "a name needs at least one visible character",
      )
      .refine((text) => [...text].length <= 64, "a name has at most 64 characters")
      .refine((text) => !/\p{Cc}|\p{Cs}/u.test(text), "a name has no control characters"),
  );

const wellFormed = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000");

/** Free text of bounded length: valid Unicode, no NUL (PostgreSQL stores none, so neither store does). */
export const text = (max: number): z.ZodString =>
  z.string().max(max).refine(wellFormed, "text must be valid Unicode without NUL characters");

export const Title = text(300).refine(
  (title) => title.trim().length > 0,
  "a title needs at least one visible character",
);

/** Milliseconds inside, ISO 8601 outside. */
export const Time = z.iso.datetime({ offset: true });

/** Numbers arrive as text in a query string; nothing else is taken for one. */
export const numeric = (bounds: z.ZodNumber) =>
  z
    .union([
      z.number(),
      z
        .string()
        .regex(/^-?\d{1,15}(\.\d{1,6})?$/, "a number")
        .transform(Number),
    ])
    .pipe(bounds);

export const whole = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  numeric(z.number().int().min(min).max(max));

export const Page = {
  limit: whole(1, 1000).optional().describe("At most this many rows; default 100."),
  cursor: z.string().max(500).optional().describe("The nextCursor of the page before."),
};

export const nextCursor = z
  .string()
  .nullable()
  .describe("Pass as cursor for the next page; null when this is the last.");

export const CompanyId = Id.optional().describe("The company. An agent's own is implied by its credential.");

/** Booleans arrive as text in a query string. */
export const Flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((word) => word === "true")]);

export const AgentRef = z.object({ id: z.string(), name: z.string() });
export type AgentRef = z.infer<typeof AgentRef>;

export const AdapterType = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[a-z0-9_]+$/, "a brain's type, such as rehearsal");
