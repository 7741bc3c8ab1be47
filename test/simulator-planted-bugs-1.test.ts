import { finds } from "./planted-bugs/test.ts";
import { simulatorBugs } from "./planted-bugs/simulator.ts";

const wild = simulatorBugs.filter(({ calm }) => calm !== true);
finds("simulator", wild.slice(0, wild.length / 2), 100);
