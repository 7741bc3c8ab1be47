import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";

export type Request = Answer<typeof ops.viewApproval>;

/** The request's own fields. A hire has them in the snapshot of its configuration. */
export function askedIn({ payload }: Request): Readonly<Record<string, unknown>> {
  return { ...payload, ...Object(payload["requestedConfigurationSnapshot"]) };
}

/** The name of the agent that a request is about. */
export function nameIn(request: Request): string | null {
  const name =
    askedIn(request)["name"] ?? request.changes.fields.find(({ field }) => field === "name")?.after;
  return typeof name === "string" ? name : null;
}

export function titleOf(request: Request): string {
  const name = nameIn(request);
  const role = askedIn(request)["role"];
  switch (request.type) {
    case "hire_agent":
    case "create_agent":
      return `Hire ${name ?? "an agent"}${typeof role === "string" ? ` as ${role}` : ""}`;
    case "change_agent":
      return request.changes.summary[0] ?? "Change an agent";
    case "approve_ceo_strategy":
      return `Plan of ${request.requestedBy?.name ?? "the root agent"}`;
    case "budget_override":
      return request.changes.summary[0] ?? "Raise a budget";
  }
}
