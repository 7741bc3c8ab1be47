import { findBugs } from "./simulator-bugs/find.ts";

findBugs(0);
