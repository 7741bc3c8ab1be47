import { z } from "zod";
import { PersonRef } from "./actors.ts";
import { operation } from "./operation.ts";
import { idOf, Name, text } from "./words.ts";

/** The people of an installation: their roles, their positions, and how they sign in. */

/** A board person governs, a member works from the positions bound to it, a viewer reads. */
export const roles = ["board", "member", "viewer"] as const;
export type Role = (typeof roles)[number];

const PersonKey = text(100).trim().min(1).describe("The person's id or name. `me` is the person who calls.");

/** The person who holds an agent's position. */
export const PersonOf = PersonKey.describe("Id or name of the person who works from this position.");

const PositionRef = z.object({
  id: z.string().describe("Id of the agent."),
  name: z.string(),
  slug: z.string(),
  role: z.string(),
  company: z.object({ id: z.string(), name: z.string() }),
});

const Person = PersonRef.extend({
  role: z.enum(roles).describe("board governs, member acts only from its positions, viewer reads."),
  positions: z.array(PositionRef).describe("The agents that this person acts as."),
  createdAt: z.string(),
  signedInAt: z
    .string()
    .nullable()
    .describe("When the person first signed in. Until then a board person can make a sign-in link for them."),
});

const SignInLink = z.object({
  link: z.string().describe("Open it in a browser, or pass it to `agency sign-in`. It works once."),
  code: z.string().describe("The code in the link, for POST /api/sign-in."),
  expiresAt: z.string(),
});

const SignIn = z.object({
  id: z.string(),
  kind: z.enum(["browser", "program"]),
  label: z.string(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  current: z.boolean().describe("true for the sign-in that made this call."),
});

export const viewMe = operation("person.me", "GET /api/me", {
  summary: "Show who you are: your role, your positions, what you can do, and where you are signed in.",
  input: z.strictObject({}),
  output: z.object({
    person: PersonRef,
    role: z.enum(roles),
    positions: z.array(PositionRef),
    actingAs: PositionRef.nullable().describe("The position from which your calls run. Null: none."),
    abilities: z.object({
      govern: z.boolean().describe("Your calls can change everything, in every company."),
      act: z.boolean().describe("Your calls can run from a position, with the rights of its agent."),
      read: z.boolean().describe("You can read everything, in every company."),
    }),
    signIns: z.array(SignIn).describe("Your browsers and programs. End one: POST /api/sign-out."),
  }),
  // The expiry of a browser moves with each use.
  effect: "record",
  within: "installation",
  needs: "person",
  cli: { command: "me" },
});

export const listPeople = operation("person.list", "GET /api/people", {
  summary: "List the people of this installation, with their roles and positions.",
  input: z.strictObject({}),
  output: z.object({ people: z.array(Person) }),
  within: "installation",
  cli: { command: "people list" },
});

export const createPerson = operation("person.create", "POST /api/people", {
  summary: "Add a person. The answer has a sign-in link for them, which works once within 24 hours.",
  input: z.strictObject({
    name: Name.describe("Name, 1 to 64 characters. It must not look like another person's."),
    role: z
      .enum(roles)
      .default("member")
      .describe("board governs, member acts only from its positions, viewer reads. Default member."),
  }),
  output: Person.extend({ signIn: SignInLink }),
  shownOnce: ["signIn"],
  within: "installation",
  cli: { command: "people add <name>", example: "Ann --role board" },
});

export const updatePerson = operation("person.update", "PATCH /api/people/:id", {
  summary: "Change a person's name or role.",
  input: z.strictObject({
    id: PersonKey,
    name: Name.optional().describe("New name, 1 to 64 characters. Default: unchanged."),
    role: z.enum(roles).optional().describe("New role. A viewer holds no position. Default: unchanged."),
  }),
  output: Person,
  within: "installation",
  cli: { command: "people update <id>", example: "Ann --role viewer" },
});

export const removePerson = operation("person.remove", "DELETE /api/people/:id", {
  summary:
    "Remove a person. Their credentials, browsers and links stop working at once, and their positions become vacant.",
  input: z.strictObject({ id: PersonKey }),
  output: PersonRef.extend({
    removed: z.literal(true),
    positions: z.array(PositionRef).describe("The positions that are vacant now."),
  }),
  within: "installation",
  cli: { command: "people remove <id>", example: "Ann" },
});

export const linkPerson = operation("person.link", "POST /api/people/:id/sign-in-link", {
  summary:
    "Create a sign-in link for yourself (10 minutes) or, as the board, for a person who has never signed in (24 hours).",
  input: z.strictObject({ id: PersonKey }),
  output: SignInLink,
  shownOnce: ["link", "code"],
  within: "installation",
  needs: "person",
  cli: { command: "people link <id>", example: "Ann" },
});

export const signIn = operation("person.sign_in", "POST /api/sign-in", {
  summary: "Sign in with the code of a sign-in link. The code works once.",
  input: z.strictObject({
    code: z.string().max(500).describe("The part of the sign-in link after `#`."),
    kind: z
      .enum(["browser", "program"])
      .default("browser")
      .describe(
        "browser: the answer sets a cookie and has the pageKey for the header X-Agency-Page. program: the answer has a token. Default browser.",
      ),
    label: Name.optional().describe(
      "Label shown in your list of sign-ins, 1 to 64 characters. Default: its `kind`.",
    ),
  }),
  output: z.object({
    person: PersonRef,
    role: z.enum(roles),
    pageKey: z.string().optional().describe("For a browser. Send it as X-Agency-Page with every call."),
    cookie: z.string().optional(),
    token: z.string().optional().describe("For a program. Send it as `Authorization: Bearer`."),
    expiresAt: z.string().nullable(),
  }),
  shownOnce: ["pageKey", "cookie", "token"],
  takesSecret: true,
  credentialIn: "code",
  setsCookie: "cookie",
  within: "installation",
  needs: "link",
});

export const signOut = operation("person.sign_out", "POST /api/sign-out", {
  summary: "Sign out: end the credential of this call, or another sign-in of yours.",
  input: z.strictObject({
    id: idOf("sign-in").optional().describe("Id of one of your sign-ins (GET /api/me). Default: this one."),
  }),
  output: z.object({ id: z.string(), signedOut: z.literal(true), cookie: z.string().optional() }),
  setsCookie: "cookie",
  within: "installation",
  needs: "person",
});
