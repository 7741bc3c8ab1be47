import { randomUUID } from "node:crypto";
import { insertRepo } from "../repos/table.ts";
import type { Store } from "../store/store.ts";

/** Gives a company a repository without a mirror, for tests of rights to it. */
export async function plantRepo(store: Store, companyId: string, name: string): Promise<void> {
  await store.write(async (tx) => {
    await tx.lock(companyId);
    const url = "/nowhere.git";
    await tx.run(insertRepo, {
      company_id: companyId,
      name,
      id: randomUUID(),
      url,
      secret: null,
      private_network: 0,
      default_branch: "main",
      created_at: tx.now,
    });
  });
}
