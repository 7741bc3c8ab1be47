import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { checkHostAndOrigin, hostsFor } from "./host.ts";

describe("the names of a daemon", () => {
  const hosts = hostsFor("127.0.0.1", 4600);

  const answers = (headers: { host?: string; origin?: string }): boolean => {
    const request = new IncomingMessage(new Socket());
    Object.assign(request.headers, headers);
    try {
      checkHostAndOrigin(request, hosts);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.code === "forbidden" && error.hint !== "") return false;
      throw error;
    }
  };

  test("are its address and the names of loopback, with its port", () => {
    assert.deepEqual(hosts, ["127.0.0.1:4600", "localhost:4600", "[::1]:4600", "agency.localhost:4600"]);
    assert.deepEqual(
      new Set(hostsFor("::1", 1)),
      new Set(["[::1]:1", "127.0.0.1:1", "localhost:1", "agency.localhost:1"]),
    );
    assert.ok(hostsFor("192.0.2.7", 80).includes("192.0.2.7:80"));
  });

  test("a request under another name, or under none, is refused", () => {
    for (const host of [...hosts, "LOCALHOST:4600"]) assert.ok(answers({ host }), host);
    for (const host of [
      "localhost",
      "localhost:46000",
      "evil.example:4600",
      "localhost:4600.evil.example",
      "",
    ])
      assert.ok(!answers({ host }), host);
    assert.ok(!answers({}));
  });

  test("a page of another origin is refused, its own is not", () => {
    const host = "localhost:4600";
    for (const origin of ["http://localhost:4600", "http://127.0.0.1:4600", "HTTP://LOCALHOST:4600"])
      assert.ok(answers({ host, origin }), origin);
    for (const origin of [
      "http://localhost",
      "https://localhost:4600",
      "null",
      "",
      "http://localhost:4600.evil.example",
    ])
      assert.ok(!answers({ host, origin }), origin);
  });
});
