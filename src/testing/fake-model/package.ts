/** The exports of `agency/fake-model`, for users who test their own organizations (docs/guide/fake-model.md). */
export { lastResult } from "./conversation.ts";
export { always, answers, failing, steps, use } from "./script.ts";
export { startFakeModel } from "./server.ts";
