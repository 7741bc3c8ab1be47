import type { ReactNode } from "react";
import { AgentName } from "../../ui/agent-name.tsx";
import { Line } from "../../ui/words.tsx";
import { partyNameOf, type Party } from "./message.ts";

/** The sender or recipient of a message. */
export function PartyName({ of }: { of: Party }): ReactNode {
  return of.kind === "agent" ? (
    <AgentName of={{ id: of.id, name: of.name }} tile={null} isLink={false} />
  ) : (
    <Line text={partyNameOf(of)} />
  );
}
