import { readFileSync } from "node:fs";

/** The version in package.json, two folders up both from here and from the bundle. */
export const cliVersion: string = String(
  Object(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))).version,
);
