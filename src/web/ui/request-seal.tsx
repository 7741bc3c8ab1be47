import type { ReactNode } from "react";
import { Icon } from "./icons.tsx";
import type { Request } from "./request.ts";
import * as texts from "./request-texts.ts";

/** The exact subject of the decision: the revision and its hash. */
export function Seal({ request: { revision, payloadHash } }: { request: Request }): ReactNode {
  return (
    <div className="seal">
      <Icon name="lock" />
      <span>
        {texts.decidedRevision(revision)} <span className="mono">{hashWords(payloadHash)}</span>.{" "}
        {texts.sealRest}
      </span>
    </div>
  );
}

const hashWords = (hash: string): string => (hash.slice(0, 12).match(/.{4}/g) ?? []).join(" ");
