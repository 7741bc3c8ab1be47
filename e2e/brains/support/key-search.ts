// A session searches for keys in every place that a program can reach, as root and as an ordinary user of the machine.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { isTool } from "../../../src/testing/fake-model/conversation.ts";
import { type ModelScript, use } from "../../../src/testing/fake-model/script.ts";
import type { Adapter } from "./adapters.ts";
import { anotherUser, isRoot } from "./another-user.ts";
import { diligent, key, onBrain } from "./stage.ts";

/** Addresses where the daemon could answer with a key. */
const doors = [
  "api/installation",
  "model/fake",
  "model/fake/v1/models",
  "model/fake/v1/nothing",
  "model/openai/v1/models",
  "model/anthropic/v1/models",
];

/**
 * The variables, command lines, open files and memory of all processes, the whole file system, and what the daemon answers. The
 * decoys show that each search finds what is there. The patterns don't match themselves. The shell may be zsh,
 * where `path` is $PATH.
 */
const searches = [
  [
    "export DECOY=the-decoy-of-the-environment",
    "(env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n') | sort -u",
  ],
  [
    "echo sk-the-key-that-is-a-decoy > decoy.txt",
    "grep -rIsl 'sk-the-key-tha[t]' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr",
    "for p in /proc/[0-9]*; do ls -l $p/fd; grep -asl 'key-that-no-sess[i]on' $p/environ $p/cmdline $p/mem $p/cwd/*; done 2>/dev/null",
    "find / -name board-token -not -path '/proc/*' 2>/dev/null",
    "echo looked",
  ],
  [
    // The shell of Codex has neither of these variables, but other places have them.
    "found() { cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a \"^$1=\" | head -1 | cut -d= -f2-; }",
    'token="${AGENCY_TOKEN:-$(found AGENCY_TOKEN)}"; url="${AGENCY_URL:-$(found AGENCY_URL)}"',
    `url="\${url:-$(grep -aohE 'http://[0-9.:]+' "$HOME/.codex/config.toml" | head -1)}"`,
    'if [ -n "$token" ]; then echo asking with a token; else echo asking without a token; fi',
    `for door in ${doors.join(" ")}; do curl -si -H "Authorization: Bearer $token" "$url/$door"; echo; done`,
    'ls -a "$HOME"; grep -rl \'key-that-no-sess[i]on\' "$HOME" . /tmp 2>/dev/null',
    "echo searched",
  ],
].map((commands) => commands.join("; "));

export function testKeySearch(adapter: Adapter): void {
  search("", false);
  if (isRoot) search(", as a user who is not root", true);

  function search(who: string, asAnotherUser: boolean): void {
    test(`finds no key of a provider, wherever it looks${who}`, () =>
      onBrain(
        adapter,
        patient(diligent(...searches.map(adapter.shell))),
        async (stage) => {
          const runsAs = statSync(`/proc/${stage.daemon().pid}`).uid;
          assert.equal(runsAs, asAnotherUser ? anotherUser : process.getuid?.());
          await stage.tell("Look for keys.");
          const session = await stage.ended(1, 180);
          const entries = await stage.transcript(session);
          const shown = JSON.stringify(entries);
          const asked = JSON.stringify(stage.model.calls.map(({ conversation }) => conversation.body));
          // The texts that the model got. Codex behind ACP may leave the first lines of a command out of the transcript.
          const results = stage.model.calls
            .flatMap(({ conversation }) => conversation.entries)
            .flatMap((entry) => (entry.kind === "result" ? [entry.text] : []))
            .join("\n");
          for (const secret of [key, stage.daemon().token]) {
            assert.ok(!shown.includes(secret), "a secret is in the transcript");
            assert.ok(!asked.includes(secret), "the model was told a secret");
          }
          assert.ok(stage.model.calls.every(({ credential }) => credential === key));
          for (const found of ["the-decoy-of-the-environment", "decoy.txt", "looked", "searched"])
            assert.ok(results.includes(found), `${found} was not found: ${results}`);
          assert.match(results, /asking with a token/);
          const answered: readonly string[] = results.match(/^HTTP\/1\.1 \d+/gm) ?? [];
          assert.ok(answered.length >= doors.length, `the daemon answered ${answered.join(", ")}`);
          // The session's own provider answered, so the answers of the gateway were searched as well.
          assert.ok(answered.includes("HTTP/1.1 200"), answered.join(", "));
        },
        { asAnotherUser },
      ));
  }
}

/** After some seconds, Codex returns what a command has printed so far. A model waits for the rest, and so does this script. */
function patient(script: ModelScript): ModelScript {
  return {
    reply: (conversation) => {
      const { entries } = conversation;
      const last = entries.at(-1);
      const running =
        last?.kind === "result" ? /Process running with session ID (\d+)/.exec(last.text)?.[1] : undefined;
      if (running !== undefined)
        return use("write_stdin", { session_id: Number(running), chars: "", yield_time_ms: 30_000 })(
          conversation,
        );
      const waits = new Set(
        entries.flatMap((entry) =>
          entry.kind === "call" && isTool(entry.tool, "write_stdin") ? [entry.id] : [],
        ),
      );
      return script.reply({
        ...conversation,
        entries: entries.filter((entry) => !("id" in entry && waits.has(entry.id))),
      });
    },
    unused: () => script.unused(),
  };
}
