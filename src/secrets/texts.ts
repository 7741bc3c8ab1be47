import { plural } from "../contract/phrases.ts";
import { forbidden, limited, type Refusal } from "../contract/refusal.ts";

export const onlyBoardNamesSecrets = (name: string): Refusal =>
  forbidden(
    `Only the board can refer to a secret of the company ("${name}").`,
    "Leave the key out, and ask the board to set it after the hire.",
  );

export const tooManySecrets = (most: number): Refusal =>
  limited(
    `The company has ${plural(most, "secret")}, the maximum.`,
    "Remove some: agency secrets list, then agency secrets remove <name>",
  );

/** Users of a secret other than agents, which are listed by their names. */
export const usedByServer = (server: string): string => `MCP server ${server}`;
