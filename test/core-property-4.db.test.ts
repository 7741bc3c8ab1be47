import { corePropertyTest } from "./model/test.ts";

corePropertyTest(4, 4);
