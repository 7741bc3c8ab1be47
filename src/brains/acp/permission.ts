import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";

/**
 * Answers what an agent's program asks before it uses a tool. The sandbox and the daemon decide what a tool can reach; here only
 * what neither of them sees is refused: leaving the mode that was chosen, and tools that the settings deny, such as sub-agents
 * for an agent without the right to consult.
 */
export function answerPermission(
  { toolCall, options }: Pick<RequestPermissionRequest, "toolCall" | "options">,
  denied: readonly string[],
): { isAllowed: boolean; response: RequestPermissionResponse } {
  const { kind, title, name } = toolCall;
  const words = [name ?? "", title ?? ""].flatMap((text) => text.split(/[^\w]+/).slice(0, 1));
  const isAllowed = kind !== "switch_mode" && !words.some((word) => denied.includes(word));
  const wanted = isAllowed
    ? (["allow_once", "allow_always"] as const)
    : (["reject_once", "reject_always"] as const);
  const option = wanted.flatMap((one) => options.filter((offered) => offered.kind === one))[0];
  return {
    isAllowed: isAllowed && option !== undefined,
    response: {
      outcome:
        option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId },
    },
  };
}
