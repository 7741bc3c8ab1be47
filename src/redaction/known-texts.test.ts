import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { hiderOf } from "./known-texts.ts";
import { marker } from "./redact.ts";

/** Random letters a and b, the same for the same name. Such texts overlap and nearly match. */
const letters = (name: string, length: number): string =>
  [...hash("sha512", name, "buffer")]
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("")
    .replaceAll("0", "a")
    .replaceAll("1", "b")
    .slice(0, length);

test("exactly the characters covered by known texts are hidden", () => {
  for (let round = 0; round < 200; round++) {
    const known = [8, 8, 9, 12, 15].map((length, at) => letters(`${round} ${at}`, length));
    const text = letters(`${round} text`, 500);
    const isCovered = new Set<number>();
    for (const one of known)
      for (let at = text.indexOf(one); at !== -1; at = text.indexOf(one, at + 1))
        for (let index = at; index < at + one.length; index++) isCovered.add(index);
    const shown = [...text].map((letter, at) => (isCovered.has(at) ? "#" : letter)).join("");
    assert.equal(
      hiderOf(known)(text).replaceAll(marker, "#").replaceAll(/#+/g, "#"),
      shown.replaceAll(/#+/g, "#"),
      `${round}: ${known.join(" ")} in ${text}`,
    );
  }
});

test("secrets that continue in the next line are hidden, whatever is hidden beside them", () => {
  for (const size of [9, 21, 37, 48, 60]) {
    const known = Array.from({ length: 40 }, () => randomBytes(size).toString("base64url").slice(0, size));
    const listed = Buffer.from(known.map((secret, at) => `NAME_${at}=${secret}\n`).join(""));
    for (const form of ["base64", "hex"] as const) {
      const lines = listed.toString(form).replaceAll(/.{76}/g, "$&\n");
      const shown = hiderOf(known)(`it says\n${lines}\nend`).replaceAll(marker, "#").replaceAll("\n", "");
      // The rest of each: its name and, in base64, the letters that it shares with its neighbours.
      assert.equal(shown.split("#").length, 41, `${size} ${form}`);
      for (const piece of shown.split("#"))
        for (const secret of known)
          assert.ok(!Buffer.from(piece, form).includes(secret.slice(2, -2)), `${size} ${form}: ${piece}`);
    }
  }
  const key = `-----BEGIN-----\n${"Kj8x".repeat(16)}\nAb3=\n-----END-----`;
  assert.equal(hiderOf([key])(`<${key}>`), `<${marker}>`);
});

test("200 secrets are looked for in one pass", () => {
  const known = Array.from({ length: 200 }, () => randomBytes(24).toString("base64"));
  const text = `${randomBytes(150_000).toString("base64")} ${known[7]} end`;
  const timed = (work: () => string): { took: number; shown: string } => {
    const begin = performance.now();
    const shown = work();
    return { took: performance.now() - begin, shown };
  };
  const hide = hiderOf(known);
  const oneByOne = timed(() => {
    let shown = text;
    for (let round = 0; round < 10; round++)
      for (const secret of known) shown = shown.replaceAll(secret, () => marker);
    return shown;
  });
  const atOnce = timed(() => hide(text));
  assert.equal(atOnce.shown, oneByOne.shown);
  // Each has some twenty forms, so one by one takes 20 to 40 times as long.
  assert.ok(atOnce.took < oneByOne.took, `${atOnce.took} ms, one by one ${oneByOne.took} ms`);
});
