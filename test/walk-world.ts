// The organization in which the rows of the walk are called.
import { createKey } from "../src/contract/agents.ts";
import type { Store } from "../src/store/store.ts";
import { createOrganization } from "../src/testing/organization.ts";
import type { World } from "./walk-row.ts";

export async function createWorld(store: Store): Promise<World> {
  const org = await createOrganization(store);
  const boss = await org.agent("Chief");
  const report = await org.agent("Report", boss.id);
  const stranger = await org.agent("Stranger");
  const { key: root } = await org.board(createKey, { id: org.rootId });
  const session = await org.session((await org.agent("Sitter")).id);
  let names = 0;
  return {
    org,
    boss,
    report,
    tokens: {
      board: org.boardToken,
      root,
      boss: boss.token,
      report: report.token,
      stranger: stranger.token,
      session: session.token,
    },
    name: () => `Name ${++names}`,
  };
}
