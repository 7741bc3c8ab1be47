import type { ReactNode } from "react";
import { Line } from "./words.tsx";

/** How a right came to its holder, grant by grant from the board down. */
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
