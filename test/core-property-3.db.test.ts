import { corePropertyTest } from "./model/test.ts";

corePropertyTest(3, 4);
