import { corePropertyTest } from "./model/test.ts";

corePropertyTest(8, 8);
