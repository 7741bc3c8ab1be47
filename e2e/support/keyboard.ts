// A person without a pointer: every step is a key, and the focused element must be visible.
import assert from "node:assert/strict";
import { before, beforeEach } from "node:test";
import type { Locator, Page } from "playwright-core";
import { updateCompany } from "../../src/contract/companies.ts";
import { dashboard } from "./dashboard.ts";

/** The fault in how the focus is shown, if any. A row may show the focus for an element inside it. */
const focusFault = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return "nothing has the focus";
  if (!element.matches(":focus-visible")) return "the focus has no ring";
  const shown = (at) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  };
  let at = element;
  while (at !== null && !shown(at)) at = at.parentElement;
  if (at === null) return "no ring is drawn";
  const { top, bottom, left, right, width, height } = element.getBoundingClientRect();
  if (width === 0 || height === 0) return "what has the focus has no size";
  return bottom <= 0 || right <= 0 || top >= innerHeight || left >= innerWidth ? "the focus is outside of the window" : "";
})()`;

const mostTabs = 400;

class Keyboard {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** Types the text in place of the field's value. */
  async retype(text: string): Promise<void> {
    await this.press("Control+a");
    await this.type(text);
  }

  /** Waits until the element has the focus, and checks that the focus is visible. */
  async isOn(target: Locator): Promise<void> {
    await target.and(this.page.locator(":focus")).waitFor();
    await this.seesFocus(String(target));
  }

  /** Presses Tab, or another key that moves the focus, until the element has it. */
  async goTo(target: Locator, key = "Tab"): Promise<void> {
    await target.first().waitFor();
    const focused = target.and(this.page.locator(":focus"));
    for (let presses = 0; (await focused.count()) === 0; presses++) {
      assert.ok(presses < mostTabs, `${key} does not lead to ${String(target)}`);
      await this.press(key);
    }
    await this.seesFocus(String(target));
  }

  private async seesFocus(what: string): Promise<void> {
    const fault = await this.page.evaluate<string>(focusFault);
    assert.equal(fault, "", `${what}: ${fault}`);
  }

  /** Chooses an option of the focused list by the first letters of its text. */
  async choose(select: Locator, text: string): Promise<void> {
    await this.goTo(select);
    await this.type(text);
  }

  /** Opens the palette, finds the entry and chooses it. */
  async palette(words: string, option: RegExp): Promise<void> {
    await this.press("Control+k");
    await this.isOn(this.page.getByRole("combobox", { name: "Find or do anything" }));
    await this.type(words);
    await this.page.locator(".palette [aria-selected=true]", { hasText: option }).waitFor();
    await this.press("Enter");
  }
}

/** From now on, the browser reports any use of a pointer. */
async function withoutPointer(page: Page): Promise<void> {
  await page.addInitScript(`for (const kind of ["pointerdown", "mousedown", "touchstart"])
    addEventListener(kind, () => console.error("a pointer was used"), true)`);
}

/** A dashboard for a person without a pointer. No agent works meanwhile. Call this in a `describe`. */
export function byKeyboard(name: string, env: Readonly<Record<string, string>> = {}) {
  const site = dashboard(name, env);
  const parts = {
    site,
    get page(): Page {
      return site.visit.page;
    },
    get keys(): Keyboard {
      return new Keyboard(site.visit.page);
    },
    button: (text: string | RegExp) => parts.page.getByRole("button", { name: text, exact: true }),
    heading: (text: string | RegExp) => parts.page.getByRole("heading", { level: 1, name: text }),
    toast: (text: string | RegExp) => parts.page.getByText(text).first().waitFor(),
    idOf: (agent: string): string => site.press.agents.get(agent) ?? "",
  };
  before(async () => {
    await site.daemon.board.call(updateCompany, { companyId: site.press.companyId, maxSessions: 0 });
  });
  beforeEach(async () => {
    await withoutPointer(site.visit.page);
    await site.visit.page.goto(site.at("/"));
    await site.visit.page.getByRole("heading", { name: /need/ }).waitFor();
  });
  return parts;
}
