import { corePropertyTest } from "./model/test.ts";

corePropertyTest(5, 8);
