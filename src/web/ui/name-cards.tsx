import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { later } from "./later.ts";

const NameCard = later(async () => (await import("./name-card.tsx")).NameCard);

const waitMilliseconds = 400;

/** Shows the card of the name on which the pointer rests. It stays while the pointer is on the name or on the card. */
export function NameCards(): ReactNode {
  const [of, setOf] = useState<HTMLElement | null>(null);
  const shown = useRef(of);
  shown.current = of;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const over = (event: PointerEvent): void => {
      if (event.pointerType !== "mouse" || !(event.target instanceof Element)) return;
      if (event.target.closest(".name-card") !== null) return clearTimeout(timer);
      const name = event.target.closest<HTMLElement>("[data-card]");
      clearTimeout(timer);
      timer = setTimeout(() => setOf(name), waitMilliseconds);
    };
    const hide = (): void => {
      clearTimeout(timer);
      setOf(null);
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || shown.current === null) return;
      // Escape closes the card. The next Escape is for the page.
      event.preventDefault();
      hide();
    };
    document.addEventListener("pointerover", over);
    // A page that opens has other names, and scrolling moves the names.
    document.addEventListener("click", hide);
    document.addEventListener("scroll", hide, { capture: true, passive: true });
    document.addEventListener("keydown", key, { capture: true });
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointerover", over);
      document.removeEventListener("click", hide);
      document.removeEventListener("scroll", hide, { capture: true });
      document.removeEventListener("keydown", key, { capture: true });
    };
  }, []);
  if (of === null || !of.isConnected) return null;
  return (
    <Suspense fallback={null}>
      <NameCard key={of.dataset["card"]} of={of} onLeave={() => setOf(null)} />
    </Suspense>
  );
}
