import { testKills } from "./support/living-kills.ts";

testKills("postgres");
