import { openAiResponses } from "./support/adapters.ts";
import { testBrain } from "./support/list.ts";

testBrain(openAiResponses);
