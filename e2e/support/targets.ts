// How a page fits a narrow screen: whether it scrolls sideways, and the size of what fingers press.
import type { Page } from "playwright-core";

/** How many pixels the page is wider than the window. */
export function tooWideBy(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
}

/**
 * The buttons that are smaller than 24 px, or less than 44 px high if they look like a button.
 */
export function smallTargets(page: Page, part = "body"): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const found = [];
    for (const one of document.querySelectorAll(":is(${part}) :is(button, summary, .b)")) {
      if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const { width, height } = one.getBoundingClientRect();
      if (width === 0 || height === 0) continue;
      // What is on a map grows with it.
      const least = one.matches(".b, .seg button") && one.closest(".map") === null ? 44 : 24;
      // Positions are fractions of pixels.
      if (height < least - 0.5 || width < 23.5)
        found.push(one.outerHTML.slice(0, 120) + " is " + Math.round(width) + " x " + Math.round(height));
    }
    return found;
  })()`);
}
