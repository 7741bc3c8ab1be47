import { finds } from "./planted-bugs/test.ts";
import { leaks } from "./planted-bugs/worlds.ts";

finds("worlds", leaks, 40);
