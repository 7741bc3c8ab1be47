import type { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import { typedNumber } from "../../ui/typed-number.ts";
import * as texts from "./texts.ts";

/** Which settings have a field, and how the text of a field becomes a value. The schema comes from the server. */

type Settings = Answer<typeof ops.viewCompany>["settings"];
type Kind = "number" | "list" | "text";

export interface SettingField {
  readonly key: keyof Settings;
  readonly label: string;
  readonly hint: string;
  readonly kind: Kind;
}

/** Numbers, lists and texts. Settings with a known label come first. Switches and budgets have separate forms. */
export function shownSettings(schema: Readonly<Record<string, unknown>>, settings: Settings): SettingField[] {
  const isSetting = (key: string): key is keyof Settings => key in settings;
  const parts = new Map<string, unknown>(Object.entries(Object(schema["properties"])));
  const order = [...new Set([...Object.keys(texts.settingLabels), ...parts.keys()])];
  return order.flatMap((key) => {
    const part: Readonly<Record<string, unknown>> = Object(parts.get(key));
    const kind = kindOf(part);
    // The limit for one outcome is on the page of the company.
    if (kind === undefined || !isSetting(key) || key === "maxOutcomeUsd") return [];
    return [
      {
        key,
        label: texts.settingLabels[key] ?? key,
        hint: texts.settingHint(valueText(part["description"]), valueText(part["default"])),
        kind,
      },
    ];
  });
}

function kindOf(part: Readonly<Record<string, unknown>>): Kind | undefined {
  const { type, anyOf } = part;
  if (Array.isArray(anyOf))
    return kindOf(Object(anyOf.find((one: unknown) => Object(one)["type"] !== "null")));
  if (type === "integer" || type === "number") return "number";
  if (type === "array") return "list";
  return type === "string" ? "text" : undefined;
}

/** A value as its field shows it. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** An empty field is null. */
export function typed(kind: Kind, value: string): unknown {
  const text = value.trim();
  if (kind === "list") return text.split(/[\s,]+/).filter((word) => word !== "");
  return kind === "number" ? typedNumber(text) : text === "" ? null : text;
}

const units: readonly (readonly [RegExp, readonly (readonly [number, string])[]])[] = [
  [
    /Bytes$/,
    [
      [1024 ** 3, "GB"],
      [1024 ** 2, "MB"],
      [1024, "kB"],
    ],
  ],
  [
    /Seconds$/,
    [
      [86_400, "days"],
      [3600, "hours"],
      [60, "minutes"],
    ],
  ],
];

/** A number of bytes or seconds in the largest unit that fits. */
export function unitWords(key: string, value: unknown): string {
  const found = units.find(([pattern]) => pattern.test(key))?.[1];
  const unit = typeof value === "number" ? found?.find(([size]) => value >= size) : undefined;
  if (unit === undefined || typeof value !== "number") return "";
  const [size, name] = unit;
  const count = Math.round((value / size) * 10) / 10;
  return `${count} ${count === 1 ? name.replace(/s$/, "") : name}`;
}
