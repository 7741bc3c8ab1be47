import { plural } from "../contract/phrases.ts";
import { conflict, forbidden, limited, Refusal, refused } from "../contract/refusal.ts";

/** All texts about people. */
export const noSuchPerson = (given: string): Refusal =>
  new Refusal("not_found", `There is no person called ${given}.`, "Run `agency people` to see them.");

export const personNameTaken = (name: string, other: string): Refusal =>
  conflict(
    `The name ${name} is taken: it looks like the name of ${other}, who is already here.`,
    "Choose another name, for example with a surname.",
  );

export const tooManyPeople = (most: number): Refusal =>
  limited(
    `There are ${plural(most, "person", "people")} here, the maximum.`,
    "Remove a person first: agency people remove <name>.",
  );

export const lastBoardPerson = (name: string): Refusal =>
  refused(
    `${name} is the only board person who has signed in, and an installation always has one.`,
    "First add another board person, who has to sign in: agency people add <name> --role board.",
  );

export const hasSignedIn = (name: string): Refusal =>
  forbidden(
    `${name} has signed in before, so only ${name} can make another sign-in link.`,
    `${name} runs: agency sign-in. If ${name} has lost every sign-in, remove the person and add a new one.`,
  );

export const onlyBoardLinks = (name: string): Refusal =>
  forbidden(`Only a board person can make a sign-in link for ${name}.`, "For yourself, run: agency sign-in.");

export const boardTokenStays = (): Refusal =>
  refused(
    "This call came with the board token of the daemon's home, which can't be signed out.",
    "To sign out a browser or a program, pass its id. `agency me` shows the ids.",
  );

export const noSuchSignIn = (id: string): Refusal =>
  new Refusal("not_found", `You have no sign-in ${id}.`, "Run `agency me` to see your sign-ins.");

export const notAPosition = (agent: string): Refusal =>
  refused(
    `${agent} is run by a brain, so no person can hold this position.`,
    `Give it to a person: agency agents update ${agent} --brain human --person <name>.`,
  );

export const viewerHoldsNothing = (name: string): Refusal =>
  refused(
    `${name} is a viewer, and viewers hold no positions.`,
    `Change the role first: agency people update ${name} --role member.`,
  );
