import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { call } from "../../data/calling.ts";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { refreshAll, useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Box } from "../../ui/box.tsx";
import { Button } from "../../ui/buttons.tsx";
import { useEdited } from "../../ui/draft.ts";
import { chooseFirst, Meanwhile } from "../../ui/meanwhile.tsx";
import { Loaded, Refusal } from "../../ui/states.tsx";
import { fullTime, When } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { typedNumber } from "../../ui/typed-number.ts";
import { Line, Said } from "../../ui/words.tsx";
import { shownSettings, typed, unitWords, valueText } from "./setting-fields.ts";
import * as texts from "./texts.ts";

/** Name, budgets and the state of the company. */
export function CompanySettings(): ReactNode {
  const { company } = useHere();
  const { settings } = company;
  const changes = useChanges();
  return (
    <>
      <section className="box" aria-label="Company">
        <Field
          label="Name"
          hint="People and agents see it."
          value={company.name}
          changed={changes.get("name")}
          change={(name) => ({ name })}
        />
        <Field
          label="Monthly budget in US dollars"
          hint="Limit for the company in a calendar month (UTC). 0 stops all spending. Empty: no limit."
          value={valueText(settings.monthlyBudget.usd)}
          isNumber
          changed={changes.get("monthlyBudget")}
          change={(value) => ({ monthlyBudget: { usd: typedNumber(value) } })}
        />
        <Field
          label="Limit of one outcome in US dollars"
          hint="With everything below it, over all months. Empty: no limit."
          value={valueText(settings.maxOutcomeUsd)}
          isNumber
          changed={changes.get("maxOutcomeUsd")}
          change={(value) => ({ maxOutcomeUsd: typedNumber(value) })}
        />
      </section>
      <Box title="State" end={company.state}>
        <div className="pad form">
          {company.frozenReason !== null && <Said text={company.frozenReason} />}
          <div className="buttons">
            {company.state === "active" ? (
              <AskFor
                text="Freeze"
                title="Freeze the company?"
                says="Running sessions are ended, and none starts until you thaw it. Agents can read but change nothing."
                fields={[{ name: "reason", label: "Why", optional: true }]}
                operation={ops.freezeCompany}
                input={(values) => ({
                  companyId: company.id,
                  ...(values["reason"] && { reason: values["reason"] }),
                })}
                done="The company is frozen."
              />
            ) : (
              <AskFor
                look="solid"
                text={company.state === "archived" ? "Unarchive" : "Thaw"}
                title={company.state === "archived" ? "Unarchive the company?" : "Thaw the company?"}
                says={
                  company.state === "archived"
                    ? "It stays frozen until you thaw it."
                    : "Its agents continue with their open work."
                }
                operation={company.state === "archived" ? ops.unarchiveCompany : ops.thawCompany}
                input={() => ({ companyId: company.id })}
                done="Done."
              />
            )}
            {company.state !== "archived" && (
              <AskFor
                danger
                text="Archive"
                title="Archive the company?"
                says="It is frozen, hidden in lists, and read only for everyone. You can take it out of the archive."
                operation={ops.archiveCompany}
                input={() => ({ companyId: company.id })}
                done="Archived."
              />
            )}
          </div>
        </div>
      </Box>
    </>
  );
}

/** The hiring toggle, and every limit with its explanation. */
export function CompanyLimits(): ReactNode {
  const { company, cantDecide } = useHere();
  const save = useDo(ops.updateCompany);
  const described = useRead(ops.describeSettings, {});
  const changes = useChanges();
  const { settings } = company;
  const isOn = settings.requireBoardApprovalForNewAgents;
  return (
    <>
      <section className="box" aria-label="Hiring">
        <label className="toggle">
          <span>
            <b>{texts.requireApproval}</b>
            <small>{texts.requireApprovalHint}</small>
            <ChangedBy of={changes.get("requireBoardApprovalForNewAgents")} />
          </span>
          <input
            type="checkbox"
            role="switch"
            checked={isOn}
            disabled={cantDecide !== undefined}
            // If the switch were disabled meanwhile, it would lose the focus.
            onChange={({ target }) =>
              !save.isBusy &&
              void save
                .run({ companyId: company.id, requireBoardApprovalForNewAgents: target.checked })
                .then((done) => done && toast(texts.saved(texts.requireApproval)))
            }
          />
        </label>
        <Refusal of={save.refused} />
      </section>
      <section className="box limits">
        <header>
          <h2>Limits</h2>
        </header>
        <Loaded of={described} rows={12} height={60}>
          {({ schema }) =>
            shownSettings(schema, settings).map(({ key, label, hint, kind }) => (
              <Field
                key={key}
                label={label}
                hint={hint}
                value={valueText(settings[key])}
                isNumber={kind === "number"}
                means={unitWords(key, settings[key])}
                changed={changes.get(key)}
                change={(value) => ({ [key]: typed(kind, value) })}
              />
            ))
          }
        </Loaded>
      </section>
    </>
  );
}

type Change = Omit<Parameters<NonNullable<typeof ops.updateCompany.types>>[0], "companyId">;

/** In milliseconds. Without a connection, a saved setting is not waited for longer. */
const longestRead = 2000;

/** One setting. It is saved separately, with Enter or its button, and a refusal stays below it. */
function Field({
  label,
  hint,
  value,
  isNumber = false,
  means = "",
  changed,
  change,
}: {
  label: string;
  hint: string;
  value: string;
  isNumber?: boolean;
  /** The value in a larger unit, such as 10 MB or 1 day. */
  means?: string;
  changed: Changed | undefined;
  change: (value: string) => Change;
}): ReactNode {
  const { company, cantDecide } = useHere();
  const edit = useEdited(`setting.${company.id}.${label}`, { value });
  const save = useDo(ops.updateCompany);
  const isChanged = edit.changed.length > 0;
  const isSaving = useRef(false);
  // The value before a save, as long as the saved one has not been read.
  const unread = useRef<string>(undefined);
  if (unread.current !== value) unread.current = undefined;
  // A value that changes during a save is the saved one, and no change by another person.
  const isBehind = edit.behind.length > 0 && !isSaving.current && unread.current === undefined;
  const because = cantDecide ?? (isBehind ? chooseFirst : undefined);
  const latest = useRef({ edit, value });
  latest.current = { edit, value };
  // The text that was entered while a save was under way. It is saved next, whatever is typed after it.
  const entered = useRef<typeof edit.values>(undefined);
  const submit = async (): Promise<void> => {
    if (!isChanged || because !== undefined) return;
    entered.current = edit.values;
    if (isSaving.current) return;
    isSaving.current = true;
    try {
      for (let last: string | undefined; entered.current !== undefined && entered.current.value !== last;) {
        const sent: typeof edit.values = entered.current;
        entered.current = undefined;
        if ((await save.run({ companyId: company.id, ...change(sent.value) })) === undefined) return;
        // Until the saved value is read, the field keeps the typed one, and a text that is typed then is not based on the old value.
        await Promise.race([refreshAll(), new Promise((resolve) => setTimeout(resolve, longestRead))]);
        if (latest.current.value !== sent.value) unread.current = latest.current.value;
        latest.current.edit.saved(sent);
        toast(texts.saved(label));
        last = sent.value;
      }
    } finally {
      entered.current = undefined;
      isSaving.current = false;
    }
  };
  return (
    <form
      className="setting"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label htmlFor={label}>
        <b>{label}</b>
        <small>
          {hint}
          {means !== "" && ` Now ${means}.`}
        </small>
        <ChangedBy of={changed} />
      </label>
      <span className="save-row">
        <input
          id={label}
          className={`input ${isNumber ? "" : "words"}`}
          inputMode={isNumber ? "decimal" : "text"}
          value={edit.values.value}
          onChange={({ target }) => edit.set({ value: target.value })}
        />
        {isChanged && (
          <Button look="solid" type="submit" because={because}>
            Save
          </Button>
        )}
      </span>
      {isBehind && <Meanwhile of={edit} says={texts.settingIsNow(value)} />}
      <Refusal of={save.refused} />
    </form>
  );
}

interface Changed {
  readonly who: string;
  readonly at: string;
}

type Page = Pick<Answer<typeof ops.listEvents>, "events" | "nextCursor">;

/** A program may change settings every minute. A setting last changed more than 2,500 changes ago is shown without a name. */
const mostOlderPages = 4;

/** Who last changed each setting, by key. The newest changes are read live. Older ones are read page by page, once. */
function useChanges(): ReadonlyMap<string, Changed> {
  const { company } = useHere();
  const asked = {
    companyId: company.id,
    order: "newest",
    operation: "company.update",
    refused: false,
    limit: 500,
  } as const;
  const { data } = useRead(ops.listEvents, asked);
  const [older, setOlder] = useState<Page["events"]>([]);
  const first = useRef<string>(undefined);
  useEffect(() => {
    // Changes before the newest page of the first look never change.
    if (data === undefined || first.current === company.id) return;
    first.current = company.id;
    const readOlder = async (): Promise<Page["events"]> => {
      const events: Page["events"] = [];
      let { nextCursor } = data;
      for (let pages = 0; nextCursor !== null && pages < mostOlderPages; pages++) {
        const page: Page = await call(ops.listEvents, { ...asked, cursor: nextCursor });
        events.push(...page.events);
        ({ nextCursor } = page);
      }
      return events;
    };
    // Without the older ones, the newest are enough.
    void readOlder().then(setOlder, () => undefined);
  }, [data, company.id]);
  return useMemo(() => {
    const changes = new Map<string, Changed>();
    for (const { by, at, data: changed } of [...(data?.events ?? []), ...older])
      for (const key of Object.keys(changed))
        if (!changes.has(key)) changes.set(key, { who: by.person?.name ?? by.agent?.name ?? "Agency", at });
    return changes;
  }, [data, older]);
}

function ChangedBy({ of }: { of: Changed | undefined }): ReactNode {
  return (
    of !== undefined && (
      <small className="changed" title={fullTime(of.at)}>
        <Line text={texts.changedBy(of.who)} /> <When at={of.at} />
      </small>
    )
  );
}
