import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Button } from "../../ui/buttons.tsx";
import { counted, money, tokens } from "../../ui/figures.tsx";
import { Page } from "../../ui/page.tsx";
import { Quote } from "../../ui/quote.tsx";
import { Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile } from "../../ui/tile.tsx";
import { Elapsed, When } from "../../ui/time.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { sessionEnds } from "./ends.ts";
import { SessionDeeds } from "./session-deeds.tsx";
import { type Entry, Transcript, useTranscript, visibleText } from "./transcript.tsx";
import * as texts from "./texts.ts";
import "./session.css";

/** Ends the session. The agent is paused with it, because it would otherwise start again at once. */
function StopSession({ agent }: { agent: { readonly id: string; readonly name: string } }): ReactNode {
  return (
    <AskFor
      text="Stop"
      title={`Stop the session of ${agent.name}?`}
      says={`The session ends, and ${agent.name} is paused. No new session starts until you resume ${agent.name}.`}
      fields={[{ name: "reason", label: "Reason, kept on record", optional: true }]}
      danger
      look=""
      operation={ops.pauseAgent}
      input={({ reason = "" }) => ({ id: agent.id, ...(reason.trim() !== "" && { reason: reason.trim() }) })}
      done={`${agent.name} is paused.`}
    />
  );
}

/** One session: watch it, then understand it. */
export function SessionPage(): ReactNode {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  return <OneSession key={id} id={id} />;
}

function OneSession({ id }: { id: string }): ReactNode {
  const session = useRead(ops.viewSession, { id });
  const [isWhole, setWhole] = useState(false);
  const heard = useTranscript(id, session.data?.end === "running", isWhole);
  const [opened, setOpened] = useState<Entry | null>(null);
  const title = session.data === undefined ? "Session" : `Session of ${session.data.agent.name}`;
  return (
    <Page
      title={title}
      quoted
      crumbs={[
        { text: "Organization", to: "/org" },
        ...(session.data === undefined
          ? []
          : [{ text: session.data.agent.name, to: `/agents/${session.data.agent.id}/sessions` }]),
      ]}
      actions={session.data?.end === "running" && <StopSession agent={session.data.agent} />}
    >
      <Loaded of={session}>
        {(data) => {
          const [mark, word] = sessionEnds[data.end] ?? (["idle", data.end] as const);
          return (
            <div className="session">
              <div className="log">
                <header className="ask">
                  <Tile id={data.agent.id} name={data.agent.name} size="lg" />
                  <div className="min-w-0">
                    <h1 className="cut">
                      <Line text={data.outcome?.title ?? texts.readsInbox} />
                    </h1>
                    <div className="sub">
                      <span
                        className={`tag ${data.end === "running" ? "run" : data.end === "done" ? "" : "stop"}`}
                      >
                        <StatusMark mark={mark} />
                        {word}
                      </span>
                      <Name of={{ kind: "agent", id: data.agent.id, title: data.agent.name }} />
                      <span>
                        <Elapsed since={data.startedAt} until={data.endedAt} />, started{" "}
                        <When at={data.startedAt} />
                      </span>
                      <span className="num">
                        {money(data.usage.costUsd)} ·{" "}
                        {tokens(data.usage.inputTokens + data.usage.outputTokens)} tokens
                      </span>
                      {data.toolCalls !== null && <span>{counted(data.toolCalls, "call")}</span>}
                    </div>
                  </div>
                </header>
                {data.endReason !== null && data.end !== "done" && (
                  <p className="ended">
                    <Line text={data.endReason} />
                  </p>
                )}
                <Transcript
                  of={heard}
                  isRunning={data.end === "running"}
                  startedAt={data.startedAt}
                  onOpen={setOpened}
                  onWhole={() => setWhole(true)}
                />
              </div>
              <aside className="beside" aria-label="Beside the transcript" tabIndex={0}>
                {opened === null ? (
                  <>
                    {data.summary !== null && <Quote title="Summary" by={data.agent} text={data.summary} />}
                    {data.outcome !== null && (
                      <section className="sec">
                        <h3>For</h3>
                        <Name of={data.outcome} />
                      </section>
                    )}
                    <SessionDeeds of={data} />
                    {data.briefing !== null && (
                      <Quote title="Briefing" by={null} text={data.briefing} most={3000} />
                    )}
                  </>
                ) : (
                  <section className="block">
                    <header>
                      <h2>{opened.tool ?? opened.kind}</h2>
                      <Button look="ghost" icon="cross" aria-label="Close" onClick={() => setOpened(null)} />
                    </header>
                    <pre className="whole">{visibleText(opened.text)}</pre>
                  </section>
                )}
              </aside>
            </div>
          );
        }}
      </Loaded>
    </Page>
  );
}
