import { testLeases } from "./support/leases.ts";

testLeases("off");
