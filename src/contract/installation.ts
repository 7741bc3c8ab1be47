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
  remedy: z.string().describe("How to get a sandbox. Empty if the sandbox works."),
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
    "Show the daemon's version, its isolation of sessions, the missing secrets, and the brain that a new company gets.",
  input: z.strictObject({}),
  output: z.object({
    version: z.string(),
    startedAt: z.string().describe("Time at which the daemon started."),
    sandbox: Sandbox,
    kernelLimits: z
      .object({ processes: z.boolean(), memory: z.boolean() })
      .describe(
        "Which limits of a session the kernel enforces. Without it, the daemon looks and ends a session that exceeds one.",
      ),
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

const ListedNode = z.object({
  id: z.string(),
  name: z.string().describe("The name of its machine."),
  address: z.string().describe("Address at which the node answers."),
  answering: z.boolean().describe("Whether this is the node that answers this call."),
  state: z
    .enum(["running", "silent"])
    .describe("silent: it stopped renewing its leases, so other nodes take over its sessions."),
  version: z.string(),
  sessions: z.number().describe("Sessions that run on it."),
  maxSessions: z
    .number()
    .nullable()
    .describe("Maximum number of sessions at the same time. Null: no limit. 0: the node starts none."),
  brains: z.array(z.string()).describe("The types of brains that it can start."),
  lacks: z.array(z.string()).describe("Programs that agents need and that the node lacks."),
  trouble: z
    .string()
    .nullable()
    .describe("Why the node itself could not start the last session, such as a full disk. Null if it could."),
  startedAt: z.string(),
  heartbeatAt: z.string().describe("Time of the node's last sign of life."),
});
export type ListedNode = z.infer<typeof ListedNode>;

export const listNodes = operation("node.list", "GET /api/nodes", {
  summary: "List the nodes of this installation: their room for sessions, their brains and their state.",
  input: z.strictObject({}),
  output: z.object({ nodes: z.array(ListedNode) }),
  within: "installation",
  cli: { command: "nodes" },
});
