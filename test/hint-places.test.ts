import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hintPlaces, placeOfHint } from "../src/web/ui/hint-places.ts";

test("every command that the dashboard has a place for is a command", () => {
  const help = readFileSync(join(import.meta.dirname, "snapshots/help-80.txt"), "utf8");
  const commands = new Set([...help.matchAll(/^\$ agency (\w+) /gm)].map(([, command]) => command));
  assert.deepEqual(
    Object.keys(hintPlaces).filter((command) => !commands.has(command)),
    [],
  );
});

test("a hint leads to the place of the first command it names, and a command about an agent to its page", () => {
  const id = "01a1ece5-a8ba-7a54-a05b-6369e300cf2e";
  assert.equal(placeOfHint("Set it: agency secrets set API_KEY.")?.to, "/settings/secrets");
  assert.equal(placeOfHint("Run `agency doctor`, then `agency brains`.")?.to, "/settings/brains");
  assert.equal(placeOfHint(`Run agency access grant ${id} kb:1 read.`)?.to, `/agents/${id}/rights`);
  assert.equal(placeOfHint(`Run agency agents budget ${id} --usd 5`)?.to, `/agents/${id}/setup`);
  assert.equal(placeOfHint("Choose another name."), undefined);
  assert.equal(placeOfHint(""), undefined);
});
