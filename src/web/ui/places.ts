/** The page of each kind of thing. */
const places: Readonly<Record<string, (id: string) => string>> = {
  agent: (id) => `/agents/${id}`,
  approval: (id) => `/approvals/${id}`,
  outcome: (id) => `/outcomes/${id}`,
  file: (id) => `/knowledge/${id}`,
  session: (id) => `/sessions/${id}`,
  reorganization: (id) => `/reorganizations/${id}`,
  message: () => "/mail",
  board: () => "/settings/people",
  person: () => "/settings/people",
  company: () => "/settings/company",
  provider: () => "/settings/brains",
  budget: () => "/costs",
};

export function placeOf({
  kind,
  id,
}: {
  readonly kind: string;
  readonly id: string | null;
}): string | undefined {
  return id === null && kind !== "board" ? undefined : places[kind]?.(id ?? "");
}
