import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { ops } from "virtual:operations";
import { useRead } from "../../data/reading.ts";
import { useRenewing } from "../../data/renewing.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Button } from "../../ui/buttons.tsx";
import { counted, money, tokens } from "../../ui/figures.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Page } from "../../ui/page.tsx";
import { Quote } from "../../ui/quote.tsx";
import { Loaded } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Tile } from "../../ui/tile.tsx";
import { Elapsed, When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { readsInbox, sessionEnds } from "../../ui/session-ends.ts";
import { SessionDeeds } from "./session-deeds.tsx";
import { ColouredText, type Entry, Transcript, useTranscript } from "./transcript.tsx";
import * as texts from "./texts.ts";
import "./session.css";

/** Ends the session. Also pauses the agent, which would otherwise start again at once. */
function StopSession({ agent }: { agent: { readonly id: string; readonly name: string } }): ReactNode {
  return (
    <AskFor
      about={agent.id}
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

/** One session: to watch it while it runs, and to understand it afterwards. */
export function SessionPage(): ReactNode {
  const { id = "" }: { id?: string } = useParams({ strict: false });
  return <OneSession key={id} id={id} />;
}

function OneSession({ id }: { id: string }): ReactNode {
  const session = useRead(ops.viewSession, { id });
  useRenewing(ops.viewSession, session.data?.end === "running");
  const navigate = useNavigate();
  const search: { line?: string } = useSearch({ strict: false });
  const line = search.line === undefined || search.line === "" ? undefined : Number(search.line);
  const [asksWhole, setWhole] = useState(false);
  const [isEarlier, setEarlier] = useState(false);
  const heard = useTranscript(id, session.data?.end === "running", asksWhole || isEarlier);
  const opened = heard.entries.find(({ place }) => place === line);
  // The address names an entry before the part that was read. Only the whole transcript has it.
  const isBefore = line !== undefined && heard.truncated && line < (heard.entries[0]?.place ?? 0);
  useEffect(() => {
    if (isBefore) setEarlier(true);
  }, [isBefore]);
  const open = (entry: Entry | undefined): void =>
    void navigate({ to: `/sessions/${id}`, search: { line: entry?.place }, replace: true });
  const agent = session.data?.agent.id;
  useKeys({
    Escape: () =>
      line === undefined
        ? void navigate({ to: agent === undefined ? "/sessions" : `/agents/${agent}/sessions` })
        : open(undefined),
  });
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
                      <Line text={data.outcome?.title ?? readsInbox} />
                    </h1>
                    <div className="sub">
                      <span
                        className={`tag ${data.end === "running" ? "run" : data.end === "done" ? "" : "stop"}`}
                      >
                        <StatusMark mark={mark} />
                        {word}
                      </span>
                      <AgentName of={data.agent} tile={null} />
                      <span>
                        <Elapsed since={data.startedAt} until={data.endedAt} />, started{" "}
                        <When at={data.startedAt} said />
                      </span>
                      <span className="num">
                        {money(data.usage.costUsd)} ·{" "}
                        {tokens(data.usage.inputTokens + data.usage.outputTokens)} tokens
                      </span>
                      {data.toolCalls !== null && <span>{counted(data.toolCalls, "call")}</span>}
                    </div>
                  </div>
                </header>
                {data.end !== "running" && (
                  <div className="ended" tabIndex={0} role="region" aria-label="How it ended">
                    {data.endReason !== null && (
                      <p className={data.end === "done" ? "" : "bad"}>
                        <Line text={texts.endedBecause(word, data.endReason)} />
                      </p>
                    )}
                    {data.summary !== null && <Quote title="Summary" by={data.agent} text={data.summary} />}
                  </div>
                )}
                <Transcript
                  of={heard}
                  isRunning={data.end === "running"}
                  startedAt={data.startedAt}
                  opened={line}
                  onOpen={open}
                  onWhole={() => setWhole(true)}
                />
              </div>
              <aside className="beside" aria-label="Beside the transcript" tabIndex={0}>
                {opened === undefined ? (
                  <>
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
                      <Button look="ghost" icon="cross" aria-label="Close" onClick={() => open(undefined)} />
                    </header>
                    <pre className="whole">
                      <ColouredText text={opened.hidden ? texts.hidden : indented(opened.text)} />
                    </pre>
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

/** JSON with line breaks. Other text is returned unchanged. */
function indented(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
