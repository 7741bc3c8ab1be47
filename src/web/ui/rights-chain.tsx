import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import type { Answer } from "../data/operations.ts";
import { useRead } from "../data/reading.ts";
import { Loaded } from "./states.tsx";
import { Line } from "./words.tsx";
import "./rights-chain.css";

/** The chain of a right, grant by grant from the board to its holder. */
export function RightsChain({
  chain,
}: {
  chain: readonly {
    readonly grant: string;
    readonly from: string;
    readonly to: string;
    readonly level: string;
    readonly scope?: { readonly title: string | null };
    readonly broken: string | null;
  }[];
}): ReactNode {
  return (
    <ol>
      {chain.map(({ grant, from, to, level, scope, broken }) => (
        <li key={grant}>
          {from === to ? (
            <>
              <b>
                <Line text={to} />
              </b>{" "}
              created it:{" "}
            </>
          ) : (
            <>
              <b>
                <Line text={from} />
              </b>{" "}
              gave{" "}
              <b>
                <Line text={to} />
              </b>{" "}
            </>
          )}
          {level}
          {scope?.title != null && (
            <>
              {" "}
              for <Line text={`“${scope.title}”`} />
            </>
          )}
          {broken !== null && (
            <span className="broken">
              {" "}
              <Line text={broken} />
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

type Given = Answer<typeof ops.listAgentGrants>["grants"][number];

/** The reason why an agent has a right, looked up on demand. */
export function Explained({
  agent,
  resource,
  level,
}: Pick<Given, "resource" | "level"> & { agent: string }): ReactNode {
  const answer = useRead(ops.explainAccess, { agent, resource, level });
  return (
    <div className="chain-box">
      <Loaded of={answer} rows={2}>
        {({ because, chain }) => (
          <>
            <p>
              <Line text={because} />
            </p>
            <RightsChain chain={chain} />
          </>
        )}
      </Loaded>
    </div>
  );
}
