// The dashboard in a real browser, on the built daemon: settings, branches, reorganizations, the map of outcomes and decisions
// on several requests with the keyboard alone. Keys move the focus, which must be visible, and the browser reports any use of a
// pointer.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { viewAgent } from "../src/contract/agents.ts";
import { reject, viewApproval } from "../src/contract/approvals.ts";
import { updateCompany } from "../src/contract/companies.ts";
import { listPeople } from "../src/contract/people.ts";
import { listRepos } from "../src/contract/repos.ts";
import { listSecrets } from "../src/contract/secrets.ts";
import { putMcpServer, removeMcpServer, testMcpServer } from "../src/contract/servers.ts";
import { byKeyboard } from "./support/keyboard.ts";
import { furnish } from "./support/press-archive.ts";
import { soon } from "./support/soon.ts";

describe("settings, branches, reorganizations, the map of outcomes and several requests, by keyboard alone", () => {
  const person = byKeyboard("web-keyboard-settings", { AGENCY_SANDBOX: "off" });
  const { site } = person;
  let kept: Awaited<ReturnType<typeof furnish>>;

  before(async () => {
    const { board } = site.daemon;
    const { companyId } = site.press;
    kept = await furnish(site.daemon, site.press, site.home);
    await board.call(updateCompany, { companyId, maxSessions: 4 });
    const branches = async () => (await board.call(listRepos, { companyId })).repos[0]?.published ?? [];
    await soon("a published branch", async () => (await branches())[0]);
    await board.call(updateCompany, { companyId, maxSessions: 0 });
  });

  async function open(path: string, heading: string | RegExp): Promise<void> {
    await person.page.goto(site.at(path));
    await person.heading(heading).waitFor();
  }

  test("Secrets: add one, replace it and remove it", async () => {
    const { page, keys } = person;
    const { companyId } = site.press;
    const names = async () =>
      (await site.daemon.board.call(listSecrets, { companyId })).secrets.map(({ name }) => name);
    await open("/settings/secrets", "Settings");
    await keys.goTo(person.button("Add"));
    await keys.press("Enter");
    const dialog = page.getByRole("dialog");
    await keys.isOn(dialog.getByRole("textbox").first());
    await keys.type("INK_KEY");
    await keys.press("Tab");
    await keys.type("blue-7341-ink");
    await keys.press("Enter");
    const row = page.locator("li, tr", { hasText: "INK_KEY" }).first();
    await row.waitFor();
    assert.ok((await names()).includes("INK_KEY"));
    // No answer has the value. The server for which it is meant hears it.
    const ink = await listening();
    const heard = async (): Promise<string> => {
      ink.heard.length = 0;
      await site.daemon.board.call(testMcpServer, { companyId, name: "ink" });
      return soon("a request with the secret", () => ink.heard[0]);
    };
    try {
      await site.daemon.board.call(putMcpServer, {
        companyId,
        name: "ink",
        config: { type: "http", url: ink.url, headers: { Authorization: { secret: "INK_KEY" } } },
      });
      assert.equal(await heard(), "blue-7341-ink");
      await keys.goTo(row.getByRole("button", { name: "Replace" }));
      await keys.press("Enter");
      await keys.isOn(page.getByRole("dialog", { name: "Replace INK_KEY" }).getByLabel("Value"));
      await keys.type("black-9052-ink");
      await keys.press("Enter");
      await person.toast("The secret is kept.");
      await keys.isOn(row.getByRole("button", { name: "Replace" }));
      assert.equal(await heard(), "black-9052-ink");
      assert.equal((await names()).filter((name) => name === "INK_KEY").length, 1);
    } finally {
      ink.close();
    }
    await site.daemon.board.call(removeMcpServer, { companyId, name: "ink" });
    await keys.goTo(row.getByRole("button", { name: /^Remove/ }));
    await keys.press("Enter");
    await dialog.getByRole("button", { name: /^Remove/ }).waitFor();
    await keys.goTo(dialog.getByRole("button", { name: /^Remove/ }));
    await keys.press("Enter");
    await row.waitFor({ state: "detached" });
    assert.ok(!(await names()).includes("INK_KEY"));
  });

  test("People: invite one; browsers, brains and servers: reach their buttons", async () => {
    const { page, keys } = person;
    await open("/settings/people", "Settings");
    await keys.goTo(person.button("Invite"));
    await keys.press("Enter");
    const dialog = page.getByRole("dialog");
    await keys.isOn(dialog.getByRole("textbox").first());
    await keys.type("Pia Kern");
    await keys.press("Enter");
    await page.getByText("Pia Kern").first().waitFor();
    const { people } = await site.daemon.board.call(listPeople, {});
    assert.ok(people.some(({ name }) => name === "Pia Kern"));
    for (const [path, name] of [
      ["/settings/browsers", "Sign out"],
      ["/settings/servers", "Remove"],
    ] as const) {
      await open(path, "Settings");
      await keys.goTo(person.button(name).first());
      await keys.press("Enter");
      await dialog.waitFor();
      await keys.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await keys.isOn(person.button(name).first());
    }
    await open("/settings/brains", "Settings");
    await keys.goTo(page.getByRole("region", { name: "rehearsal" }).getByRole("button", { name: "Test" }));
    await keys.press("Enter");
    await page.getByRole("region", { name: "rehearsal" }).locator(".tag.run", { hasText: "works" }).waitFor();
  });

  test("Repositories: add one, fetch it and remove it", async () => {
    const { page, keys } = person;
    const { companyId } = site.press;
    const named = async (name: string) =>
      (await site.daemon.board.call(listRepos, { companyId })).repos.find((repo) => repo.name === name);
    await open("/settings/repos", "Settings");
    await keys.goTo(person.button("Add"));
    await keys.press("Enter");
    const dialog = page.getByRole("dialog");
    const field = (name: string) => dialog.getByRole("textbox", { name: new RegExp(`^${name}`) });
    await keys.isOn(field("Name"));
    await keys.type("second shop");
    await keys.press("Tab");
    await keys.isOn(field("URL"));
    await keys.type(join(site.home, "shop.git"));
    await keys.goTo(dialog.getByRole("switch", { name: /^Private network/ }));
    await keys.press("Space", "Space");
    await keys.goTo(dialog.getByRole("button", { name: "Add" }));
    await keys.press("Enter");
    // A name that can't be is refused in the dialog, which keeps what was typed.
    await dialog.getByRole("alert").waitFor();
    await keys.goTo(field("Name"), "Shift+Tab");
    await keys.retype("second-shop");
    await keys.press("Enter");
    await person.toast("The repository was added.");
    await keys.isOn(person.button("Add"));
    assert.equal((await named("second-shop"))?.defaultBranch, "main");
    const line = page.locator("li.server", { hasText: "second-shop" });
    await keys.goTo(line.getByRole("button", { name: "Fetch" }));
    await keys.press("Enter");
    await line.getByRole("button", { name: "Fetch" }).waitFor();
    await keys.goTo(line.getByRole("button", { name: "Remove" }));
    await keys.press("Enter");
    await dialog.getByRole("button", { name: "Remove" }).waitFor();
    await keys.goTo(dialog.getByRole("button", { name: "Remove" }));
    await keys.press("Enter");
    await line.waitFor({ state: "detached" });
    assert.equal(await named("second-shop"), undefined);
  });

  test("Repositories: read a published branch and push it", async () => {
    const { page, keys } = person;
    const { companyId } = site.press;
    await open("/settings/repos", "Settings");
    await keys.goTo(page.getByRole("link", { name: "agency/worker/fix" }).first());
    await keys.press("Enter");
    await page.locator("ins").first().waitFor();
    await keys.goTo(page.locator("pre.text-diff").first());
    await keys.goTo(person.button("Push"), "Shift+Tab");
    await keys.press("Enter");
    await keys.isOn(page.getByRole("dialog").getByRole("textbox").first());
    await keys.press("Enter");
    await page.locator(".tag", { hasText: "pushed to" }).waitFor();
    const { repos } = await site.daemon.board.call(listRepos, { companyId });
    assert.ok(repos[0]?.published[0]?.pushedAt);
  });

  test("Reorganizations: undo one", async () => {
    const { page, keys } = person;
    await page.goto(site.at(`/reorganizations/${kept.reorganizationId}`));
    await keys.goTo(page.getByRole("button", { name: /^Undo/ }));
    await keys.press("Enter");
    await person.toast("The organization is as before.");
    const mila = await site.daemon.board.call(viewAgent, { id: person.idOf("Mila") });
    assert.equal(mila.boss?.name, "Greta");
  });

  test("Outcomes: move over the map by arrows and open an outcome beside it", async () => {
    const { page, keys } = person;
    await open("/outcomes?view=map", "Outcomes");
    await keys.goTo(page.getByRole("application").or(page.locator("[aria-label^='Map of']")));
    await keys.press("ArrowRight", "Enter");
    await page.waitForURL(/[?&]outcome=/);
    await page.locator(".side-panel").waitFor();
  });

  test("Approvals: select two by Space and approve them together; delete a rejected agent", async () => {
    const { page, keys } = person;
    const { board } = site.daemon;
    const ids = [await site.hire("Ada Pair"), await site.hire("Bea Pair")];
    const rejected = await site.hire("Cay Lost");
    await board.call(reject, { id: rejected });
    await open("/approvals", "Approvals");
    for (const id of ids) {
      await keys.goTo(page.locator(`[data-request="${id}"] a.row`), "j");
      await keys.press("Space");
      await page.locator(`[data-request="${id}"] input:checked`).waitFor();
    }
    await keys.goTo(page.locator(".batch-bar").getByRole("button", { name: /^Approve/ }));
    await keys.press("Enter");
    const dialog = page.locator("dialog[open]");
    await dialog.waitFor();
    await keys.goTo(dialog.getByRole("button", { name: /^Approve/ }));
    await keys.press("Enter");
    for (const id of ids)
      await soon("an approval", async () =>
        (await board.call(viewApproval, { id })).status === "approved" ? true : undefined,
      );
    await page.goto(site.at(`/approvals/${rejected}`));
    await keys.goTo(person.button("Delete this agent"));
    await keys.press("Enter");
    await keys.goTo(dialog.getByRole("textbox"));
    await keys.type("Cay Lost");
    await keys.goTo(dialog.getByRole("button", { name: /^Delete/ }));
    await keys.press("Enter");
    await person.toast(/^Cay Lost is deleted/);
  });
});

/** A server that notes the authorization of each request and refuses it. */
async function listening() {
  const heard: string[] = [];
  const server = createServer(({ headers }, response) => {
    heard.push(headers.authorization ?? "");
    response.writeHead(500).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return { heard, url: `http://127.0.0.1:${address.port}/mcp`, close: () => server.close() };
}
