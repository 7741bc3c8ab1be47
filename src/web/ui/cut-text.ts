/** Gives text that is cut for lack of room a tooltip with the whole text. Returns a function that stops this. */
export function tellCutText(): () => void {
  const over = ({ target }: Event): void => {
    const text = target instanceof Element ? target.closest<HTMLElement>(places) : null;
    // An element with a tooltip inside says more there.
    if (text === null || text.querySelector("[title]") !== null) return;
    if (text.title !== "" && !told.has(text)) return;
    const isCut = text.scrollWidth > text.clientWidth;
    // The text may have changed since the last time.
    text.title = isCut ? text.innerText.replace(/\s+/g, " ").slice(0, 2000) : "";
    if (isCut) told.add(text);
    else text.removeAttribute("title");
  };
  document.addEventListener("pointerover", over);
  return () => document.removeEventListener("pointerover", over);
}

const places = ".cut, .name > bdi";
/** Elements whose tooltip was made here. */
const told = new WeakSet<HTMLElement>();
