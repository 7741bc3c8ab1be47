// The login of a person's own Codex, renewed by the real program. Only two addresses are changed: that of the issuer, which
// Codex allows for tests, and that of ChatGPT.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { keepCodexLogins } from "../../src/brains/codex/login.ts";
import { viewAgent } from "../../src/contract/agents.ts";
import { viewCompany } from "../../src/contract/companies.ts";
import { sendMessage } from "../../src/contract/mail.ts";
import { why } from "../../src/contract/why.ts";
import { listProviders, putProvider } from "../../src/contract/providers.ts";
import { listAgentSessions, viewTranscript } from "../../src/contract/sessions.ts";
import { fakeAccessToken, fakeAccount, loginFileWith } from "../../src/testing/codex-login.ts";
import { startFakeModel } from "../../src/testing/fake-model/server.ts";
import { startDaemon, temporaryFolder } from "../support/daemon.ts";
import { codex, pathFor } from "./support/adapters.ts";
import { diligent, until } from "./support/stage.ts";

/** Accepts each refresh token once, as the real issuer does. All other paths are missing. */
async function startIssuer(...issued: readonly string[]) {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url !== "/oauth/token") return void response.writeHead(404).end("{}");
    const { refresh_token: given } = Object(await json(request));
    const token = given === `refresh-${asked.length}` ? issued[asked.length] : undefined;
    asked.push(given);
    response.writeHead(token === undefined ? 401 : 200, { "content-type": "application/json" });
    const refused = { error: { code: "refresh_token_reused", message: "It was used already." } };
    const granted = {
      id_token: fakeAccessToken(3600),
      access_token: token,
      refresh_token: `refresh-${asked.length}`,
    };
    response.end(JSON.stringify(token === undefined ? refused : granted));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? (address?.port ?? 0) : 0}`;
  const folder = temporaryFolder("login");
  const file = join(folder.path, "auth.json");
  writeFileSync(join(folder.path, "config.toml"), `chatgpt_base_url = "${url}/backend-api"\n`);
  return {
    asked,
    file,
    env: { CODEX_REFRESH_TOKEN_URL_OVERRIDE: `${url}/oauth/token` },
    signIn: (token: string, refresh: string) =>
      writeFileSync(file, loginFileWith(token, refresh), { mode: 0o600 }),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      folder.remove();
    },
  };
}

test("20 calls with an expired token, then with a refused one: Codex renews once each, and says if it is signed out", async () => {
  const tokens = [1, 2].map(() => fakeAccessToken(3600));
  const issuer = await startIssuer(...tokens);
  try {
    const path = pathFor(codex);
    const env = { ...process.env, PATH: path, ...issuer.env };
    const all = (logins = keepCodexLogins({ path, env }), refused?: string) =>
      Promise.all(Array.from({ length: 20 }, () => logins.use(issuer.file, refused)));
    issuer.signIn(fakeAccessToken(-10), "refresh-0");
    assert.deepEqual(new Set((await all()).map((one) => Object(one).token)), new Set([tokens[0]]));
    assert.deepEqual(issuer.asked, ["refresh-0"]);
    const second = await all(keepCodexLogins({ path, env }), tokens[0]);
    assert.deepEqual(new Set(second.map((one) => Object(one).token)), new Set([tokens[1]]));
    assert.deepEqual(issuer.asked, ["refresh-0", "refresh-1"]);
    const [last] = await all(keepCodexLogins({ path, env }), tokens[1]);
    assert.match(Object(last).says, /signed out.*codex login/);
  } finally {
    await issuer.stop();
  }
});

test("codex_local with CODEX_LOGIN_FILE: an expired login is renewed, and no session sees it or its file", async () => {
  const home = temporaryFolder("first-start");
  const renewed = fakeAccessToken(3600);
  const issuer = await startIssuer(renewed);
  const look = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'";
  const model = await startFakeModel({
    [renewed]: diligent(codex.shell(look), codex.shell(`cat ${issuer.file}; echo looked`)),
  });
  const env = {
    PATH: pathFor(codex),
    AGENCY_BRAIN: "",
    AGENCY_MODEL_PORTS: "",
    AGENCY_ALLOW_UNSANDBOXED: "",
    CODEX_LOGIN_FILE: issuer.file,
    ...issuer.env,
  };
  const daemon = await startDaemon({ home: home.path, env }).ready;
  try {
    const { board, companyId } = daemon;
    const { rootAgentId: id } = await board.call(viewCompany, { companyId });
    assert.equal((await board.call(viewAgent, { id })).adapterType, "codex_local");
    const { providers } = await board.call(listProviders, { companyId });
    const { name, status, config } = providers.find((one) => one.config.login === "codex") ?? assert.fail();
    assert.equal(status, "signed_out");
    await board.call(putProvider, {
      companyId,
      name,
      config: { ...config, baseUrl: `${model.url}/backend-api/codex` },
    });
    await board.call(sendMessage, { companyId, body: "Hello." });
    const stuck = await until(
      async () => {
        const found = await board.call(why, { id });
        return found.moves ? undefined : found;
      },
      30,
      async () => `it is not stuck: ${daemon.log()}`,
    );
    assert.match(JSON.stringify(stuck), /can't read the file.*codex login/);

    issuer.signIn(fakeAccessToken(-10), "refresh-0");
    const session = await until(
      async () => (await board.call(listAgentSessions, { id })).sessions.find(({ endedAt }) => endedAt),
      90,
      async () => `no session ended: ${daemon.log()}`,
    );
    const { entries } = await board.call(viewTranscript, { id: session.id });
    const shown = JSON.stringify(entries);
    assert.equal(session.exitCode, 0, shown);
    model.check();
    assert.deepEqual(issuer.asked, ["refresh-0"]);
    for (const { headers, conversation } of model.calls) {
      assert.equal(headers["chatgpt-account-id"], fakeAccount);
      assert.deepEqual([Object(conversation.body).store, Object(conversation.body).stream], [false, true]);
    }
    assert.match(shown, /looked/);
    for (const secret of [renewed, "refresh-"])
      for (const place of [
        shown,
        daemon.log(),
        JSON.stringify(model.calls.map(({ conversation }) => conversation)),
      ])
        assert.ok(!place.includes(secret));
  } finally {
    await daemon.stop();
    await model.stop();
    await issuer.stop();
    home.remove();
  }
});
