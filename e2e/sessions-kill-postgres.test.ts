import { test } from "node:test";
import { testDatabase } from "../src/testing/postgres.ts";
import { killWhileAgentsWork } from "./support/living-kills.ts";

const kills = process.env["AGENCY_TEST_LONG"] === "1" ? 200 : 15;

test("kill -9 while agents work, with the store on PostgreSQL", async (t) => {
  const database = await testDatabase();
  try {
    await killWhileAgentsWork(t, { kills, sandbox: "off", databaseUrl: database.url });
  } finally {
    await database.drop();
  }
});
