import { decisionBugs } from "./decisions.ts";
import { governanceBugs } from "./governance.ts";
import { mailBugs } from "./mail.ts";
import { organizationBugs } from "./organization.ts";
import { peopleBugs } from "./people.ts";
import type { Bug } from "./resolve.ts";
import { sessionBugs } from "./sessions.ts";

/** Bugs that the simulator must find. Most of them happened in comparable systems. */
export const simulatorBugs: readonly Bug[] = [
  ...sessionBugs,
  ...mailBugs,
  ...organizationBugs,
  ...governanceBugs,
  ...peopleBugs,
  ...decisionBugs,
  {
    name: "a repeated call takes effect again",
    edits: [
      {
        in: "run",
        find: "const first = await tx.first(firstResult, { actor: ownerOfKeys(actor), key });",
        replace: "const first = await tx.first(firstResult, { actor: `${ownerOfKeys(actor)}!`, key });",
      },
      {
        in: "run",
        find: "await tx.run(keepResult, {\n      actor: who,",
        replace: "await tx.run(keepResult, {\n      actor: `${who} ${parts.newId()}`,",
      },
    ],
  },
  {
    name: "a budget may exceed what is left of the budget above it",
    edits: [
      {
        in: "weighBudget",
        find: "const free = Math.max(0, left(above));",
        replace: "const free = above.limit ?? 0;",
      },
    ],
  },
  {
    name: "a refusal is not recorded",
    edits: [
      {
        in: "createDispatcher",
        find: "error instanceof Refusal && seen.caller !== undefined",
        replace: "error instanceof TypeError && seen.caller !== undefined",
      },
    ],
  },
  {
    name: "the answer for another company's objects differs from the answer for missing ones",
    edits: [
      {
        in: "findCompany",
        find: "throw notFound(noun, id);",
        replace: "throw notFound(owner === undefined ? noun : `foreign ${noun}`, id);",
      },
    ],
  },
];
