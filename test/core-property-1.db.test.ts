import { corePropertyTest } from "./model/test.ts";

corePropertyTest(1, 4);
