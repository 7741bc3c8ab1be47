import { pauseAgent, resumeAgent, revokeKey } from "../../src/contract/agents.ts";
import { revokePermission } from "../../src/contract/capabilities.ts";
import { archiveCompany, unarchiveCompany } from "../../src/contract/companies.ts";
import { updateOutcome } from "../../src/contract/outcomes.ts";
import { updatePerson } from "../../src/contract/people.ts";
import type { Chance } from "../../src/simulator/chance.ts";
import type { Caller, Credential } from "./calling.ts";

interface Thing {
  readonly id: string;
}

/** A change in both worlds, and a caller whose answers change with it. */
export interface Turn {
  readonly concerns: Credential;
  readonly make: () => Promise<unknown>;
}

/** Changes of a right, an agent, a company, a role, a key and a title. Each is made, and undone the next time it is drawn. */
export function turnsOf(scene: {
  readonly board: Caller;
  readonly governing: Credential;
  readonly root: { readonly call: Caller };
  readonly vera: Thing & Credential;
  readonly rex: Thing & Credential;
  readonly otto: Thing & Credential;
  readonly otherId: string;
  readonly spare: Thing & { readonly key: string };
  readonly rested: Thing;
  readonly loan: Thing;
  readonly lend: () => Promise<Thing>;
  readonly seen: () => string;
  readonly wait: (hours: number) => void;
  readonly take: (work: () => Promise<unknown>) => Promise<unknown>;
}): (chance: Chance) => Turn {
  const { board, root, vera, rex, otto, otherId: companyId, spare, rested, lend, seen, wait, take } = scene;
  let { loan } = scene;
  const rename = () => board(updateOutcome, { id: rested.id, title: seen() });
  const pass = async (hours: number) => wait(hours);
  /** A revoked key stays revoked. */
  let revoke = (): Promise<unknown> => {
    revoke = rename;
    return board(revokeKey, { id: vera.id, keyId: spare.id });
  };
  const turns: { concerns: Credential; make: (() => Promise<unknown>)[] }[] = [
    {
      concerns: vera,
      make: [() => root.call(revokePermission, { id: loan.id }), async () => (loan = await lend())],
    },
    {
      concerns: rex,
      make: [() => board(pauseAgent, { id: rex.id }), () => board(resumeAgent, { id: rex.id })],
    },
    {
      concerns: scene.governing,
      make: [() => board(archiveCompany, { companyId }), () => board(unarchiveCompany, { companyId })],
    },
    {
      concerns: otto,
      make: [
        () => board(updatePerson, { id: otto.id, role: "member" }),
        () => board(updatePerson, { id: otto.id, role: "viewer" }),
      ],
    },
    { concerns: { token: spare.key }, make: [() => revoke(), rename] },
    { concerns: scene.governing, make: [() => pass(2), () => pass(30)] },
    { concerns: scene.governing, make: [rename, rename] },
  ];
  const done = new Set<unknown>();
  return (chance) => {
    const { concerns, make } = chance.pick(turns) ?? { concerns: vera, make: [] };
    const [first, second] = make;
    const isDone = done.delete(make);
    if (!isDone) done.add(make);
    const { token } = concerns;
    return { concerns: { token }, make: () => take((isDone ? second : first) ?? rename) };
  };
}
