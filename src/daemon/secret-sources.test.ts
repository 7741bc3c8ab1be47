import assert from "node:assert/strict";
import { chmodSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openHome } from "./home.ts";
import { secretsFrom } from "./secret-sources.ts";

const key = "0123456789abcdef0123456789abcdef";

test("the key comes from the variable, from the named file, or from the home, and only from a private file", (context) => {
  const home = place(context);
  assert.equal(secretsFrom({}, home).key, undefined);
  const file = join(home.path, "secrets-key");
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  assert.equal(secretsFrom({}, home).key, key);
  assert.equal(secretsFrom({ key: `${key}!` }, home).key, `${key}!`);
  chmodSync(file, 0o640);
  assert.throws(() => secretsFrom({}, home), /Other users can read .*secrets-key/);
  assert.throws(() => secretsFrom({ keyFile: file }, home), /Other users can read/);
  assert.throws(() => secretsFrom({ key: "short" }, home), /fewer than 32 characters/);
});

test("values come by descriptor or environment, and a wrong text is refused without repeating it", (context) => {
  const home = place(context);
  const read = (content: string) => {
    const path = join(home.path, "given");
    writeFileSync(path, content);
    const descriptor = openSync(path, "r");
    try {
      return secretsFrom({ descriptor: String(descriptor), variables: { A: "from the environment" } }, home)
        .given;
    } finally {
      assert.throws(() => fstatSync(descriptor), /EBADF/, "the descriptor is still open");
    }
  };
  const given = { B: "one", Bakery: { C: "two" } };
  assert.deepEqual(read(JSON.stringify(given)), { A: "from the environment", ...given });
  assert.throws(
    () => read('{"B": swordfish}'),
    (error: Error) => error.message.includes("AGENCY_SECRETS_FD") && !error.message.includes("swordfish"),
  );
});

function place(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "agency-sources-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return openHome(folder);
}
