import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../data/reading.ts";
import { useRenewing } from "../data/renewing.ts";
import { counted, money, tokens } from "./figures.tsx";
import { Quote } from "./quote.tsx";
import { readsInbox, sessionEnds } from "./session-ends.ts";
import { SidePanel } from "./side-panel.tsx";
import { Loaded } from "./states.tsx";
import { StatusMark } from "./status.tsx";
import { Elapsed, When } from "./time.tsx";
import { AgentName } from "./agent-name.tsx";
import { Line, Name } from "./words.tsx";

/** One session in the panel: its purpose, how it ended, what it cost, and its last lines. */
export function SessionPanel({ id }: { id: string }): ReactNode {
  const session = useRead(ops.viewSession, { id });
  useRenewing(ops.viewSession, session.data?.end === "running");
  return (
    <SidePanel label="The chosen session" to={`/sessions/${id}`}>
      <Loaded of={session}>
        {({ agent, outcome, end, startedAt, endedAt, usage, toolCalls, endReason, summary, tail }) => {
          const [mark, word] = sessionEnds[end] ?? (["idle", end] as const);
          return (
            <>
              <h2>{outcome === null ? <Line text={readsInbox} /> : <Name of={outcome} />}</h2>
              <p className="sub">
                <StatusMark mark={mark} />
                {word}
                <AgentName of={agent} />
              </p>
              <p className="sub num">
                <span>
                  <Elapsed since={startedAt} until={endedAt} />, started <When at={startedAt} said />
                </span>
                <span>
                  {money(usage.costUsd)} · {tokens(usage.inputTokens + usage.outputTokens)} tokens
                </span>
                {toolCalls !== null && <span>{counted(toolCalls, "call")}</span>}
              </p>
              {endReason !== null && end !== "done" && (
                <p className="lab">
                  <Line text={endReason} />
                </p>
              )}
              {summary !== null && <Quote title="Summary" by={agent} text={summary} />}
              {tail.length > 0 && (
                <section className="block">
                  <header>
                    <h2>Last lines</h2>
                  </header>
                  <pre className="code-box">
                    {tail.map((line, at) => (
                      <div key={at} className="cut">
                        <Line text={line} />
                      </div>
                    ))}
                  </pre>
                </section>
              )}
            </>
          );
        }}
      </Loaded>
    </SidePanel>
  );
}
