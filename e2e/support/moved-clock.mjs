// Loaded before a daemon starts. Its clock then differs from that of the machine by the milliseconds in a file, which it reads
// at SIGUSR2. It writes its time beside that file. Passing time is not affected, as after a person or a program sets the clock
// of a machine.
import { readFileSync, writeFileSync } from "node:fs";

const Real = Date;
let moved = 0;
const look = () => {
  try {
    moved = Number(readFileSync(process.env.MOVED_CLOCK, "utf8"));
  } catch {
    moved = 0;
  }
};
look();
process.on("SIGUSR2", () => {
  look();
  writeFileSync(`${process.env.MOVED_CLOCK}.shown`, String(Date.now()));
});
globalThis.Date = class Date extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + moved);
    else super(...given);
  }

  static now() {
    return Real.now() + moved;
  }
};
