import type { Values } from "../../ui/schema-form.tsx";
import { useDraftFields } from "../../ui/draft.ts";

/** The typed request. It survives a reload. */
export interface HireDraft {
  readonly name: string;
  readonly role: string;
  readonly title: string;
  readonly mandate: string;
  readonly capabilities: string;
  readonly prompt: string;
  readonly adapterType: string;
  readonly adapterConfig: Values;
  readonly model: string;
  readonly effort: string;
  readonly usd: string;
  /** The levels by resource. */
  readonly grants: Readonly<Record<string, string>>;
}

export const emptyHire: HireDraft = {
  name: "",
  role: "",
  title: "",
  mandate: "",
  capabilities: "",
  prompt: "",
  adapterType: "",
  adapterConfig: {},
  model: "",
  effort: "",
  usd: "",
  grants: {},
};

export function useHireDraft(company: string): [HireDraft, (part: Partial<HireDraft>) => void, () => void] {
  const [kept, change, drop] = useDraftFields<HireDraft>(`hire.${company}`);
  return [{ ...emptyHire, ...kept }, change, drop];
}
