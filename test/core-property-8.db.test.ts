import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(8, 8);
