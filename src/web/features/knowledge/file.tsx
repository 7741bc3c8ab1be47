import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ops } from "virtual:operations";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { AskWhy } from "../../ui/ask-for.tsx";
import { Button } from "../../ui/buttons.tsx";
import { figure } from "../../ui/figures.tsx";
import { useKeys } from "../../ui/keys.ts";
import { useSaidOnce } from "../../ui/said-once.ts";
import { Markdown } from "../../ui/markdown.tsx";
import { Page } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { When } from "../../ui/time.tsx";
import { Line } from "../../ui/words.tsx";
import { AccessPart, GoneFile, HistoryPart, LinksPart } from "./about-file.tsx";
import { download } from "./download.ts";
import { Editor, useFileEdit } from "./editor.tsx";
import { TextDiff } from "./text-diff.tsx";
import * as texts from "./texts.ts";
import { WholeText } from "./whole-text.tsx";
import "../../ui/work.css";
import "./knowledge.css";

const parts = ["", "history", "links", "access"] as const;
type FileText = Answer<typeof ops.readFile>;

/** One document: its text, a comparison of any two versions, its links, who can read it, and who has. */
export function FilePage(): ReactNode {
  const { id = "", part: asked = "" }: { id?: string; part?: string } = useParams({ strict: false });
  const search: { v?: string; against?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const part = parts.find((each) => each === asked) ?? "";
  const file = useRead(ops.readFile, { id });
  const history = useRead(ops.viewHistory, { id, limit: 1 });
  const [isEditing, setEditing] = useState(false);
  const hasDraft = useFileEdit(id, file.data).changed.length > 0;
  const saysRead = useSaidOnce("read-is-recorded", file.data !== undefined);
  const newest = file.data?.version ?? 1;
  const v = Math.min(newest, Math.max(1, Number(search.v) || newest));
  const against = Number(search.against) || undefined;
  const old = useRead(ops.readVersion, v === newest ? null : { id, version: v });
  const other = useRead(ops.readVersion, against === undefined ? null : { id, version: against });
  const show = (next: { v?: number; against?: number }): void =>
    void navigate({
      to: `/knowledge/${id}`,
      search: {
        v: next.v === undefined || next.v === newest ? "" : String(next.v),
        against: next.against === undefined ? "" : String(next.against),
      },
      replace: true,
    });
  useKeys({
    "[": () => show({ v: Math.max(1, v - 1) }),
    "]": () => show({ v: Math.min(newest, v + 1) }),
    d: () => show({ v, ...(against === undefined && v > 1 && { against: v - 1 }) }),
    Escape: () => void navigate({ to: "/knowledge" }),
  });
  const shownText: FileText | undefined = v === newest ? file.data : old.data;
  return (
    <Page
      title={file.data?.description ?? "File"}
      crumbs={[{ text: "Knowledge", to: "/knowledge" }]}
      quoted
      actions={
        file.data?.encoding === "utf8" && v === newest && part === "" ? (
          <Button onClick={() => setEditing(!isEditing)}>{texts.edit(isEditing, hasDraft)}</Button>
        ) : undefined
      }
    >
      <Tabs
        label="About this file"
        tabs={parts.map((each) => ({
          to: each === "" ? `/knowledge/${id}` : `/knowledge/${id}/${each}`,
          text: texts.pageWords[each],
          isOpen: each === part,
        }))}
      />
      <div className="work" tabIndex={-1}>
        <div className="work-inner">
          {file.refused?.code === "gone" ? (
            <GoneFile id={id} refused={file.refused} />
          ) : (
            <Loaded of={file}>
              {(data) => (
                <>
                  <header className="sentence">
                    <h1>
                      <Line text={data.description} />
                    </h1>
                    <div className="sub">
                      <span>
                        version {v} of {newest}
                      </span>
                      <span>{figure(data.size)} bytes</span>
                      {history.data?.versions[0] && (
                        <span>
                          changed <When at={history.data.versions[0].at} said />
                        </span>
                      )}
                      {saysRead && <span className="quiet">{texts.readIsRecorded}</span>}
                    </div>
                  </header>
                  {part === "history" && <HistoryPart id={id} newest={newest} />}
                  {part === "links" && <LinksPart id={id} />}
                  {part === "access" && <AccessPart id={id} />}
                  {part === "" && isEditing && <Editor file={data} onDone={() => setEditing(false)} />}
                  {part === "" && !isEditing && (
                    <>
                      {newest > 1 && <Versions newest={newest} v={v} against={against} show={show} />}
                      <section className="box">
                        <div className="pad">
                          {shownText === undefined ? (
                            <p className="quiet">Loading version {v}…</p>
                          ) : against !== undefined && other.data !== undefined ? (
                            <TextDiff before={other.data.content} after={shownText.content} />
                          ) : (
                            <FileBody of={shownText} />
                          )}
                        </div>
                      </section>
                      <div className="buttons">
                        <AskWhy
                          about={id}
                          danger
                          optional
                          text="Delete"
                          title="Delete this file?"
                          says="Agents can't read it any more. Its versions and its record stay."
                          operation={ops.deleteFile}
                          input={(reason) => ({ id, ...(reason !== undefined && { reason }) })}
                          done="Deleted."
                          onDone={() => void navigate({ to: "/knowledge" })}
                        />
                      </div>
                    </>
                  )}
                </>
              )}
            </Loaded>
          )}
        </div>
      </div>
    </Page>
  );
}

function FileBody({ of }: { of: FileText }): ReactNode {
  if (of.encoding !== "utf8")
    return (
      <div className="form">
        <p>{texts.binary(of.mediaType, figure(of.size))}</p>
        <div className="buttons">
          <Button icon="file" onClick={() => download(of)}>
            {texts.downloadIt}
          </Button>
        </div>
      </div>
    );
  if (of.mediaType === "text/markdown" || of.mediaType === "text/plain")
    return <Markdown text={of.content} />;
  return <WholeText key={of.version} text={of.content} />;
}

function Versions({
  newest,
  v,
  against,
  show,
}: {
  newest: number;
  v: number;
  against: number | undefined;
  show: (next: { v?: number; against?: number }) => void;
}): ReactNode {
  const all = Array.from({ length: newest }, (_, at) => newest - at);
  return (
    <div className="buttons versions" title={texts.versionKeys}>
      <label className="check">
        Version
        <select className="input" value={v} onChange={({ target }) => show({ v: Number(target.value) })}>
          {all.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label className="check">
        compared with
        <select
          className="input"
          value={against ?? ""}
          onChange={({ target }) =>
            show({ v, ...(target.value !== "" && { against: Number(target.value) }) })
          }
        >
          <option value="">none</option>
          {all
            .filter((each) => each !== v)
            .map((each) => (
              <option key={each}>{each}</option>
            ))}
        </select>
      </label>
    </div>
  );
}
