// Plays reorganizations seed after seed and says on standard output what it found first: the run of a planted bug.
import { playReorganizations } from "../reorganization/play.ts";

const most = Number(process.argv[2] ?? 1);
let found: string | null = null;
for (let seed = 1; seed <= most && found === null; seed++)
  try {
    await playReorganizations("sqlite", seed, 120);
  } catch (error) {
    found = error instanceof Error ? error.message : String(error);
  }
console.log(JSON.stringify({ found }));
