import type { Command } from "commander";
import { createClient } from "../client/client.ts";
import { createPerson, linkPerson, listPeople, signIn, signOut } from "../contract/people.ts";
import { refusalOf } from "../contract/refusal.ts";
import { forgetSignIn, keepSignIn } from "./signed-in.ts";
import { table } from "./show.ts";
import { type Screens, when } from "./look.ts";
import { clientOf, type Context, print } from "./terminal.ts";
import { example, jsonFlag, notSignedIn } from "./texts.ts";
import { homeOf, signInOf, urlOf } from "./where.ts";

/** `agency sign-in` makes a link for the caller, or uses one and keeps the token. */
export function addSignIn(program: Command, context: Context): void {
  const { env } = context;
  program
    .command("sign-in")
    .description("Sign in with a one-time link. Without a link: make one for yourself, to sign in elsewhere.")
    .argument("[link]", "The link that a board person gave you, or its code.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency sign-in", 'agency sign-in "http://127.0.0.1:4600/sign-in#agl_…"'))
    .action(async (link: string | undefined, flags: { json?: true }) => {
      if (link === undefined) {
        const made = await clientOf(env).call(linkPerson, { id: "me" });
        return print(context, flags, made, howToUse(made));
      }
      const [address = "", code] = link.split("#");
      const url = code === undefined ? urlOf(env) : originFor(address);
      const client = createClient({ url, token: undefined });
      const { person, role, token = "" } = await client.call(signIn, { code: code ?? link, kind: "program" });
      keepSignIn(homeOf(env), { url, token });
      print(
        context,
        flags,
        { person, role, url },
        `You are signed in at ${url} as ${person.name} (${role}).`,
        "Run `agency me` to see your positions.",
      );
    });
  program
    .command("sign-out")
    .description("End the sign-in of this command line, and forget its token.")
    .option(...jsonFlag)
    .addHelpText("after", example("agency sign-out"))
    .action(async (flags: { json?: true }) => {
      const kept = signInOf(homeOf(env));
      if (kept === undefined) throw notSignedIn();
      // A token that is no longer valid is forgotten as well.
      const refused = await refusalOf(createClient(kept).call(signOut, {}));
      forgetSignIn(homeOf(env));
      if (refused !== undefined && refused.code !== "unauthenticated") throw refused;
      print(context, flags, { signedOut: true }, "You are signed out.");
    });
}

/** Names under localhost are for browsers. Not every machine resolves them, so commands use the daemon's plain address. */
function originFor(link: string): string {
  const url = new URL(link);
  if (url.hostname.endsWith(".localhost")) url.hostname = "127.0.0.1";
  return url.origin;
}

/** Shown after `agency people add` and `agency people link`. */
export const peopleScreens: Screens = {
  "people add": (output) => {
    const { name, role, signIn: made } = createPerson.output.parse(output);
    return `Added ${name} (${role}). Give this link to ${name} and to no one else:\n${howToUse(made)}`;
  },
  "people list": (output, look) =>
    table(
      "people",
      listPeople.output.parse(output).people.map(({ id, name, role, positions, signedInAt }) => ({
        Name: name,
        Role: role,
        Positions:
          positions.map((position) => `${position.name} in ${position.company.name}`).join(", ") || "-",
        "Signed in": signedInAt === null ? "never" : signedInAt,
        Id: id,
      })),
      look,
    ),
  "people link": (output) => howToUse(linkPerson.output.parse(output)),
};

const howToUse = ({ link, expiresAt }: { link: string; expiresAt: string }): string =>
  [
    `  ${link}`,
    `It works once, and expires ${when(expiresAt, Date.now())}. To sign in on the command line: agency sign-in "<link>"`,
  ].join("\n");
