import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, test } from "node:test";
import { Refusal } from "../contract/refusal.ts";
import { checkHostAndOrigin, checkPage, ownUrl, originsFor } from "./host.ts";

describe("the names of a daemon", () => {
  const own = originsFor("127.0.0.1", 4600);

  const answers = (headers: { host?: string; origin?: string }, origins = own, isPage = false): boolean => {
    const request = new IncomingMessage(new Socket());
    Object.assign(request.headers, headers);
    try {
      checkHostAndOrigin(request, origins);
      if (isPage) checkPage(request);
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.code === "forbidden" && error.hint !== "") return false;
      throw error;
    }
  };

  test("are its address and the names of loopback, with its port", () => {
    const hosts = (address: string, port: number) =>
      originsFor(address, port).map((origin) => origin.replace("http://", ""));
    const loopback = ["127.0.0.1:4600", "localhost:4600", "[::1]:4600", "agency.localhost:4600"];
    assert.deepEqual(hosts("127.0.0.1", 4600), loopback);
    assert.deepEqual(
      new Set(hosts("::1", 1)),
      new Set(["[::1]:1", "127.0.0.1:1", "localhost:1", "agency.localhost:1"]),
    );
    assert.ok(hosts("192.0.2.7", 80).includes("192.0.2.7:80"));
    // "All addresses" is not an address that a page could have.
    for (const all of ["0.0.0.0", "::"]) assert.deepEqual(hosts(all, 4600), loopback);
    assert.equal(ownUrl("0.0.0.0", 4600), "http://127.0.0.1:4600");
    assert.equal(ownUrl("fd00::1", 4600), "http://[fd00::1]:4600");
  });

  test("a request under another name, or under none, is refused", () => {
    for (const host of ["127.0.0.1:4600", "[::1]:4600", "LOCALHOST:4600"]) assert.ok(answers({ host }), host);
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

  test("a page of another origin is refused, and the daemon's own page is not", () => {
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

  test("further origins are answered under their own host and scheme only", () => {
    const origins = originsFor("0.0.0.0", 4600, ["https://agency.example", "https://other.example:8443"]);
    const [host, origin] = ["agency.example", "https://agency.example"];
    assert.ok(answers({ host }, origins));
    assert.ok(answers({ host, origin }, origins, true));
    assert.ok(answers({ host: "other.example:8443", origin: "https://other.example:8443" }, origins, true));
    assert.ok(answers({ host: "localhost:4600", origin: "http://localhost:4600" }, origins, true));
    for (const other of ["agency.example:4600", "x.agency.example", "other.example", "0.0.0.0:4600"])
      assert.ok(!answers({ host: other }, origins), other);
    for (const other of ["http://agency.example", "https://agency.example:4600", "https://evil.example"])
      assert.ok(!answers({ host, origin: other }, origins), other);
    // A page under one name can't use the cookie of another.
    assert.ok(!answers({ host, origin: "https://other.example:8443" }, origins, true));
    assert.ok(!answers({ host: "localhost:4600", origin }, origins, true));
    assert.ok(!answers({ host }));
  });
});
