import { z } from "zod";
import { ChosenBrain } from "./companies.ts";
import { operation } from "./operation.ts";

/** Facts about the daemon itself, which concern every company. */

export const Sandbox = z.object({
  status: z
    .enum(["works", "missing", "forbidden", "off"])
    .describe(
      "works: sessions that run programs are isolated. missing: bubblewrap is not installed. forbidden: the system does not let bubblewrap create namespaces. off: AGENCY_SANDBOX=off.",
    ),
  unsandboxedAllowed: z
    .boolean()
    .describe("Whether sessions that run programs may start without a sandbox (--allow-unsandboxed)."),
  says: z.string(),
  remedy: z.string().describe("How to get a sandbox. Empty if it works."),
});
export type Sandbox = z.infer<typeof Sandbox>;

const KeptSecrets = z.object({
  kept: z
    .enum(["encrypted", "memory"])
    .describe("encrypted: the daemon has a secrets key. memory: it has none, and a restart loses secrets."),
  missing: z
    .array(z.object({ company: z.string(), name: z.string(), usedBy: z.array(z.string()) }))
    .describe("Secrets without a value, and the agents that wait for them."),
});

export const viewInstallation = operation("installation.view", "GET /api/installation", {
  summary:
    "Show the version of the daemon, how it isolates sessions, which secrets are missing, and which brain a new company gets.",
  input: z.strictObject({}),
  output: z.object({
    version: z.string(),
    startedAt: z.string().describe("When the daemon started."),
    sandbox: Sandbox,
    secrets: KeptSecrets,
    brain: ChosenBrain,
  }),
  within: "installation",
});

export const measureInstallation = operation("installation.measure", "GET /metrics", {
  summary: "Show figures of this daemon and of all companies, in the text format of Prometheus.",
  input: z.strictObject({}),
  output: z.object({ text: z.string() }),
  within: "installation",
  as: "text",
});
