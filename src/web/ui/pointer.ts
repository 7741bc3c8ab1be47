/**
 * Where a pointer is in an element. The chosen text size enlarges the whole page: pointers are told in pixels of the window, and
 * everything in the page is measured in pixels before that.
 */
export function pointIn(
  element: Element,
  { clientX, clientY }: { readonly clientX: number; readonly clientY: number },
): { x: number; y: number } {
  const { left, top } = element.getBoundingClientRect();
  return { x: (clientX - left) / textScale(), y: (clientY - top) / textScale() };
}

/** How much the chosen text size enlarges the page. */
export const textScale = (): number => Number(document.documentElement.style.zoom || 1);
