import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { grantPermission } from "../contract/capabilities.ts";
import { createFile, listFiles, readFile, viewAccessLog, writeFile } from "../contract/knowledge.ts";
import { createOutcome } from "../contract/outcomes.ts";
import { updateCompany } from "../contract/companies.ts";
import { refusal, storeKinds, sharedOrganization } from "../testing/organization.ts";
import { unchanged } from "../../test/digest.ts";

for (const kind of storeKinds)
  describe(`knowledge and the workspace on ${kind}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "agency-session-"));
    const workspace = join(folder, "workspace");
    const { org, store } = await sharedOrganization(kind);
    mkdirSync(workspace);
    writeFileSync(join(folder, "secret"), "a secret of the host");
    const agent = await org.agent("Agent");
    const session = await org.session(agent.id, workspace);
    after(() => rmSync(folder, { recursive: true, force: true }));

    // covers KB-14, KB-22, KB-23
    test("a session writes a file by a path in its workspace, with the bytes of that moment", async () => {
      const bytes = Buffer.from([0, 1, 2, 0xff, 0xfe]);
      writeFileSync(join(workspace, "report.bin"), bytes);
      const file = await session.call(createFile, { description: "by path", path: "report.bin" });
      writeFileSync(join(workspace, "report.bin"), "changed afterwards");
      const read = await session.call(readFile, { id: file.id });
      assert.deepEqual(Buffer.from(read.content, "base64"), bytes);
      const second = await session.call(writeFile, { ...file, path: join(workspace, "report.bin") });
      assert.equal((await agent.call(readFile, { id: second.id })).content, "changed afterwards");
    });

    test("only a session has a workspace, and only its own", async () => {
      const other = await org.agent("Other");
      const elsewhere = join(folder, "elsewhere");
      mkdirSync(elsewhere);
      const others = await org.session(other.id, elsewhere);
      const homeless = await org.agent("Homeless");
      const without = await org.session(homeless.id);
      const path = join(workspace, "report.bin");
      symlinkSync(join(folder, "secret"), join(workspace, "link"));
      await unchanged(store, async () => {
        const create = { description: "stolen", path };
        for (const call of [agent.call, others.call, without.call])
          await refusal(call(createFile, create), "refused");
        await refusal(org.board(createFile, { ...create, companyId: org.companyId }), "refused");
        for (const stolen of ["link", "../secret", join(folder, "secret"), "/proc/self/environ", "missing"])
          await refusal(session.call(createFile, { description: "stolen", path: stolen }), "refused");
        await refusal(session.call(createFile, { ...create, encoding: "utf8" }), "invalid");
        await refusal(session.call(createFile, { ...create, content: "both" }), "invalid");
        for (const call of [agent.call, without.call])
          await refusal(call(listFiles, { materialize: true }), "refused");
      });
    });

    test("the company's limit holds for paths too", async () => {
      writeFileSync(join(workspace, "sized"), "x".repeat(2000));
      await org.board(updateCompany, { companyId: org.companyId, maxFileBytes: 1999 });
      await refusal(session.call(createFile, { description: "sized", path: "sized" }), "too_large");
      await org.board(updateCompany, { companyId: org.companyId, maxFileBytes: 2000 });
      await session.call(createFile, { description: "sized", path: "sized" });
    });

    // covers KB-13, KB-19
    test("materialized files are read-only copies of files that the session may read, and each copy is recorded as a read", async () => {
      const { companyId } = org;
      const readable = await org.board(createFile, { companyId, description: "copied one", content: "one" });
      const known = await org.board(createFile, { companyId, description: "copied two", content: "two" });
      const hidden = await org.board(createFile, {
        companyId,
        description: "copied three",
        content: "three",
      });
      for (const [file, level] of [
        [readable, "read"],
        [known, "none"],
      ] as const)
        await org.board(grantPermission, { companyId, to: agent.id, resource: `kb:${file.id}`, level });
      const { files } = await session.call(listFiles, { query: "copied", materialize: true });
      assert.deepEqual(
        files.map(({ id, path }) => [id, path]),
        [[readable.id, join(workspace, "kb", readable.id)]],
      );
      const copy = join(workspace, "kb", readable.id);
      assert.deepEqual([readFileSync(copy, "utf8"), statSync(copy).mode & 0o777], ["one", 0o444]);
      for (const { id } of [known, hidden]) assert.ok(!existsSync(join(workspace, "kb", id)));
      const [last] = (await org.board(viewAccessLog, { id: readable.id })).accesses;
      assert.deepEqual(
        [last?.action, last?.by.agentId, last?.by.sessionId, last?.version],
        ["knowledge.read", agent.id, session.id, 1],
      );

      // Listing files without copying them does not count as reading. The next copies have the newest version.
      await session.call(listFiles, { query: "copied" });
      await org.board(writeFile, { ...readable, content: "one, changed" });
      await session.call(listFiles, { query: "copied", materialize: true });
      assert.equal(readFileSync(copy, "utf8"), "one, changed");
      const { accesses } = await org.board(viewAccessLog, { id: readable.id });
      assert.deepEqual(
        accesses.filter(({ action }) => action === "knowledge.read").map(({ version }) => version),
        [2, 1],
      );
    });

    test("a page of copies ends after 4 MB, and the next page has the rest", async () => {
      await org.board(updateCompany, { companyId: org.companyId, maxFileBytes: 10_000_000 });
      for (const name of ["one", "two", "three"])
        await session.call(createFile, { description: `bulky ${name}`, content: "x".repeat(2_500_000) });
      const ask = { query: "bulky", materialize: true };
      const first = await session.call(listFiles, ask);
      assert.equal(first.files.length, 2);
      const second = await session.call(listFiles, { ...ask, cursor: first.nextCursor ?? "" });
      assert.deepEqual([second.files.length, second.nextCursor], [1, null]);
      assert.equal((await session.call(listFiles, { query: "bulky" })).files.length, 3);
    });

    test("the copy of an outcome shows what was done below it", async () => {
      const work = await agent.call(createOutcome, { title: "materialized work", parents: [agent.id] });
      const child = await agent.call(createOutcome, { title: "a step", parents: [work.id] });
      const { files } = await session.call(listFiles, { query: "materialized work", materialize: true });
      const [file] = files;
      assert.equal(file?.version, 2);
      assert.match(readFileSync(file.path ?? "", "utf8"), new RegExp(`children: \\["${child.id}"\\]`));
    });
  });
