import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { refreshAll, useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { money, tokens } from "../../ui/figures.tsx";
import { Markdown } from "../../ui/markdown.tsx";
import { Empty, Loaded, Refusal } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { Said } from "../../ui/words.tsx";
import * as texts from "./texts.ts";

type Ended = Answer<typeof ops.listEvents>["events"][number];

/** The brains of this machine: what was found, a probe of each, and how it is configured. */
export function Brains(): ReactNode {
  const { company, me } = useHere();
  const brains = useRead(ops.listBrains, { companyId: company.id });
  // The end of each test is an event with its result.
  const tests = useRead(
    ops.listEvents,
    me?.role === "member"
      ? null
      : { companyId: company.id, order: "newest", operation: "brain.tested", refused: false, limit: 200 },
  ).data?.events;
  return (
    <Loaded of={brains} height={90}>
      {({ brains: all }) =>
        all.length === 0 ? (
          <Empty title="No brain is installed.">
            <p>
              Install a brain's program, such as Claude Code, on the machine where the daemon runs. Then look
              again.
            </p>
            <Button onClick={() => void refreshAll()}>Look again</Button>
          </Empty>
        ) : (
          all.map((brain) => (
            <Brain
              key={brain.type}
              of={brain}
              last={tests?.find(({ data }) => data["type"] === brain.type)}
            />
          ))
        )
      }
    </Loaded>
  );
}

function Brain({
  of,
  last,
}: {
  of: Answer<typeof ops.listBrains>["brains"][number];
  /** The entry of the last finished test. */
  last: Ended | undefined;
}): ReactNode {
  const { company, cantDecide } = useHere();
  const probe = useDo(ops.testBrain);
  const [isOpen, setOpen] = useState(false);
  const test = async (running?: string): Promise<void> => {
    const output = await probe.run({
      companyId: company.id,
      type: of.type,
      ...(running !== undefined && { test: running }),
    });
    if (output?.status === "running") await test(output.test);
  };
  const found = probe.isBusy || last === undefined ? undefined : resultIn(last);
  return (
    <section className="box" aria-label={of.type}>
      <header>
        <h2 className="brain-head">{of.type}</h2>
        <span
          className={`tag ${found?.status === "works" ? "run" : found?.status === "fails" ? "stop" : ""}`}
        >
          {found === undefined
            ? texts.brainStates[probe.isBusy ? "running" : of.available ? "untested" : "missing"]
            : texts.brainStates[found.status]}
        </span>
        {of.version !== null && <span className="lab">{of.version}</span>}
        <span className="end">
          <Button look="ghost" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Documentation
          </Button>
          <Button because={cantDecide} disabled={probe.isBusy} onClick={() => void test()}>
            {probe.isBusy ? "Testing…" : "Test"}
          </Button>
        </span>
      </header>
      <div className="pad form">
        <p className="brain-says">
          <Said text={of.says} most={600} />
        </p>
        {found !== undefined && (
          <div role="status">
            <Said text={found.says} most={600} />{" "}
            <span className="lab">
              tested <When at={found.at} />
            </span>
            {found.status === "works" && (
              <span className="lab">
                {" "}
                {(found.milliseconds / 1000).toFixed(1)} s, {tokens(found.tokens)} tokens,{" "}
                {money(found.costUsd)}
              </span>
            )}
            {found.remedy !== "" && (
              <p>
                <Said text={found.remedy} most={600} />
              </p>
            )}
          </div>
        )}
        <Refusal of={probe.refused} />
        {isOpen && (
          <>
            <Markdown text={of.documentation} />
            <pre className="code-box" tabIndex={0}>
              {JSON.stringify(of.schema, null, 2)}
            </pre>
          </>
        )}
      </div>
    </section>
  );
}

/** The result of a test, from its entry in the record. */
function resultIn({ at, data }: Ended) {
  const textOf = (field: string): string => (typeof data[field] === "string" ? data[field] : "");
  return {
    at,
    status: data["status"] === "works" ? ("works" as const) : ("fails" as const),
    says: textOf("says"),
    remedy: textOf("remedy"),
    milliseconds: Number(data["milliseconds"] ?? 0),
    tokens: Number(data["tokens"] ?? 0),
    costUsd: Number(data["costUsd"] ?? 0),
  };
}
