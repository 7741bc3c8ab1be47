import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(2, 8);
