import { fieldsOf } from "../data/unknown-value.ts";

interface Asked {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The fields of the request. Those of a hire are in the snapshot of its configuration. */
export function askedIn({ payload }: Pick<Asked, "payload">): Readonly<Record<string, unknown>> {
  return { ...payload, ...fieldsOf(payload["requestedConfigurationSnapshot"]) };
}

/** "Hire Iris as Market researcher". Undefined for other kinds of requests. */
export function hireIn(request: Asked): string | undefined {
  if (request.type !== "hire_agent" && request.type !== "create_agent") return undefined;
  const { name, role } = askedIn(request);
  return `Hire ${typeof name === "string" ? name : "an agent"}${typeof role === "string" ? ` as ${role}` : ""}`;
}
