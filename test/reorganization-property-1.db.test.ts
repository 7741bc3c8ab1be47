import { reorganizationPropertyTest } from "./reorganization/test.ts";

reorganizationPropertyTest(1, 2);
