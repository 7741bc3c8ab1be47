import { Link, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { useRead } from "../../data/reading.ts";
import { AskFor } from "../../ui/ask-for.tsx";
import { Box, Lines } from "../../ui/box.tsx";
import { Button } from "../../ui/buttons.tsx";
import { counted } from "../../ui/figures.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Loaded, Refusal } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line, Said } from "../../ui/words.tsx";
import { BranchDiff } from "./branch-diff.tsx";
import * as texts from "./texts.ts";

type Repo = Answer<typeof ops.listRepos>["repos"][number];

/** The repositories that agents clone from, and the branches that they published. */
export function Repos(): ReactNode {
  const { company } = useHere();
  const companyId = company.id;
  const { repo, branch }: { repo?: string; branch?: string } = useSearch({ strict: false });
  const list = useRead(ops.listRepos, { companyId });
  if (repo && branch) return <BranchDiff repo={repo} branch={branch} />;
  return (
    <>
      <Box
        title="Repositories"
        end={
          <AskFor
            text="Add"
            title="Add a repository"
            says={texts.addRepoSays}
            fields={[
              { name: "name", label: "Name" },
              { name: "url", label: "URL", hint: texts.repoUrlHint },
              { name: "secret", label: "Secret for the login", hint: texts.repoSecretHint, optional: true },
              texts.privateNetwork,
            ]}
            operation={ops.addRepo}
            input={({ name = "", url = "", secret = "", privateNetwork = "" }) => ({
              companyId,
              name,
              url,
              ...(secret !== "" && { secret }),
              ...(privateNetwork !== "" && { privateNetwork: true }),
            })}
            done="The repository was added."
          />
        }
      >
        <Loaded of={list}>
          {({ repos }) => (
            <Lines
              of={repos}
              none={
                <Empty title={texts.noRepos}>
                  <p>{texts.noReposHint}</p>
                </Empty>
              }
            >
              {(each) => <RepoLine key={each.name} of={each} />}
            </Lines>
          )}
        </Loaded>
      </Box>
      {list.data?.repos.map((each) => (
        <Branches key={each.name} of={each} />
      ))}
    </>
  );
}

function RepoLine({ of }: { of: Repo }): ReactNode {
  const { company, cantDecide } = useHere();
  const companyId = company.id;
  const { name } = of;
  const fetching = useDo(ops.fetchRepo);
  return (
    <li className="server">
      <Icon name="link" />
      <div className="min-w-0">
        <b>
          <Line text={name} />
        </b>{" "}
        <span className={`tag ${of.trouble === null ? "run" : "stop"}`}>
          {of.trouble === null ? "works" : "fails"}
        </span>
        <p className="cut quiet mono">
          <Line text={of.url} />
        </p>
        <p className="quiet">
          {of.defaultBranch === null ? texts.emptyRepo : <Line text={`Default branch ${of.defaultBranch}`} />}
          {of.secret !== null && <Line text={`, login from the secret ${of.secret}`} />}
          {of.privateNetwork && texts.mayBePrivate}
          {of.fetchedAt !== null && (
            <>
              , fetched <When at={of.fetchedAt} />
            </>
          )}
        </p>
        {of.trouble !== null && (
          <p>
            <Said text={of.trouble} most={400} />
          </p>
        )}
        <Refusal of={fetching.refused} />
      </div>
      <span className="end">
        <Button
          because={cantDecide}
          disabled={fetching.isBusy}
          onClick={() => void fetching.run({ companyId, name })}
        >
          {fetching.isBusy ? "Fetching…" : "Fetch"}
        </Button>
        <AskFor
          danger
          text="Remove"
          title={`Remove ${name}?`}
          says={texts.removeRepoSays}
          operation={ops.removeRepo}
          input={() => ({ companyId, name })}
          done="Removed."
        />
      </span>
    </li>
  );
}

function Branches({ of }: { of: Repo }): ReactNode {
  const { company } = useHere();
  if (of.published.length === 0 && of.unpublished.length === 0) return null;
  return (
    <Box title={<Line text={`Branches of ${of.name}`} />}>
      <ul className="lines">
        {of.published.map(({ branch, by, commits, publishedAt, pushedTo }) => (
          <li key={branch}>
            <Link
              className="name mono"
              to="/settings/repos"
              search={{ repo: of.name, branch }}
              aria-label={`What ${branch} changes`}
            >
              <Line text={branch} />
            </Link>
            <AgentName of={by} />
            <span className="end">
              {counted(commits, "commit")}
              {pushedTo !== null && (
                <span className="tag run">
                  <Line text={`pushed to ${pushedTo}`} />
                </span>
              )}
              <When at={publishedAt} />
            </span>
          </li>
        ))}
        {of.unpublished.map(({ id, branch, by, commits, at, session }) => (
          <li key={id}>
            <span className="mono cut">
              <Line text={branch} />
            </span>
            <AgentName of={by} />
            <span className="tag hold">not published</span>
            <span className="end">
              {counted(commits, "commit")}
              <Link className="linked" to={`/sessions/${session}`}>
                session
              </Link>
              <When at={at} />
              <AskFor
                danger
                text="Discard"
                title="Discard these commits?"
                says={texts.discardSays}
                operation={ops.discardUnpublished}
                input={() => ({ companyId: company.id, name: of.name, id })}
                done="Discarded."
              />
            </span>
          </li>
        ))}
      </ul>
    </Box>
  );
}
