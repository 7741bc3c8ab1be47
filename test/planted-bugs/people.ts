import type { Bug } from "./resolve.ts";

/** Bugs in people, their credentials and positions, and in stopped companies, which the simulator must find. */
export const peopleBugs: readonly Bug[] = [
  {
    name: "the credentials of a removed person still work",
    edits: [
      {
        in: "onRemove",
        find: "await tx.run(endCredentialsOf, { person_id: person.id, revoked_at: tx.now });",
        replace: "",
      },
      { in: "personCalling", find: "|| row.person_ended_at !== null", replace: "" },
    ],
  },
  {
    name: "a viewer can change things",
    edits: [
      {
        in: "identify",
        find: 'if (person.role === "viewer" && effect === "write") throw texts.viewersRead(operation, person.name);',
        replace: "void effect;",
      },
    ],
  },
  {
    name: "a member without a position acts for the board",
    edits: [{ in: "personCalling", find: 'role !== "member"', replace: "role !== null" }],
  },
  {
    name: "a person acts from the position of another",
    edits: [
      {
        in: "heldBy",
        find: '.where("a.person_id", "=", p.personId)',
        replace: '.where("a.person_id", "is not", null)',
      },
    ],
  },
  {
    name: "a sign-in link works twice",
    edits: [
      {
        in: "onSignIn",
        find: "await tx.run(endLinksOf, { person_id: me.id, revoked_at: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "an earlier sign-in link works beside the newest",
    edits: [
      {
        in: "peopleHandlers",
        find: "await tx.run(endLinksOf, { person_id: person.id, revoked_at: tx.now });",
        replace: "",
      },
    ],
  },
  {
    name: "the board makes a sign-in link for a person who has signed in",
    edits: [
      {
        in: "peopleHandlers",
        find: "if (person.signed_in_at !== null) throw texts.hasSignedIn(person.name);",
        replace: "",
      },
    ],
  },
  {
    name: "a credential still works after signing out",
    edits: [{ in: "onSignOut", find: "await tx.run(revokeCredential, { id, now: tx.now });", replace: "" }],
  },
  {
    name: "the last board person can leave",
    edits: [{ in: "demandNotLast", find: "board.length === 1", replace: "board.length === 0" }],
  },
  {
    name: "a person decides a request of their own position",
    edits: [{ in: "otherMustDecide", find: "others.length === 0 ?", replace: "others.length < 1_000_000 ?" }],
  },
  {
    name: "sessions start in a frozen company",
    edits: [
      {
        in: "readinessOf",
        find: 'if ((await companyState(tx, agent.company_id)).state !== "active") return no("full");',
        replace: "",
      },
    ],
  },
  {
    name: "freezing a company does not end its sessions",
    edits: [
      {
        in: "save",
        find: "await tx.run(endAllSessions, { company_id: id, ended_at: tx.now, end_reason: companyFrozen });",
        replace: "void endAllSessions;",
      },
    ],
  },
  {
    name: "agents change things in a frozen company",
    edits: [
      {
        in: "demandOpen",
        find: 'if (company.state === "frozen" && actor.kind === "agent") throw companyIsFrozen(company);',
        replace: "void actor;",
      },
    ],
  },
  {
    name: "people change an archived company",
    edits: [
      {
        in: "demandOpen",
        find: 'if (company.state === "archived" && name !== unarchiveCompany.name) throw companyArchived(company);',
        replace: "void name;",
      },
    ],
  },
  {
    name: "mail of an archived company is delivered",
    edits: [
      { in: "undelivered", find: ' and ${inUse("messages")}', replace: "" },
      {
        in: "createScheduler",
        find: 'if ((await companyState(tx, companyId)).state === "archived") return;',
        replace: "void companyState;",
      },
    ],
  },
];
