import { finds } from "./planted-bugs/test.ts";
import { simulatorBugs } from "./planted-bugs/simulator.ts";

finds("simulator", simulatorBugs.slice(0, simulatorBugs.length / 2), 100);
