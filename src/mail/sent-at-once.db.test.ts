import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { updateCompany } from "../contract/companies.ts";
import { acknowledgeMessage, readInbox, sendMessage } from "../contract/mail.ts";
import { createOrganization, openTestStore, type TestStore } from "../testing/organization.ts";
import { testStores } from "../testing/postgres.ts";
import { watchStatements } from "../testing/statements.ts";

const count = 16;

if (testStores.has("postgres"))
  describe("messages that are sent, read and acknowledged at once", () => {
    let opened: TestStore;
    before(async () => (opened = await openTestStore("postgres", { fast: true })));
    after(() => opened.close());

    test("they share transactions, and none runs again because of another", async () => {
      const org = await createOrganization(opened.store);
      await org.board(updateCompany, { companyId: org.companyId, maxAgents: 100 });
      const pairs = await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          const boss = await org.agent(`Boss ${index}`);
          return { boss, report: await org.agent(`Report ${index}`, boss.id) };
        }),
      );
      const statements: Record<string, number> = {};
      const counted = async <T>(what: string, work: () => readonly Promise<T>[]): Promise<T[]> => {
        const watched = watchStatements();
        try {
          return await Promise.all(work());
        } finally {
          watched.stop();
          statements[what] = watched.texts.length;
        }
      };
      // The first messages of a company find fewer rows to read than later ones.
      for (let round = 0; round < 4; round++) {
        const body = `Message ${round}`;
        await counted("sent", () =>
          pairs.map(({ boss, report }) => boss.call(sendMessage, { to: report.id, body })),
        );
        const inboxes = await counted("read", () => pairs.map(({ report }) => report.call(readInbox, {})));
        await counted("acknowledged", () =>
          pairs.map(({ report }, index) =>
            report.call(acknowledgeMessage, { id: inboxes[index]?.messages[0]?.id ?? "", result: "noted" }),
          ),
        );
      }
      for (const [what, length] of Object.entries(statements))
        assert.ok(length < count * 6, `${length} statements for ${count} messages that were ${what}`);
    });
  });
// SQLite has no batches.
else test("needs PostgreSQL", () => undefined);
