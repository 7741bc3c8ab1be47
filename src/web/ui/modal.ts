import { type ComponentProps, type RefObject, useLayoutEffect, useRef } from "react";

/**
 * The props of a modal. It opens the browser's own dialog before the next key press, and closes it when `isOpen` becomes false or the component is removed.
 * The focus then returns to the element that had it. If the list was rendered again meanwhile, the new row of the same item gets it.
 */
export function useModal(
  isOpen: boolean,
  onClose: () => void,
  onOpen?: (dialog: HTMLDialogElement) => void,
): ComponentProps<"dialog"> {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!isOpen || dialog === null) return;
    const before = document.activeElement;
    dialog.showModal();
    onOpen?.(dialog);
    return () => {
      dialog.close();
      const again = before instanceof HTMLElement && before !== document.body ? successor(before) : null;
      again?.focus({ preventScroll: true });
    };
  }, [isOpen]);
  return {
    ref,
    onCancel: (event) => {
      event.preventDefault();
      onClose();
    },
    // The browser reports the close late: by then the dialog may be open for something else.
    onClose: () => {
      if (ref.current?.open === false) onClose();
    },
    onClick: (event) => {
      if (event.target === ref.current) onClose();
    },
  };
}

/** When a panel closes while it has the focus, its subject in the list or map gets the focus again. */
export function usePanelFocus(selector: string): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const panel = ref.current;
    return () => {
      if (panel?.contains(document.activeElement) === true)
        document.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
    };
  }, [selector]);
  return ref;
}

const marks = ["data-about", "data-agent", "data-item", "href", "id"] as const;

function successor(before: HTMLElement): HTMLElement | null {
  if (before.isConnected) return before;
  const mark = marks.find((name) => before.hasAttribute(name));
  return mark === undefined
    ? null
    : document.querySelector<HTMLElement>(`[${mark}="${CSS.escape(before.getAttribute(mark) ?? "")}"]`);
}
