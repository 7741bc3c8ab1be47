import assert from "node:assert/strict";
import { test } from "node:test";
import { takesGzip } from "./encodings.ts";

test("gzip is sent to clients that take it, and to no other", () => {
  for (const header of [
    "gzip",
    "deflate, gzip;q=0.5",
    "GZIP",
    "br;q=1.0, *",
    "x-gzip",
    "*;q=0.1",
    "gzip ; q=1",
  ])
    assert.ok(takesGzip(header), header);
  for (const header of [
    "",
    "gzip;q=0",
    "gzip; Q=0.000",
    "br",
    "*;q=0",
    "gzip;q=0, *",
    "gzip;q=x",
    "notgzip",
    undefined,
  ])
    assert.ok(!takesGzip(header), header ?? "none");
});
