// The findings of axe on a page.
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";

/**
 * The serious and critical violations, by all rules or only these, on the page or in the part that a selector names. No page
 * has frames. So axe need not open a second page to join the findings of frames ("legacy mode"), and describes only what it
 * reports. Both took a third of the time.
 */
export async function seriousOn(
  page: Page,
  rules?: string[],
  part?: string,
): Promise<{ id: string; html: string[] }[]> {
  const axe = new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode();
  if (part !== undefined) axe.include(part);
  const { violations } = await (rules === undefined ? axe : axe.withRules(rules)).analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html.slice(0, 200)) }));
}
