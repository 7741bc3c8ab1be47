import { corePropertyTest } from "./model/test.ts";

corePropertyTest(6, 8);
