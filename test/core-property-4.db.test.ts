import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(4, 8);
