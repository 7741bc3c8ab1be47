import { finds } from "./planted-bugs/test.ts";
import { simulatorBugs } from "./planted-bugs/simulator.ts";
import { wakeupBugs } from "./planted-bugs/wakeups.ts";

finds("simulator", simulatorBugs.slice(simulatorBugs.length / 2), 100);
finds("calm", wakeupBugs, 100);
