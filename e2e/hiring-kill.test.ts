// A daemon that dies between two steps of a hire or of a decision about one, and the next one: either nothing happened or
// all of it, and whoever got no answer asks again under the same key and gets one agent, one decision.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as approvals from "../src/contract/approvals.ts";
import { createClient } from "../src/client/client.ts";
import { createKey, listAgents, viewAgent, viewCompany } from "../src/contract/organization.ts";
import { createOutcome, delegateOutcome, viewOutcome } from "../src/contract/outcomes.ts";
import { testDatabase } from "../src/testing/postgres.ts";
import { storeKinds } from "../src/testing/organization.ts";
import { type BuiltDaemon, type DaemonOptions, startDaemon, temporaryFolder } from "./support/daemon.ts";
import { endOf } from "./support/steps.ts";

interface Scene {
  readonly board: BuiltDaemon["board"];
  readonly root: BuiltDaemon["board"];
  readonly companyId: string;
  readonly rootId: string;
}

/** Of the agent and its approval: what an observer sees. */
type Sight = readonly [agent: string, approval: string, responsible: string];

interface Step {
  /** What it puts on record, in the order in which it does. */
  readonly events: readonly string[];
  /** What has to be there; answers the approval. */
  readonly prepare: (scene: Scene) => Promise<string>;
  readonly act: (scene: Scene, id: string) => Promise<unknown>;
  readonly before: Sight;
  readonly after: Sight;
}

const key = "the-one-key";
const hire = { name: "Ada", role: "worker", grants: [{ resource: "org:hire" }] };
const job = "01900000-0000-7000-8000-000000000001";
const nothing: Sight = ["none", "none", "none"];
const waiting: Sight = ["pending_approval", "pending", "none"];

async function hired({ root }: Scene): Promise<string> {
  return (await root.call(approvals.hireAgent, hire)).approval?.id ?? "";
}
