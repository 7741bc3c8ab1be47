import { corePropertyTest } from "../src/testing/model-test.ts";

corePropertyTest(6, 8);
