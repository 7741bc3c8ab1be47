import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { money } from "../../ui/figures.tsx";
import { Tile } from "../../ui/tile.tsx";
import { Line, Name } from "../../ui/words.tsx";
import type { Request } from "../../ui/request.ts";

/** The requester, and the results of its earlier requests and work. */
export function Requester({ request }: { request: Request }): ReactNode {
  const { company } = useHere();
  const id = request.requestedBy?.id ?? null;
  const agent = useRead(ops.viewAgent, id === null ? null : { id }).data;
  const asked = useAll(
    ops.listApprovals,
    "approvals",
    id === null ? null : { companyId: company.id, agent: id },
  );
  if (agent === undefined) return null;
  const own = asked.filter(
    ({ requestedBy, id: other, createdAt }) =>
      requestedBy?.id === id && other !== request.id && createdAt < request.createdAt,
  );
  const said =
    own.length === 0
      ? "none"
      : `${own.filter(({ status }) => status === "approved").length} of ${own.length} approved`;
  const reviews = agent.reviews;
  return (
    <section className="whocard">
      <h2>Who asks</h2>
      <div className="top">
        <Tile id={agent.id} name={agent.name} />
        <div className="min-w-0">
          <Name of={{ kind: "agent", id: agent.id, title: agent.name }} />
          <div className="lab">
            <Line text={agent.role} />
            {agent.boss !== null && (
              <>
                , reports to <Line text={agent.boss.name} />
              </>
            )}
          </div>
        </div>
      </div>
      <dl className="num">
        <dt>Earlier requests</dt>
        <dd>{said}</dd>
        {reviews !== null && reviews.pass + reviews.rework > 0 && (
          <>
            <dt>Work accepted at once</dt>
            <dd>
              {reviews.pass} of {reviews.pass + reviews.rework}
            </dd>
          </>
        )}
        {agent.cost !== null && (
          <>
            <dt>Spent this month</dt>
            <dd>{money(agent.cost.total.costUsd)}</dd>
          </>
        )}
      </dl>
    </section>
  );
}
