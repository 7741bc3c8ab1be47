// The findings of axe on a page.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";

/** The program of axe for a page, which is half as long as the one that AxeBuilder sends. */
const program = ((): string => {
  const builder = createRequire(import.meta.url).resolve("@axe-core/playwright");
  return readFileSync(createRequire(builder).resolve("axe-core/axe.min.js"), "utf8");
})();

/**
 * The serious and critical violations, by all rules or only these, on the page or in the part that a selector names. No page
 * has frames. So axe need not open a second page to join the findings of frames ("legacy mode"), and describes only what it
 * reports. Both took a third of the time. AxeBuilder sends axe to the page twice for each look, which took half of the rest.
 * A page gets it once here.
 */
export async function seriousOn(
  page: Page,
  rules?: string[],
  part?: string,
): Promise<{ id: string; html: string[] }[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(program);
  const axe = new AxeBuilder({ page, axeSource: "0" })
    .options({ resultTypes: ["violations"] })
    .setLegacyMode();
  if (part !== undefined) axe.include(part);
  const { violations } = await (rules === undefined ? axe : axe.withRules(rules)).analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html.slice(0, 200)) }));
}
