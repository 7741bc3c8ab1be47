import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { Box } from "../../ui/box.tsx";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import { useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { useKeys } from "../../ui/keys.ts";
import { LoadedList, useList } from "../../ui/more-rows.tsx";
import { useRowKeys } from "../../ui/move-focus.ts";
import { Page } from "../../ui/page.tsx";
import { PlanWords } from "../../ui/plan-words.tsx";
import { Empty, Loaded, Refusal } from "../../ui/states.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { toast } from "../../ui/toast.tsx";
import { When } from "../../ui/time.tsx";
import { Line } from "../../ui/words.tsx";
import * as texts from "./texts.ts";
import "./organization.css";
import "../../ui/agent-panel.css";
import "../../ui/work.css";

/**
 * Every change of the reporting lines, newest first, with its moves. A change can be undone while nothing that it moved has
 * changed.
 */
export function ReorganizationsPage(): ReactNode {
  const { company } = useHere();
  const navigate = useNavigate();
  const { id }: { id?: string } = useParams({ strict: false });
  const list = useList(ops.listReorganizations, "reorganizations", { companyId: company.id });
  const rows = useRowKeys("a.row");
  useKeys({ Escape: () => void navigate({ to: id === undefined ? "/org" : "/reorganizations" }) });
  return (
    <Page title="Reorganizations" heading crumbs={[{ text: "Organization", to: "/org" }]}>
      <div className="scroll">
        <div className="inner" ref={rows}>
          {id !== undefined && <One key={id} id={id} />}
          <LoadedList of={list}>
            {({ reorganizations }) =>
              reorganizations.length === 0 ? (
                <Empty title={texts.noReorganizations}>
                  <p>{texts.noReorganizationsHint}</p>
                </Empty>
              ) : (
                <ul>
                  {reorganizations.map((each) => (
                    <li key={each.id}>
                      <Link
                        className="row"
                        to={`/reorganizations/${each.id}`}
                        aria-current={each.id === id ? "true" : undefined}
                      >
                        <StatusMark mark={each.status === "undone" ? "closed" : "done"} label={each.status} />
                        <div className="min-w-0">
                          <div className="title cut">
                            <Line text={each.summary} />
                          </div>
                          <div className="meta">
                            <Line text={each.appliedBy?.name ?? "The board"} />
                            {each.status === "undone" && <span className="tag">undone</span>}
                          </div>
                        </div>
                        <div className="end">
                          <span className="age">
                            <When at={each.appliedAt} />
                          </span>
                        </div>
                      </Link>
                    </li>
                  ))}
                </ul>
              )
            }
          </LoadedList>
        </div>
      </div>
    </Page>
  );
}

function One({ id }: { id: string }): ReactNode {
  const { cantDecide } = useHere();
  const one = useRead(ops.viewReorganization, { id });
  const undo = useDo(ops.undoReorganization);
  return (
    <Loaded of={one} rows={3}>
      {(data) => (
        <Box title={<Line text={data.summary} />} label="What it moved">
          <div className="pad form plan-words">
            <PlanWords plan={data} most={12} />
            <Refusal of={undo.refused} />
            {data.status === "applied" && (
              <div className="buttons">
                <Button
                  icon="undo"
                  because={cantDecide ?? data.undoable.reason ?? undefined}
                  disabled={undo.isBusy}
                  onClick={() =>
                    void undo.run({ id }).then((done) => done && toast("The organization is as before."))
                  }
                >
                  Undo
                </Button>
                <span className="lab">
                  {data.undoable.possible ? texts.canUndo : <Line text={data.undoable.reason ?? ""} />}
                </span>
              </div>
            )}
          </div>
        </Box>
      )}
    </Loaded>
  );
}
