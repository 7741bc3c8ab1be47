import { z } from "zod";
import { operation } from "./operation.ts";
import { Id, numeric } from "./words.ts";

/**
 * create_agent: an agent asks a person for another agent, and waits for the answer. Its results are always JSON of one
 * shape, also for a wrong argument: so its input takes anything, and the handler says what is wrong with it.
 */
export const createAgentArguments = {
  name: "string",
  autoReply: "boolean",
  role: "string",
  nextAgent: "string",
  waitSeconds: "number",
} as const;

/** Other spellings of the same; the key itself wins. */
export const createAgentAliases: Readonly<Record<string, keyof typeof createAgentArguments>> = {
  "auto-reply": "autoReply",
  auto_reply: "autoReply",
  "next agent": "nextAgent",
  "next-agent": "nextAgent",
  next_agent: "nextAgent",
};

const described = (type: string, description: string) => z.unknown().optional().meta({ type, description });

const Result = z.object({
  ok: z.boolean(),
  status: z.enum(["created", "denied", "pending", "error"]),
  created: z.boolean(),
  requestId: z.string().optional().describe("Of a pending one: wait_for_approval goes on waiting for it."),
  name: z.string().optional(),
  reason: z.enum(["user_denied", "timeout"]).optional(),
  code: z.enum(["validation_error", "agent_exists", "limit_reached", "create_failed"]).optional(),
  message: z.string().optional(),
  agent: z
    .object({ id: z.string(), name: z.string(), slug: z.string(), role: z.string(), status: z.string() })
    .optional(),
  effective: z
    .object({
      autoReply: z.boolean(),
      role: z.string().nullable(),
      nextAgent: z.string(),
      provider: z.string(),
      model: z.string().nullable(),
      systemPrompt: z.string(),
    })
    .optional(),
});
export type CreateAgentResult = z.infer<typeof Result>;

export const defaultWaitSeconds = 50;
export const longestWaitSeconds = 240;

export const waitForApproval = operation({
  name: "agent.wait_for_approval",
  summary: "Go on waiting for the answer to a create_agent.",
  input: z.strictObject({
    requestId: Id,
    waitSeconds: numeric(z.number().min(0).max(longestWaitSeconds))
      .optional()
      .describe(`How long to wait; default ${defaultWaitSeconds}.`),
  }),
  output: Result,
  effect: "record",
  within: { approval: "requestId" },
  needs: "member",
  http: { method: "GET", path: "/api/approvals/:requestId/result" },
  mcp: { server: "org", tool: "wait_for_approval" },
  waits: {
    seconds: ({ waitSeconds }) => secondsIn(waitSeconds),
    again: (output) => pendingIn(output),
  },
});

export const requestAgent = operation({
  name: "agent.request",
  summary:
    "Create an agent that reports to you, after a person's yes. The next agent, whom it answers, is human by default.",
  input: z
    .looseObject({
      name: described("string", "Its name: 1 to 64 characters of any script, not taken yet."),
      autoReply: described(
        "boolean",
        "Whether what it says last answers the message that woke it. Default true.",
      ),
      role: described("string", "What it does; at most 240 characters of it are used."),
      nextAgent: described("string", "Whom it answers: an agent's id, slug or name. Default human."),
      waitSeconds: described(
        "number",
        `How long this call waits for the answer. Default ${defaultWaitSeconds}.`,
      ),
    })
    .meta({ required: ["name"], additionalProperties: false }),
  output: Result,
  effect: "write",
  within: "company",
  needs: "member",
  http: { method: "POST", path: "/api/create-agent" },
  mcp: { server: "org", tool: "create_agent" },
  waits: {
    seconds: ({ waitSeconds }) => secondsIn(waitSeconds),
    again: (output) => pendingIn(output),
    by: waitForApproval,
  },
});

/** In a query string a number is text. */
function secondsIn(value: unknown): number {
  const seconds = typeof value === "string" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds)
    ? Math.min(Math.max(seconds, 0), longestWaitSeconds)
    : defaultWaitSeconds;
}

function pendingIn(output: unknown): { requestId: string } | null {
  const { status, requestId } = Result.partial().parse(output);
  return status === "pending" && requestId !== undefined ? { requestId } : null;
}
