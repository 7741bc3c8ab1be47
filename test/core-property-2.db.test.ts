import { corePropertyTest } from "./model/test.ts";

corePropertyTest(2, 4);
