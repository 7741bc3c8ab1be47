import { testHalfOfTheKills } from "./support/living-kills.ts";

testHalfOfTheKills("sqlite");
