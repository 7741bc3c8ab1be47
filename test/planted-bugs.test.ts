import { finds } from "./planted-bugs/test.ts";
import { coreBugs } from "./planted-bugs/core.ts";

finds("core", coreBugs, 300);
