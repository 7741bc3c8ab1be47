import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(5, 8);
