import { testStops } from "./support/stops.ts";

testStops("on");
