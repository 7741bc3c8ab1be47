import assert from "node:assert/strict";
import { describe } from "node:test";
import { terminateAgent } from "../contract/agents.ts";
import { grantPermission, listPermissions } from "../contract/capabilities.ts";
import { createFile, listFiles, readFile, searchFiles, writeFile } from "../contract/knowledge.ts";
import {
  listAgentSessions,
  submitSummary,
  type TranscriptEntry,
  viewSession,
  viewTranscript,
} from "../contract/sessions.ts";
import { viewAgent } from "../contract/agents.ts";
import { organizedOn, refusal, storeKinds } from "../testing/organization.ts";

/** A manager can look at the sessions, transcripts, logs and state documents of its direct reports, and not of other agents. */
for (const kind of storeKinds)
  describe(`looking at reports on ${kind}`, () => {
    const entries = new Map<string, TranscriptEntry[]>();
    const transcripts = {
      read: async (_: unknown, id: string, after = 0) => {
        const all = entries.get(id) ?? [];
        const placed = all.map((one, at) => ({ ...one, place: 1000 * at }));
        return { entries: placed.slice(after), next: all.length, truncated: after > 0 };
      },
    };
    const organized = organizedOn(kind, { transcripts });
    const entry = (kindOf: TranscriptEntry["kind"], text: string, tool?: string): TranscriptEntry => ({
      at: "2030-01-01T00:00:00.000Z",
      kind: kindOf,
      ...(tool === undefined ? {} : { tool }),
      text,
    });

    organized(
      "the manager sees them, also after the report has left; a sibling and the manager above do not",
      async (org) => {
        const chief = await org.agent("Chief");
        const ann = await org.agent("Ann", chief.id);
        const sibling = await org.agent("Sibling", chief.id);
        const session = await org.session(ann.id);
        entries.set(session.id, [entry("text", "I begin."), entry("output", "printed")]);
        const { stateFileId } = await org.board(viewAgent, { id: ann.id });
        const before = await ann.call(readFile, { id: stateFileId });
        const { version, hash } = before;
        await session.call(writeFile, { id: stateFileId, content: "I count zebras.", version, hash });
        const live = async () => {
          const { sessions } = await chief.call(listAgentSessions, { id: ann.id, end: "running" });
          return [sessions[0]?.lastLine, sessions[0]?.toolCalls];
        };
        assert.deepEqual(await live(), ["printed", 0]);
        // The earlier entries are counted once, however often a manager looks.
        const first = entries.get(session.id) ?? [];
        entries.set(session.id, [...first, entry("tool", "{}", "read_file"), entry("result", "hidden")]);
        assert.deepEqual(
          [await live(), await live()],
          [
            ["→ read_file", 1],
            ["→ read_file", 1],
          ],
        );
        const { sessions: running } = await chief.call(listAgentSessions, { id: ann.id });
        assert.deepEqual(running[0]?.tail, ["I begin.", "printed", "→ read_file"]);
        entries.set(session.id, first);
        const { logFileId } = await session.call(submitSummary, { summary: "Counted 12 zebras." });

        const looks = async (): Promise<void> => {
          const { sessions } = await chief.call(listAgentSessions, { id: ann.id });
          assert.deepEqual(
            sessions.map(({ id }) => id),
            [session.id],
          );
          const seen = await chief.call(viewSession, { id: session.id });
          assert.deepEqual([seen.agent.name, seen.briefing], ["Ann", null]);
          assert.equal(
            (await chief.call(viewTranscript, { id: session.id })).transcript,
            "I begin.\nprinted",
          );
          assert.equal((await chief.call(readFile, { id: stateFileId })).content, "I count zebras.");
          assert.match((await chief.call(readFile, { id: logFileId })).content ?? "", /12 zebras/);
        };
        await looks();
        const listed = (await chief.call(listFiles, {})).files.map(({ id }) => id);
        assert.ok(listed.includes(stateFileId) && listed.includes(logFileId));
        const found = await chief.call(searchFiles, { query: "zebras" });
        assert.ok(JSON.stringify(found).includes(stateFileId));
        const { structural } = await chief.call(listPermissions, {});
        assert.ok(
          structural.some(({ because }) => /state document of Ann, who reports to you/.test(because)),
        );
        await refusal(
          chief.call(writeFile, { id: stateFileId, content: "mine", version: 2, hash }),
          "forbidden",
        );

        for (const other of [org.root, sibling.call]) {
          await refusal(other(listAgentSessions, { id: ann.id }), "not_found");
          await refusal(other(viewSession, { id: session.id }), "not_found");
          await refusal(other(viewTranscript, { id: session.id }), "not_found");
          await refusal(other(readFile, { id: stateFileId }), "not_found");
          await refusal(other(readFile, { id: logFileId }), "not_found");
        }
        await org.board(terminateAgent, { id: ann.id });
        await looks();
      },
    );

    organized("what a tool returned is shown only to a manager that can read it", async (org) => {
      const chief = await org.agent("Chief");
      const ann = await org.agent("Ann", chief.id);
      const secret = await ann.call(createFile, { description: "hers", content: "the plan" });
      const shared = await org.board(createFile, {
        companyId: org.companyId,
        description: "both",
        content: "news",
      });
      for (const to of [chief.id, ann.id])
        await org.board(grantPermission, {
          companyId: org.companyId,
          to,
          resource: `kb:${shared.id}`,
          level: "read",
        });
      const session = await org.session(ann.id);
      entries.set(session.id, [
        entry("tool", JSON.stringify({ id: secret.id }), "read_file"),
        entry("result", JSON.stringify({ id: secret.id, content: "the plan" }), "read_file"),
        entry("result", JSON.stringify({ id: shared.id, content: "news" }), "mcp__agency__read_file"),
        entry(
          "result",
          JSON.stringify({ files: [{ id: shared.id }, { id: secret.id }] }),
          "mcp__kb__list_files",
        ),
        entry("result", "a letter", "mcp__gmail__read"),
        entry("result", "cat: the plan", "Bash"),
        entry("result", "no tool is named"),
      ]);
      const { entries: seen, transcript } = await chief.call(viewTranscript, { id: session.id });
      assert.deepEqual(
        seen.map(({ hidden, text }) => (hidden === true ? text : "shown")),
        ["shown", "", "shown", "", "", "", ""],
      );
      // A place in the file would show how long the hidden results are.
      assert.deepEqual(
        seen.map(({ place }) => place),
        [0, 1, 2, 3, 4, 5, 6],
      );
      assert.ok(!transcript.includes("the plan") && transcript.includes("news"));
      await org.board(grantPermission, {
        companyId: org.companyId,
        to: chief.id,
        resource: `kb:${secret.id}`,
      });
      assert.ok((await chief.call(viewTranscript, { id: session.id })).transcript.includes("the plan"));
      const later = await chief.call(viewTranscript, { id: session.id, after: 6 });
      assert.deepEqual([later.entries.length, later.next, later.truncated], [1, 7, true]);
      assert.equal((await org.board(viewTranscript, { id: session.id })).entries.length, 7);
    });
  });
