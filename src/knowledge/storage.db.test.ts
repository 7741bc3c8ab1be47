import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { listCosts } from "../contract/budgets.ts";
import { updateCompany } from "../contract/companies.ts";
import { createFile, deleteFile, readFile, writeFile } from "../contract/knowledge.ts";
import { sendMessage } from "../contract/mail.ts";
import { bothStores, refusal, sharedOrganization } from "../testing/organization.ts";

const megabyte = 1024 * 1024;
const text = "x".repeat(200_000);

for (const kind of bothStores)
  describe(`limits on storage on ${kind}`, async () => {
    const { org } = await sharedOrganization(kind);
    const { companyId } = org;
    const boss = await org.agent("Chief");
    const ada = await org.agent("Ada", boss.id);
    const stored = async () => (await ada.call(listCosts, {})).storage;

    test("every version and message an agent writes counts, also after it was deleted", async () => {
      const before = (await stored()).bytes;
      const file = await ada.call(createFile, { description: "one", content: text });
      await ada.call(writeFile, { ...file, content: text });
      await ada.call(sendMessage, { to: "boss", body: "y".repeat(1000) });
      await ada.call(deleteFile, { id: file.id });
      assert.equal((await stored()).bytes - before, 2 * text.length + 1000);
      const { storage } = await org.board(listCosts, { companyId });
      assert.ok(storage.bytes >= (await stored()).bytes);
      assert.deepEqual([storage.maxBytes, (await stored()).maxBytes], [10 * 1024 ** 3, 1024 ** 3]);
    });

    test("an agent at its limit is refused with the name of the limit, writes nothing, and continues when the limit is raised", async () => {
      await org.board(updateCompany, { companyId, maxAgentBytes: megabyte });
      const file = await ada.call(createFile, { description: "many", content: text });
      const calls = [
        () => ada.call(createFile, { description: "another", content: text }),
        () => ada.call(writeFile, { ...file, content: text }),
        () => ada.call(sendMessage, { to: "boss", body: text }),
      ];
      while ((await stored()).bytes + text.length <= megabyte)
        await ada.call(createFile, { description: "fill", content: text });
      const { bytes } = await stored();
      for (const call of calls) assert.match((await refusal(call(), "limited")).message, /maxAgentBytes/);
      assert.equal((await stored()).bytes, bytes);
      await ada.call(readFile, { id: file.id });
      await boss.call(createFile, { description: "another agent", content: text });
      await org.board(updateCompany, { companyId, maxAgentBytes: 2 * megabyte });
      await calls[0]?.();
    });

    test("a company at its limit refuses agents and the board alike", async () => {
      const { storage } = await org.board(listCosts, { companyId });
      await org.board(updateCompany, { companyId, maxCompanyBytes: storage.bytes + 1000 });
      const refused = await refusal(
        org.board(createFile, { companyId, description: "board", content: text }),
        "limited",
      );
      assert.match(refused.message, /maxCompanyBytes/);
      await refusal(boss.call(createFile, { description: "boss", content: text }), "limited");
      await org.board(createFile, { companyId, description: "small", content: "small" });
    });
  });
