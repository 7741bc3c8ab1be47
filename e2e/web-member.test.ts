// The dashboard in a real browser, on the built daemon: a person who works from a position and does not govern.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { updateAgent } from "../src/contract/agents.ts";
import { createPerson } from "../src/contract/people.ts";
import { sendMessage } from "../src/contract/mail.ts";
import { signedIn } from "./support/browser.ts";
import { dashboard } from "./support/dashboard.ts";

describe("the dashboard of a member", () => {
  const site = dashboard("web-member");

  test("Home offers no action of the board, fills its sheet, and shows upcoming dates", async () => {
    const { board } = site.daemon;
    const { companyId } = site.press;
    // Vera has no work yet, so no session of hers reads the message first.
    const vera = site.press.agents.get("Vera") ?? "";
    const { id: person, signIn } = await board.call(createPerson, { name: "Tess Vogt", role: "member" });
    await board.call(updateAgent, { id: vera, adapterType: "human", person });
    const { page, context, complaints } = await signedIn(site.browser, site.daemon, { link: signIn.link });
    await page.getByRole("heading", { level: 1, name: /needs? you$/ }).waitFor();
    await page.getByText("Updates every 10 s").waitFor();
    assert.equal(await page.getByText("Connecting").count(), 0);
    // Goals are given by the board.
    assert.equal(await page.locator(".compose").count(), 0);
    const widths = await page.evaluate<number[]>(
      `[".home", ".home > .main"].map((name) => document.querySelector(name).getBoundingClientRect().width)`,
    );
    assert.equal(widths[0], widths[1]);
    await board.call(sendMessage, { companyId, to: vera, body: "Which glue is in the store?" });
    await page.locator("[data-item]", { hasText: "Which glue is in the store?" }).waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });
});
