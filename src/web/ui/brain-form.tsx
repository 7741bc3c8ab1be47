import { fieldsOf } from "../data/unknown-value.ts";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useRead } from "../data/reading.ts";
import { Markdown } from "./markdown.tsx";
import { SelectField } from "./select-field.tsx";
import { SchemaForm, type Values } from "./schema-form.tsx";
import { Said } from "./words.tsx";

export const efforts = ["low", "medium", "high", "xhigh", "max"] as const;

/** The typed brain of an agent. An empty text means the default. */
export interface BrainDraft {
  readonly adapterType: string;
  readonly adapterConfig: Values;
  readonly model: string;
  readonly effort: string;
}

/** The brain and its configuration: a form made from the brain's schema, with its documentation beside it. */
export function BrainForm({
  value,
  onChange,
}: {
  value: BrainDraft;
  onChange: (part: Partial<BrainDraft>) => void;
}): ReactNode {
  const { company } = useHere();
  const brains = useRead(ops.listBrains, { companyId: company.id }).data?.brains ?? [];
  const brain = brains.find(({ type }) => type === value.adapterType);
  return (
    <>
      <div className="two">
        <SelectField
          label="Type"
          value={value.adapterType}
          options={[
            ...(brain === undefined ? [{ value: value.adapterType, text: value.adapterType }] : []),
            ...brains.map(({ type, available }) => ({
              value: type,
              text: available ? type : `${type} (not available)`,
            })),
          ]}
          onChange={(adapterType) => onChange({ adapterType, adapterConfig: {} })}
        />
        <label className="field">
          <span>Model</span>
          <input
            className="input"
            maxLength={100}
            value={value.model}
            onChange={({ target }) => onChange({ model: target.value })}
          />
          <small>Optional, if the brain offers several.</small>
        </label>
        <SelectField
          label="Effort"
          value={value.effort}
          options={[{ value: "", text: "Default" }, ...efforts.map((each) => ({ value: each, text: each }))]}
          onChange={(effort) => onChange({ effort })}
        />
      </div>
      {brain !== undefined && (
        <>
          {!brain.available && (
            <p className="tag-line">
              <Said text={brain.says} />
            </p>
          )}
          <div className="brain-form">
            <SchemaForm
              key={brain.type}
              schema={brain.schema}
              values={value.adapterConfig}
              onChange={(adapterConfig) => onChange({ adapterConfig })}
            />
            <section className="brain-docs" aria-label={`Documentation of ${brain.type}`} tabIndex={0}>
              <Markdown text={brain.documentation} />
            </section>
          </div>
        </>
      )}
    </>
  );
}

/** The brain and the prompt in the configuration of an agent. */
export function brainIn(configuration: object): BrainDraft & { readonly prompt: string } {
  const of = new Map<string, unknown>(Object.entries(configuration));
  const text = (name: string): string => {
    const value = of.get(name);
    return typeof value === "string" ? value : "";
  };
  return {
    adapterType: text("adapterType"),
    adapterConfig: fieldsOf(of.get("adapterConfig")),
    model: text("model"),
    effort: text("effort"),
    prompt: text("prompt"),
  };
}
