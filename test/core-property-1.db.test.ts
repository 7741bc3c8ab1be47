import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(1, 8);
