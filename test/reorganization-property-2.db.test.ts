import { reorganizationPropertyTest } from "./reorganization/test.ts";

reorganizationPropertyTest(2, 2);
