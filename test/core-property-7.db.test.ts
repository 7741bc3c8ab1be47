import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(7, 8);
