import { z } from "zod";
import { operation } from "./operation.ts";
import { hiddenInSessions, idOf, numeric } from "./words.ts";

export const defaultWaitSeconds = 50;
export const longestWaitSeconds = 240;
const secondsToWait = `Seconds to wait, up to ${longestWaitSeconds}. Default ${defaultWaitSeconds}.`;

const described = (type: string, description: string) => z.unknown().optional().meta({ type, description });

/**
 * create_agent: an agent asks a person for another agent and waits for the answer. The result is always JSON of one shape, even
 * if an argument is wrong. So the schema accepts anything, and the handler checks the arguments.
 */
export const createAgentArguments = {
  name: described("string", "Unique in the company."),
  autoReply: described("boolean", "Whether its output is sent as a reply. Default true."),
  role: described("string", "Its role, up to 240 characters."),
  nextAgent: described("string", "Agent to reply to. Default `human`."),
  waitSeconds: described("number", secondsToWait).register(hiddenInSessions, {}),
};

/** Other spellings of the arguments. The canonical key wins. */
export const createAgentAliases: Readonly<Record<string, keyof typeof createAgentArguments>> = {
  "auto-reply": "autoReply",
  auto_reply: "autoReply",
  "next agent": "nextAgent",
  "next-agent": "nextAgent",
  next_agent: "nextAgent",
};

const Result = z.object({
  ok: z.boolean(),
  status: z.enum(["created", "denied", "pending", "error"]),
  created: z.boolean(),
  requestId: z.string().optional().describe("Id of a pending request, for wait_for_approval."),
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

export const waitForApproval = operation("agent.wait_for_approval", "GET /api/approvals/:requestId/result", {
  summary: "Wait for the decision on a create_agent request.",
  guidance: "Use it when create_agent returns `pending`. The answer has the same form.",
  input: z.strictObject({
    requestId: idOf("approval").describe("From create_agent."),
    waitSeconds: numeric(z.number().min(0).max(longestWaitSeconds))
      .optional()
      .describe(secondsToWait)
      .register(hiddenInSessions, {}),
  }),
  output: Result,
  effect: "record",
  needs: "member",
  mcp: { server: "org", tool: "wait_for_approval" },
  waits: { seconds: secondsIn, again: pendingIn },
});

export const requestAgent = operation("agent.request", "POST /api/create-agent", {
  summary: "Create an agent that reports to you, if a person approves.",
  guidance: "Returns `created`, `denied`, `error`, or `pending` with a `requestId` for wait_for_approval.",
  input: z.looseObject(createAgentArguments).meta({ required: ["name"], additionalProperties: false }),
  output: Result,
  needs: "member",
  mcp: { server: "org", tool: "create_agent" },
  waits: { seconds: secondsIn, again: pendingIn, by: waitForApproval },
});

/** In a query string, a number arrives as text. */
function secondsIn({ waitSeconds }: Readonly<Record<string, unknown>>): number {
  const seconds = typeof waitSeconds === "string" ? Number(waitSeconds) : waitSeconds;
  return typeof seconds === "number" && Number.isFinite(seconds)
    ? Math.min(Math.max(seconds, 0), longestWaitSeconds)
    : defaultWaitSeconds;
}

const Waiting = Result.pick({ status: true, requestId: true }).partial();

function pendingIn(output: unknown): { requestId: string } | null {
  const { status, requestId } = Waiting.parse(output);
  return status === "pending" && requestId !== undefined ? { requestId } : null;
}
