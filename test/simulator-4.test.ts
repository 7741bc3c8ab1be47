import { testQuarter } from "./simulator.ts";

testQuarter(4);
