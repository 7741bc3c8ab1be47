import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(3, 8);
