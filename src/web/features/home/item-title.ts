interface Asking {
  readonly kind: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const hires: ReadonlySet<unknown> = new Set(["hire_agent", "create_agent"]);

export const isHire = ({ kind, facts }: Asking): boolean => kind === "approval" && hires.has(facts["type"]);

/** The title of an item. A hire begins like the page of its request. */
export function titleOfItem({ kind, facts, title }: Asking & { readonly title: string }): string {
  if (kind === "question") return `“${title}”`;
  return isHire({ kind, facts }) ? title.replace(/^The (hire of|agent) /, "Hire ") : title;
}
