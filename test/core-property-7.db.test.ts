import { corePropertyTest } from "./model/test.ts";

corePropertyTest(7, 8);
