import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Choice } from "../../ui/buttons.tsx";
import { FindField } from "../../ui/filter-fields.tsx";
import { counted } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Age } from "../../ui/time.tsx";
import { Line, Name } from "../../ui/words.tsx";
import { withoutIds } from "../../ui/without-ids.ts";
import * as texts from "./texts.ts";
import "../../ui/work.css";
import "./knowledge.css";

const kinds = ["file", "result", "message", "log", "state", "outcome", "skill"] as const;
type ListedFile = Answer<typeof ops.searchFiles>["files"][number];

/** Finds a document. Files come first; other kinds are one click away. */
export function KnowledgePage(): ReactNode {
  const { company } = useHere();
  const navigate = useNavigate();
  const search: { q?: string; kind?: string } = useSearch({ strict: false });
  const kind = kinds.find((each) => each === search.kind) ?? "file";
  const query = (search.q ?? "").trim();
  const companyId = company.id;
  const list = useList(
    ops.listFiles,
    "files",
    query === "" ? { companyId, kind, order: "newest" as const } : null,
  );
  const found = useRead(ops.searchFiles, query === "" ? null : { companyId, query, kind, limit: 50 }, {
    keep: true,
  });
  const change = (part: { q?: string; kind?: string }): void =>
    void navigate({ to: "/knowledge", search: (now: object) => ({ ...now, ...part }), replace: true });
  return (
    <Page
      title="Knowledge"
      heading
      actions={
        <AskFor
          text="Add a file"
          title="Add a knowledge file"
          fields={[
            { name: "description", label: "What it contains", hint: "Others find it by this." },
            { name: "content", label: "Text, as Markdown", long: true },
          ]}
          operation={ops.createFile}
          input={(values) => ({
            companyId,
            description: values["description"] ?? "",
            content: values["content"] ?? "",
          })}
          done="The file is added."
          onDone={({ id }) => void navigate({ to: `/knowledge/${id}` })}
        />
      }
    >
      <div className="toolbar" role="search">
        {/* Each search is recorded, with every file that it finds. So a search waits until the word is typed. */}
        <FindField
          label="Search in files"
          value={search.q ?? ""}
          rest={300}
          onChange={(q) => change({ q })}
        />
        <div className="scroll-x">
          <Choice
            label="Kind"
            value={kind}
            options={kinds.map((value) => ({ value, text: texts.fileKindWords[value] }))}
            onChange={(value) => change({ kind: value === "file" ? "" : value })}
          />
        </div>
      </div>
      {query === "" ? (
        <Loaded of={list}>
          {({ files, count }) => (
            <Files
              files={files.map((one) => ({ ...one, excerpt: "" }))}
              empty={kind === "file" ? texts.noFiles : texts.noneOfKind(texts.fileKindWords[kind])}
              hint={kind === "file" ? texts.noFilesHint : texts.kindHints[kind]}
              note={count === undefined ? "" : counted(count, "file")}
              first={<BrokenLinks companyId={companyId} />}
              end={list.more}
            />
          )}
        </Loaded>
      ) : (
        <Loaded of={found}>
          {({ files, truncated }) => (
            <Files
              files={files}
              empty={texts.nothingFound(texts.fileKindWords[kind], query)}
              hint={texts.otherKinds}
              note={truncated ? texts.firstOfMany(files.length) : counted(files.length, "file")}
            />
          )}
        </Loaded>
      )}
    </Page>
  );
}

function Files({
  files,
  empty,
  hint,
  note,
  first,
  end,
}: {
  files: readonly ListedFile[];
  empty: string;
  hint: string;
  note: string;
  /** Shown before the files. */
  first?: ReactNode;
  /** Shown after the files. */
  end?: ReactNode;
}): ReactNode {
  const ref = useRowKeys("a.file-row");
  if (files.length === 0)
    return (
      <div className="work-inner">
        <Empty title={empty}>
          <p>{hint}</p>
        </Empty>
      </div>
    );
  return (
    <div className="work" ref={ref}>
      <div className="work-inner wide listed">
        {first}
        <p className="lab">{note}</p>
        <ul className="files">
          {files.map(({ id, description, version, updatedAt, excerpt }) => (
            <li key={id}>
              <Link to={`/knowledge/${id}`} className="file-row">
                <Icon name="file" />
                <span className="min-w-0">
                  <span className="t cut">
                    <Line text={description} />
                  </span>
                  {excerpt !== "" && (
                    <span className="excerpt">
                      <Line text={withoutIds(excerpt)} />
                    </span>
                  )}
                </span>
                <span className="quiet">
                  version {version}, <Age since={updatedAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
        {end}
      </div>
    </div>
  );
}

/** Links to missing files, with the files to fix. */
function BrokenLinks({ companyId }: { companyId: string }): ReactNode {
  const { data, more } = useList(ops.listBrokenLinks, "links", { companyId });
  if (data === undefined || data.links.length === 0) return null;
  const { links, nextCursor } = data;
  return (
    <details className="box broken-links">
      <summary>
        <Icon name="link" /> {texts.brokenLinks(counted(links.length, "broken link"), nextCursor !== null)}
      </summary>
      <ul className="lines">
        {links.map(({ from, to, description, deleted }) => (
          <li key={`${from} ${to}`}>
            <Name of={{ kind: "file", id: from, title: description }} />
            <span className="quiet">
              {deleted === null ? (
                texts.linksNowhere
              ) : (
                <>
                  {texts.linksToDeleted} <Name of={{ kind: "file", id: to, title: deleted }} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {more}
    </details>
  );
}
