// Invariant 12 on a whole daemon: secrets enter in every possible way, agents run with them, print them and write them down,
// are fired and come back. Afterwards no secret is on disk, in the database, in an answer, in the log or in an argument.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createClient } from "../src/client/client.ts";
import { createKey, terminateAgent, updateAgent } from "../src/contract/agents.ts";
import { approve, viewApproval } from "../src/contract/approvals.ts";
import { createCompany, updateCompany } from "../src/contract/companies.ts";
import { examineDeeply } from "../src/contract/doctor.ts";
import { createAgent, hireAgent, viewConfiguration } from "../src/contract/hiring.ts";
import { viewInstallation } from "../src/contract/installation.ts";
import { createFile } from "../src/contract/knowledge.ts";
import { listEvents } from "../src/contract/ledger.ts";
import { boardInbox, sendMessage } from "../src/contract/mail.ts";
import { why } from "../src/contract/why.ts";
import {
  applyReorganization,
  listReorganizations,
  undoReorganization,
} from "../src/contract/reorganization.ts";
import { exportCompany } from "../src/contract/roster.ts";
import { listSecrets, setSecret } from "../src/contract/secrets.ts";
import { listAgentSessions, viewTranscript } from "../src/contract/sessions.ts";
import { startDaemon } from "../src/daemon/daemon.ts";
import { storeKinds } from "../src/testing/organization.ts";
import { storeDatabase } from "../src/testing/postgres.ts";

const planted = {
  ofBoard: "pl4nted-by-the-Board-Xk29f",
  ofAgent: "pl4nted-by-an-Agent-Qm71z",
  named: "pl4nted-by-Name-Lw58c",
  given: "pl4nted-at-the-Start-Tr63v",
  handedOver: "pl4nted-by-handing-over-Bn94s",
  ofCompany: "pl4nted-by-Default-Hy17d",
};
const values = Object.values(planted);

/** Prints its secrets in several forms, to both outputs, and waits for the test in between. */
const script = `
for (const name of ["ONE", "TWO", "THREE"]) {
  const value = process.env[name] ?? "";
  if (value === "") continue;
  for (const say of [console.log, console.error]) {
    say("it is " + value);
    say(JSON.stringify({ [name]: value }), encodeURIComponent(value));
    say(Buffer.from(value).toString("base64"), Buffer.from("x" + value).toString("base64"));
    say(Buffer.from(value).toString("hex"));
  }
}
process.stdout.write("length " + (process.env.ONE ?? "").length + "\\n");
setTimeout(() => undefined, 1500);
`;

for (const kind of storeKinds)
  describe(`secrets in a whole story on ${kind}`, () => {
    // covers SEC-01, SEC-02
    test(
      "are stored nowhere in plain text, and are available after a restart with the key",
      { timeout: 300_000 },
      async (t) => {
        const folder = mkdtempSync(join(tmpdir(), "agency-secrets-"));
        const home = join(folder, "home");
        const database = kind === "postgres" ? await storeDatabase() : undefined;
        const logged: string[] = [];
        const up = (key?: string) =>
          startDaemon({
            home,
            port: 0,
            databaseUrl: database?.url,
            allowUnsandboxed: true,
            secrets: { key, variables: { GIVEN: planted.given } },
            log: (line) => void logged.push(JSON.stringify(line)),
          });
        const key = "the secrets key of this story, long enough";
        let daemon = await up(key);
        t.after(async () => {
          await daemon.stop();
          rmSync(folder, { recursive: true, force: true });
        });
        const answers: string[] = [];
        const as = (token: string) => {
          const client = createClient({ url: daemon.url, token });
          const call: typeof client.call = async (...given) => {
            const answer = await client.call(...given);
            answers.push(JSON.stringify(answer));
            return answer;
          };
          return call;
        };
        let board = as(daemon.token);
        const program = join(folder, "printer.mjs");
        writeFileSync(program, script);
        const brain = (env: Record<string, unknown>) => ({
          adapterType: "process",
          adapterConfig: { command: process.execPath, args: [program], env },
        });

        const { id: companyId, rootAgentId } = await board(createCompany, { name: "Story" });
        await board(updateCompany, {
          companyId,
          allowedAdapterTypes: ["process", "rehearsal"],
          defaultAdapterType: "process",
          defaultAdapterConfig: brain({ ONE: planted.ofCompany }).adapterConfig,
        });
        const named = { companyId, name: "NAMED" };
        await board(setSecret, { ...named, value: planted.named });
        const ada = await board(createAgent, {
          companyId,
          name: "Ada",
          role: "printer",
          ...brain({ ONE: planted.ofBoard, TWO: { secret: "NAMED" }, THREE: { secret: "GIVEN" } }),
        });
        // An agent can hire only with files that its own configuration names.
        await board(updateAgent, { id: rootAgentId, ...brain({}) });
        const root = as((await board(createKey, { id: rootAgentId })).key);
        const hire = {
          companyId,
          name: "Bob",
          role: "printer",
          mandate: "Print.",
          ...brain({ ONE: planted.ofAgent }),
        };
        const { agent: bob, approval } = await root(hireAgent, hire);
        assert.ok(approval !== null);
        await board(viewApproval, { id: approval.id });
        await board(approve, { id: approval.id });
        const cid = await board(createAgent, { companyId, name: "Cid", role: "printer" });

        const seen = new Set<string>();
        const runs = async (id: string): Promise<string> => {
          const ofAgent = async () => (await board(listAgentSessions, { id })).sessions;
          // The program handles no message, so its inbox gets blocked. A message unblocks it, unless a session still runs.
          while ((await ofAgent()).some(({ endedAt }) => endedAt === null)) await sleep(50);
          const before = (await ofAgent()).length;
          await board(sendMessage, { companyId, to: id, body: "Print." });
          for (let waits = 0; waits < 1800; waits++) {
            for (const line of commandLines()) seen.add(line);
            const sessions = await ofAgent();
            const [last] = sessions;
            if (last !== undefined && sessions.length > before && last.endedAt !== null)
              return (await board(viewTranscript, { id: last.id })).transcript;
            await sleep(50);
          }
          throw new Error(`no session ended: ${(await board(why, { id })).says}`);
        };
        const lengthIn = (transcript: string): string | undefined => /^length \d+$/m.exec(transcript)?.[0];
        assert.equal(lengthIn(await runs(ada.id)), `length ${planted.ofBoard.length}`);
        assert.equal(lengthIn(await runs(bob.id)), `length ${planted.ofAgent.length}`);
        assert.equal(lengthIn(await runs(cid.id)), `length ${planted.ofCompany.length}`);
        assert.ok(
          [...seen].some((line) => line.includes("printer.mjs")),
          "the session was seen",
        );
        assert.deepEqual(
          [...seen].filter((line) => values.some((value) => line.includes(value))),
          [],
        );

        // An agent that knows a secret writes it down and mails it.
        const keyOfAda = as((await board(createKey, { id: ada.id })).key);
        await keyOfAda(createFile, {
          companyId,
          description: planted.ofBoard,
          content: `notes ${planted.ofBoard} ${planted.named}`,
        });
        await keyOfAda(sendMessage, { companyId, to: "boss", body: `here: ${planted.ofBoard}` });
        const change = { kind: "hand_over" as const, agent: bob.id, ...brain({ ONE: planted.handedOver }) };
        await board(applyReorganization, { companyId, change });
        await board(terminateAgent, { id: ada.id });
        const [last] = (await board(listReorganizations, { companyId })).reorganizations;
        await board(undoReorganization, { id: last?.id ?? "" });
        const { files } = await board(exportCompany, { companyId });
        assert.ok(files.length > 3);
        await board(viewConfiguration, { id: ada.id });
        await board(boardInbox, { companyId, limit: 1000 });
        await board(listEvents, { companyId, limit: 1000 });
        await board(examineDeeply, {});
        await board(listSecrets, { companyId });

        await daemon.stop();
        daemon = await up(key);
        board = as(daemon.token);
        assert.equal(lengthIn(await runs(ada.id)), `length ${planted.ofBoard.length}`);
        await daemon.stop();
        daemon = await up();
        board = as(daemon.token);
        const { missing } = (await board(viewInstallation, {})).secrets;
        assert.ok(missing.some(({ name, usedBy }) => name === "NAMED" && usedBy.includes("Ada")));
        assert.match(
          (await board(why, { id: ada.id })).says,
          /the secrets .*NAMED.* of its brain are missing/,
        );
        await daemon.stop();

        const places = filesBelow(home).map((path): [string, Buffer] => [path, readFileSync(path)]);
        assert.ok(places.some(([path]) => path.endsWith(".log")) && places.length > 5);
        if (database !== undefined) places.push(...(await dumpOf(database.url)));
        places.push(
          ["the answers", Buffer.from(answers.join("\n"))],
          ["the log", Buffer.from(logged.join("\n"))],
        );
        const hits = places.flatMap(([place, bytes]) =>
          values.flatMap((value) =>
            [value, Buffer.from(value).toString("base64").slice(0, -4), Buffer.from(value).toString("hex")]
              .filter((form) => bytes.includes(form))
              .map((form) => `${form} in ${place}`),
          ),
        );
        assert.deepEqual(hits, []);
        await database?.drop();
      },
    );
  });

/** The arguments of every process of this machine. */
function commandLines(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8")];
      } catch {
        return [];
      }
    });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

async function dumpOf(url: string): Promise<[string, Buffer][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = current_schema()",
    );
    const dumped: [string, Buffer][] = [];
    for (const { name } of rows) {
      const text = await client.query(`select t::text as row from ${name} t`);
      dumped.push([name, Buffer.from(JSON.stringify(text.rows))]);
    }
    return dumped;
  } finally {
    await client.end();
  }
}
