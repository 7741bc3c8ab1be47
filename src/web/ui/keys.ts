import { useLayoutEffect, useRef } from "react";

/**
 * Keys of the page. A key is `j`, `Shift+M`, `Mod+k` (Ctrl or ⌘), or two letters one after another: `g h`. Letters do nothing
 * in three cases: the person is writing, a dialog other than the listening one is open, or they are switched off. Escape in a
 * field only leaves the field; the typed text and the page stay. The newest handler is asked first. If it returns false, the
 * next one gets the key. Whatever is on the screen already listens: the handlers are there before the browser draws.
 */
export type KeyHandlers = Readonly<Record<string, (event: KeyboardEvent) => void | false>>;

const layers: { readonly current: KeyHandlers }[] = [];
let first = "";
let firstAt = 0;

export function useKeys(handlers: KeyHandlers): void {
  const ref = useRef(handlers);
  ref.current = handlers;
  useLayoutEffect(() => {
    layers.push(ref);
    return () => void layers.splice(layers.indexOf(ref), 1);
  }, []);
}

const place = "agency.keys";
export const lettersAreOff = (): boolean => localStorage.getItem(place) === "off";
/** Is it a letter that is switched off? */
export const isOff = (key: string): boolean => /^[a-z]$/i.test(key) && lettersAreOff();
export function switchLetters(on: boolean): void {
  localStorage.setItem(place, on ? "on" : "off");
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const name = nameOf(event);
  // The browser closes a popover, and the page stays.
  if (name === "Escape" && document.querySelector("[popover]:popover-open, dialog[open]") !== null) return;
  if (name === "Escape" && isTyping(event.target)) {
    event.preventDefault();
    event.target.blur();
    return;
  }
  const isLetter = /^(?:Shift\+)?[^+]$/.test(name);
  if (isLetter && (lettersAreOff() || isWriting(event.target) || isInDialog())) return;
  const both = performance.now() - firstAt < 1200 && first !== "" ? `${first} ${name}` : "";
  first = "";
  for (const wanted of [both, name]) {
    if (wanted === "") continue;
    for (const { current } of layers.toReversed()) {
      const handler = current[wanted];
      if (handler === undefined || handler(event) === false) continue;
      event.preventDefault();
      return;
    }
  }
  if (isLetter) {
    first = name;
    firstAt = performance.now();
  }
});

function nameOf({ key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent): string {
  if (altKey) return "";
  const letter = key.length === 1 ? key.toLowerCase() : key;
  if (ctrlKey || metaKey) return `Mod+${letter}`;
  return shiftKey && /^[a-z]$/.test(letter) ? `Shift+${letter.toUpperCase()}` : letter;
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether the target is a field in which people type or choose. A checkbox counts as a button. */
const isTyping = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLElement &&
  isWriting(target) &&
  !target.matches(":is([type=checkbox], [type=radio], [type=button], [type=submit])");

const isInDialog = (): boolean => document.querySelector("dialog[open]") !== null;
