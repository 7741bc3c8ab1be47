// A brain that runs programs needs a sandbox. Tests machines without one.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createAgent } from "../src/contract/hiring.ts";
import { viewInstallation } from "../src/contract/installation.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { listSessions } from "../src/contract/sessions.ts";
import { why } from "../src/contract/why.ts";
import { agency, type BuiltDaemon, startDaemon, temporaryFolder } from "./support/daemon.ts";

const brain = { adapterType: "process", adapterConfig: { command: "/bin/true" } };

describe("without a sandbox", () => {
  test("a program does not start, and `why`, `doctor` and `up` say how to change that", () =>
    withoutBubblewrap({ AGENCY_ALLOW_UNSANDBOXED: "" }, async (daemon, env) => {
      const { board, companyId, home } = daemon;
      const { sandbox } = await board.call(viewInstallation, {});
      assert.deepEqual([sandbox.status, sandbox.unsandboxedAllowed], ["missing", false]);
      assert.match(sandbox.remedy, /apt install bubblewrap/);
      const { id } = await board.call(createAgent, { companyId, name: "Ann", role: "Writer", ...brain });
      await board.call(sendMessage, { companyId, to: id, body: "Hello" });
      await sleep(1000);
      const { sessions } = await board.call(listSessions, { companyId });
      assert.deepEqual(
        sessions.filter(({ agent }) => agent.id === id),
        [],
      );
      const { moves, says } = await board.call(why, { id });
      assert.equal(moves, false);
      assert.match(says, /Ann can't start: the brain process runs programs.*--allow-unsandboxed/);
      const doctor = await agency(["doctor"], { home, env });
      assert.match(doctor.out, /^warn +sandbox +Agents whose brain runs programs .* don't start/m);
    }));

  test("a program starts if the installation allows it, and doctor keeps saying so", () =>
    withoutBubblewrap({ AGENCY_ALLOW_UNSANDBOXED: "1" }, async (daemon, env) => {
      const { board, companyId, home } = daemon;
      const { id } = await board.call(createAgent, { companyId, name: "Ann", role: "Writer", ...brain });
      await board.call(sendMessage, { companyId, to: id, body: "Hello" });
      for (let started = 0; started === 0; await sleep(50))
        started = (await board.call(listSessions, { companyId })).sessions.filter(
          ({ agent }) => agent.id === id,
        ).length;
      const doctor = await agency(["doctor"], { home, env });
      assert.match(doctor.out, /^warn +sandbox +Warning: programs of agents run without a sandbox/m);
      const json: unknown = JSON.parse((await agency(["doctor", "--json"], { home, env })).out);
      assert.match(JSON.stringify(json), /"status":"missing","unsandboxedAllowed":true/);
    }));
});

/** A daemon whose PATH has only Node. */
async function withoutBubblewrap(
  settings: Record<string, string>,
  play: (daemon: BuiltDaemon, env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const home = temporaryFolder("isolation");
  const programs = temporaryFolder("programs");
  try {
    mkdirSync(programs.path, { recursive: true });
    symlinkSync(process.execPath, join(programs.path, "node"));
    const env = { PATH: programs.path, ...settings };
    const daemon = await startDaemon({ home: home.path, env }).ready;
    try {
      await play(daemon, env);
    } finally {
      await daemon.stop();
    }
  } finally {
    home.remove();
    programs.remove();
  }
}
