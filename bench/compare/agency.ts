import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { z } from "zod";
import { openScratch } from "../../src/daemon/scratch.ts";
import { megabytesOf, openCaller, measuredWork } from "../../src/daemon/speed.ts";
import { type Driver, installPackage, versionIn } from "./system.ts";

const root = join(import.meta.dirname, "../..");
const Packed = z.array(z.object({ filename: z.string() })).min(1);

/** Agency as people install it: packed, and installed without development dependencies. */
export function agency(database: Driver["database"], own?: { readonly cli: string }): Driver {
  return {
    name: "Agency",
    database,
    install: async (folder) => {
      const said = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
        cwd: root,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [packed] = Packed.parse(JSON.parse(said.slice(said.search(/^\[$/m))));
      return installPackage(folder, join(folder, packed?.filename ?? ""));
    },
    version: (installed) => versionIn(own === undefined ? join(installed, "agency") : root),
    open: async (installed, folder, databaseUrl) => {
      const scratch = await openScratch({
        home: join(folder, "home"),
        databaseUrl,
        cli: own?.cli ?? join(installed, "agency/dist/cli/main.js"),
        path: process.env["PATH"],
      });
      return {
        start: scratch.start,
        stop: scratch.stop,
        megabytes: () => megabytesOf(scratch.running().pid),
        work: async (connections) => {
          const daemon = scratch.running();
          const caller = openCaller(daemon.url, daemon.token, connections);
          return { ...measuredWork(daemon, caller), close: caller.close };
        },
        close: scratch.close,
      };
    },
  };
}
