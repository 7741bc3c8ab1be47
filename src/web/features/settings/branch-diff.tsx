import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { ops } from "virtual:operations";
import { shown } from "../../../contract/visible-text.ts";
import { useHere } from "../../data/company.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { counted } from "../../ui/figures.tsx";
import { useKeys } from "../../ui/keys.ts";
import { Quote } from "../../ui/quote.tsx";
import { Loaded } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Name } from "../../ui/words.tsx";
import * as texts from "./texts.ts";
import { filesOfDiff } from "./unified-diff.ts";

/** The changes of a published branch, commit by commit and file by file, and the push that brings it to the origin. */
export function BranchDiff({ repo, branch }: { repo: string; branch: string }): ReactNode {
  const { company } = useHere();
  const navigate = useNavigate();
  const companyId = company.id;
  const diff = useRead(ops.viewDiff, { companyId, repo, branch });
  useKeys({ Escape: () => void navigate({ to: "/settings/repos" }) });
  return (
    <>
      <p className="above">
        <Link className="linked" to="/settings/repos">
          Repositories
        </Link>
      </p>
      <Loaded of={diff}>
        {(data) => (
          <>
            <header className="sentence">
              <h2 className="mono branch-name">
                <Line text={data.branch} />
              </h2>
              <div className="sub">
                <AgentName of={data.by} />
                <span>
                  published <When at={data.publishedAt} />
                </span>
                <span>
                  {counted(data.commits, "commit")}, {counted(data.files.length, "file")}
                </span>
                <Name of={{ kind: "file", id: data.file, title: "Summary and test output" }} />
                {data.pushedTo !== null && (
                  <span className="tag run">
                    <Line text={`pushed to ${data.pushedTo}`} />
                  </span>
                )}
              </div>
            </header>
            <Quote
              title="The changes and their reason"
              by={{ id: data.by.id, name: data.by.name }}
              text={data.message}
            />
            <div className="buttons branch-actions">
              <AskFor
                look="solid"
                text="Push"
                title={`Push to the origin of ${repo}?`}
                says={texts.pushSays}
                fields={[
                  { name: "onto", label: "Branch at the origin", optional: true, hint: texts.pushOntoHint },
                ]}
                operation={ops.pushBranch}
                input={({ onto = "" }) => ({ companyId, repo, branch, ...(onto !== "" && { onto }) })}
                done="Pushed."
              />
            </div>
            <section className="box">
              <header>
                <h3>Commits</h3>
              </header>
              <ul className="lines">
                {data.log.map(({ commit, author, at, subject }) => (
                  <li key={commit}>
                    <code>{commit.slice(0, 10)}</code>
                    <span className="cut">
                      <Line text={subject} />
                    </span>
                    <span className="end">
                      <Line text={author} />
                      <When at={at} />
                    </span>
                  </li>
                ))}
              </ul>
            </section>
            <Changes diff={data.diff} files={data.files} />
            {data.truncated && <p className="quiet">{texts.diffIsCut}</p>}
          </>
        )}
      </Loaded>
    </>
  );
}

function Changes({
  diff,
  files,
}: {
  diff: string;
  files: readonly {
    readonly path: string;
    readonly added: number | null;
    readonly removed: number | null;
  }[];
}): ReactNode {
  const parts = useMemo(() => filesOfDiff(diff), [diff]);
  return parts.map(({ path, lines }, at) => {
    const of = files.find((each) => each.path === path);
    return (
      <section key={`${path} ${at}`} className="box">
        <header>
          <h3 className="mono cut">
            <Line text={path} />
          </h3>
          {of !== undefined && (
            <span className="end">
              {of.added === null ? texts.notText : `+${of.added} −${of.removed ?? 0}`}
            </span>
          )}
        </header>
        <pre className="text-diff" tabIndex={0} aria-label={`Changes of ${shown(path)}`}>
          {lines.map(({ kind, text }, line) =>
            kind === "added" ? (
              <ins key={line}>{shown(text)}</ins>
            ) : kind === "removed" ? (
              <del key={line}>{shown(text)}</del>
            ) : (
              <span key={line} className={kind === "place" ? "place" : undefined}>
                {shown(text)}
              </span>
            ),
          )}
        </pre>
      </section>
    );
  });
}
