import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../../data/company.ts";
import { useDo } from "../../data/doing.ts";
import type { Answer } from "../../data/operations.ts";
import { useAll, useRead } from "../../data/reading.ts";
import { Button } from "../../ui/buttons.tsx";
import { Icon } from "../../ui/icons.tsx";
import { useList } from "../../ui/more-rows.tsx";
import { ResourceWords } from "../../ui/resource.tsx";
import { Popover } from "../../ui/popover.tsx";
import { Explained } from "../../ui/rights-chain.tsx";
import { Empty, Loaded, Refusal } from "../../ui/states.tsx";
import { When } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { Line } from "../../ui/words.tsx";
import { GrantRight } from "./grant-right.tsx";
import * as texts from "./texts.ts";

/** The agent's rights: granted ones, each with its chain, and those of its position. */
export function AgentRights({ id }: { id: string }): ReactNode {
  const { company, cantDecide: cantNow } = useHere();
  const agent = useRead(ops.viewAgent, { id }).data;
  const rights = useList(ops.listAgentGrants, "grants", { id, stands: true });
  const past = useList(ops.listAgentGrants, "grants", { id, stands: false }, 20);
  const asked = useAll(ops.listPermissionRequests, "requests", { companyId: company.id });
  const mine = asked.filter((request) => request.agent.id === id);
  const grant = useDo(ops.grantPermission);
  const allow = useDo(ops.setPermissions);
  const revoke = useDo(ops.revokePermission);
  const cantDecide = agent?.status === "terminated" ? texts.agentHasLeft : cantNow;
  const rowOf = (grant: Grant): ReactNode => (
    <GrantRow
      key={grant.id}
      agent={id}
      grant={grant}
      because={cantDecide}
      onRevoke={() =>
        void revoke.run({ id: grant.id }).then((done) => done && toast("The right is revoked."))
      }
    />
  );
  const can = agent?.permissions?.canCreateAgents === true;
  return (
    <>
      <label className="box toggle">
        <span>
          <b>Can create new agents</b>
          <small>The agent may hire, within its budget and the company's limits.</small>
        </span>
        <input
          type="checkbox"
          role="switch"
          checked={can}
          disabled={cantDecide !== undefined}
          title={cantDecide}
          // If the switch were disabled meanwhile, it would lose the focus.
          onChange={({ target }) => !allow.isBusy && void allow.run({ id, canCreateAgents: target.checked })}
        />
      </label>
      <Refusal of={allow.refused ?? revoke.refused ?? grant.refused} />
      {mine.length > 0 && (
        <section className="sec">
          <h3>Asked for</h3>
          <ul className="plain-list">
            {mine.map(({ id: request, resource, level, reason }) => (
              <li key={request}>
                <Icon name="key" />
                <span className="wide cut">
                  {level} <ResourceWords resource={resource} />{" "}
                  <span className="lab">
                    <Line text={reason} />
                  </span>
                </span>
                <Button
                  because={cantDecide}
                  disabled={grant.isBusy}
                  onClick={() =>
                    void grant
                      .run({ companyId: company.id, to: id, resource, level })
                      .then((done) => done && toast("The right is granted."))
                  }
                >
                  Grant
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Loaded of={rights}>
        {({ grants, structural }) => (
          <>
            <section className="sec">
              <h3>
                Granted
                {agent !== undefined && agent.status !== "terminated" && (
                  <span className="r">
                    <GrantRight id={id} name={agent.name} />
                  </span>
                )}
              </h3>
              <ul className="plain-list">
                {grants.map(rowOf)}
                {grants.length === 0 && rights.more === false && (
                  <li className="dim">No right is granted now.</li>
                )}
              </ul>
              {rights.more}
            </section>
            <section className="sec">
              <h3>
                From its position <span className="r">as the agent is told</span>
              </h3>
              <ul className="plain-list">
                {structural.map(({ resource, levels, because, references }, at) => (
                  <li key={`${resource} ${at}`}>
                    <Icon name="org" />
                    <span className="wide cut">
                      {levels.join(", ")} <ResourceWords resource={resource} known={references} />{" "}
                      <span className="lab">
                        <Line text={because} />
                      </span>
                    </span>
                  </li>
                ))}
                {structural.length === 0 && <Empty title="Its position gives it no rights." />}
              </ul>
            </section>
            {past.data !== undefined && past.data.grants.length > 0 && (
              <section className="sec">
                <h3>Not in force</h3>
                <ul className="plain-list">{past.data.grants.map(rowOf)}</ul>
                {past.more}
              </section>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

type Grant = Answer<typeof ops.listAgentGrants>["grants"][number];

function GrantRow({
  agent,
  grant: { resource, level, by, scope, revokedAt },
  because,
  onRevoke,
}: {
  agent: string;
  grant: Grant;
  because: string | undefined;
  onRevoke: () => void;
}): ReactNode {
  return (
    <li>
      <Icon name="key" />
      <span className="wide cut">
        {level} <ResourceWords resource={resource} />
        <span className="lab">
          {" "}
          from <Line text={by?.name ?? "the board"} />
          {revokedAt !== null ? (
            <>
              , revoked <When at={revokedAt} said />
            </>
          ) : (
            scope.title !== null && (
              <>
                , ends with <Line text={`“${scope.title}”`} />
              </>
            )
          )}
        </span>
      </span>
      {revokedAt === null && (
        <>
          <Popover className="how more" text="why?">
            {() => <Explained agent={agent} resource={resource} level={level} />}
          </Popover>
          <Button look="ghost danger" because={because} onClick={onRevoke}>
            Revoke
          </Button>
        </>
      )}
    </li>
  );
}
