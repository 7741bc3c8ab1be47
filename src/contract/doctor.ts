import { z } from "zod";
import { operation } from "./operation.ts";
import { CompanyId, Id, nextCursor, Page, text } from "./words.ts";

/** Checks that the stored rows agree with each other, and repairs everything that needs no decision. */

const Finding = z.object({
  invariant: z.string().describe("The id of the broken invariant, such as grant-count."),
  statement: z.string().describe("The statement that should be true."),
  companyId: z.string().nullable().describe("Null: the row belongs to no company."),
  id: z.string().describe("The key of the row that breaks the invariant."),
  what: z.string().describe("The row, and the fault in it."),
  fix: z
    .string()
    .nullable()
    .describe("The command that repairs the row. Null if only a person can decide: see `advice`."),
  advice: z.string().nullable().describe("Advice for a person. Null if there is a fix."),
});

export const examineDeeply = operation("doctor.deep", "GET /api/doctor/deep", {
  summary:
    "Check every invariant of the stored rows: agents, outcomes, grants, sessions, mail, budgets, files and the record. Returns the rows that break one, each with a fix or advice. An answer covers a limited number of rows. Call again with nextCursor until it is null.",
  input: z.strictObject({
    companyId: Id.optional().describe(
      "Check only the rows of this company. Default: every row of the installation.",
    ),
    cursor: Page.cursor,
  }),
  output: z.object({
    invariants: z.number().describe("Number of invariants that a complete check covers."),
    findings: z.array(Finding),
    nextCursor,
  }),
  heavy: () => true,
  within: "installation",
});

export const fixFinding = operation("doctor.fix", "POST /api/companies/:companyId/doctor/fix", {
  summary:
    "Fix one row that breaks an invariant, if the right value follows from other rows. `agency doctor --fix` calls this for every such finding. The record keeps each fix.",
  input: z.strictObject({
    companyId: CompanyId,
    invariant: text(100).min(1).describe("The invariant of the finding, such as grant-count."),
    id: text(100).min(1).describe("The id of the finding."),
  }),
  output: z.object({ fixed: z.boolean().describe("False: the row does not break the invariant any more.") }),
});
