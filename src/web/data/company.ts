import { createContext, use } from "react";
import type { ops } from "virtual:operations";
import type { Answer } from "./operations.ts";

export type ShownCompany = Answer<typeof ops.listCompanies>["companies"][number];
export type Me = Answer<typeof ops.viewMe>;

/** The company that the page shows, and the person who looks at it. */
export interface Here {
  readonly company: ShownCompany;
  readonly companies: readonly ShownCompany[];
  readonly me: Me | undefined;
  /** The reason why the person can't decide now. Undefined if they can. */
  readonly cantDecide: string | undefined;
}

export const HereContext = createContext<Here | null>(null);

export function useHere(): Here {
  const here = use(HereContext);
  if (here === null) throw new Error("a page was rendered outside of the shell");
  return here;
}

/** The name of a company in an address: its slug, or its id if another company has the same slug. */
export const inAddress = (
  { id, slug }: Pick<ShownCompany, "id" | "slug">,
  companies: readonly Pick<ShownCompany, "id" | "slug">[],
): string => (companies.some((other) => other.slug === slug && other.id !== id) ? id : slug);

const places = {
  company: "agency.company",
  role: "agency.role",
  name: "agency.name",
  root: "agency.root",
} as const;
export const lastCompany = (): string | null => localStorage.getItem(places.company);
/** The root agent of that company. */
export const lastRoot = (): string | null => localStorage.getItem(places.root);
/** The company's name in the last address. */
export const lastName = (): string | null => localStorage.getItem(places.name);
export const lastRole = (): string | null => localStorage.getItem(places.role);
export function rememberHere({ company, companies, me }: Here): void {
  localStorage.setItem(places.name, inAddress(company, companies));
  localStorage.setItem(places.company, company.id);
  localStorage.setItem(places.root, company.rootAgentId);
  if (me !== undefined) localStorage.setItem(places.role, me.role);
}
