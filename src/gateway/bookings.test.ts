import assert from "node:assert/strict";
import { test } from "node:test";
import { Bookings } from "./bookings.ts";

test("a call waits until the answers to its session are booked, also if a booking fails", async () => {
  const bookings = new Bookings();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const booked = [first, second].map(({ promise }) => bookings.run("one", () => promise));
  await bookings.ended("other");
  let isCalled = false;
  const call = bookings.ended("one").then(() => (isCalled = true));
  first.resolve();
  await booked[0];
  assert.equal(isCalled, false);
  second.reject(new Error("the booking failed"));
  await assert.rejects(booked[1] ?? Promise.resolve(), /the booking failed/);
  await call;
  await bookings.ended("one");
});
