// The organization in which the rows of the walk are called.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mirrors } from "../src/repos/mirrors.ts";
import { createKey } from "../src/contract/agents.ts";
import type { Store } from "../src/store/store.ts";
import { createOrganization } from "../src/testing/organization.ts";
import type { World } from "./walk-row.ts";

export async function createWorld(store: Store, mirrors?: Mirrors): Promise<World> {
  const org = await createOrganization(store, mirrors === undefined ? {} : { mirrors });
  const boss = await org.agent("Chief");
  const report = await org.agent("Report", boss.id);
  const stranger = await org.agent("Stranger");
  const { key: root } = await org.board(createKey, { id: org.rootId });
  const sitter = (await org.agent("Sitter")).id;
  const workspace = mkdtempSync(join(tmpdir(), "agency-workspace-"));
  process.once("exit", () => rmSync(workspace, { recursive: true, force: true }));
  const session = await org.session(sitter, workspace);
  let names = 0;
  return {
    org,
    boss,
    report,
    sitter,
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
