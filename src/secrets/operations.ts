import * as contract from "../contract/secrets.ts";
import { notFound } from "../contract/refusal.ts";
import { guarded, type Guarded } from "../dispatch/guarded.ts";
import type { ReadTx } from "../store/store.ts";
import type { SecretStore } from "./secrets.ts";

/** Lets the board set, list and remove secrets. */
export const secretHandlers = (secrets: SecretStore): Guarded[] => {
  const named = async (tx: ReadTx, companyId: string, name: string): Promise<contract.Secret> => {
    const found = (await secrets.list(tx, companyId)).find((one) => one.name === name);
    if (found === undefined) throw notFound("secret", name);
    return found;
  };
  return [
    guarded(contract.setSecret, async (call) => {
      const { tx, companyId, input } = call;
      await secrets.put(call, input.name, input.value);
      await call.record(null, { name: input.name, kept: secrets.kept });
      return named(tx, companyId, input.name);
    }),
    guarded(contract.listSecrets, async ({ tx, companyId }) => ({
      secrets: await secrets.list(tx, companyId),
      nextCursor: null,
    })),
    guarded(contract.removeSecret, async (call) => {
      const found = await named(call.tx, call.companyId, call.input.name);
      await secrets.remove(call, found.name);
      await call.record(null, { name: found.name });
      return { ...found, status: found.kept === "given" ? ("available" as const) : ("missing" as const) };
    }),
  ];
};
