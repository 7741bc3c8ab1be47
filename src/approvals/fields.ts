import { canonicalJson } from "../contract/canonical.ts";
import type { FieldChange } from "../contract/approvals.ts";
import { brainMarks } from "../brains/registry.ts";
import { redact } from "../redaction/redact.ts";
import type { Payload } from "./approval.ts";

/**
 * A payload field by field, without I/O. The list is made from the payload itself, so every field that takes effect is shown.
 * Secrets are compared but not shown.
 */
interface Leaf {
  readonly raw: unknown;
  readonly shown: unknown;
}

/** The fields of a payload. For a change, `before` has the former values. */
export function changedFields({ before, ...payload }: Payload): FieldChange[] {
  const former = leavesOf(before);
  return [...leavesOf(payload)]
    .map(([field, { shown }]) => ({ field, before: former.get(field)?.shown ?? null, after: shown }))
    .filter((change) => change.before !== null || change.after !== null);
}

/** The fields in which two payloads differ. */
export function diffOf({ before: _b, ...former }: Payload, { before: _a, ...later }: Payload): FieldChange[] {
  const [was, is] = [leavesOf(former), leavesOf(later)];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((field) => textOf(was.get(field)) !== textOf(is.get(field)))
    .map((field) => ({
      field,
      before: was.get(field)?.shown ?? null,
      after: is.get(field)?.shown ?? null,
    }));
}

const textOf = (leaf: Leaf | undefined): string => canonicalJson(leaf?.raw ?? null);

/** Fields by path, such as `adapterConfig.command`. A list is one field. */
function leavesOf(payload: unknown): Map<string, Leaf> {
  const found = new Map<string, Leaf>();
  const walk = (raw: unknown, shown: unknown, path: string): void => {
    if (!isObject(raw) || !isObject(shown) || Object.keys(raw).length === 0) {
      if (path !== "" && path !== "revision") found.set(path, { raw, shown });
      return;
    }
    // Both have the same keys in the same order, except where a key itself was a secret.
    const values = Object.values(raw);
    for (const [index, [key, value]] of Object.entries(shown).entries())
      walk(values[index], value, wrappers.includes(key) ? path : path === "" ? key : `${path}.${key}`);
  };
  walk(payload, redact(payload, brainMarks).value, "");
  return found;
}

/** Keys that only group other fields. */
const wrappers = ["requestedConfigurationSnapshot", "changes"];

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
