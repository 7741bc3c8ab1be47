import { type ComponentProps, type ReactNode, type RefObject, useLayoutEffect, useRef } from "react";

/**
 * A field for a text of any length. It grows with the text, up to the height that its styles allow. Enter presses the button
 * that sends the form, and Shift+Enter breaks the line. Enter that ends a composition of an input method does neither.
 */
export function GrowingText({
  ref,
  className = "",
  value,
  onChange,
  ...rest
}: Pick<ComponentProps<"textarea">, "className" | "autoFocus" | "required" | "title" | "placeholder"> & {
  ref?: RefObject<HTMLTextAreaElement | null>;
  "aria-label"?: string;
  value: string;
  onChange: (text: string) => void;
}): ReactNode {
  const own = useRef<HTMLTextAreaElement>(null);
  const field = ref ?? own;
  useLayoutEffect(() => {
    const { current } = field;
    if (current === null) return;
    // Without this, the field would never become smaller.
    current.style.height = "auto";
    const borders = current.offsetHeight - current.clientHeight;
    current.style.height = `${current.scrollHeight + borders}px`;
  }, [field, value]);
  return (
    <textarea
      {...rest}
      ref={field}
      className={`growing ${className}`}
      rows={1}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      onKeyDown={(event) => {
        // Safari ends the composition before it reports the key, which then has the code 229.
        const isComposing = event.nativeEvent.isComposing || event.nativeEvent.keyCode === 229;
        if (event.key !== "Enter" || event.shiftKey || isComposing) return;
        event.preventDefault();
        event.currentTarget.form?.querySelector<HTMLElement>("[type=submit]")?.click();
      }}
    />
  );
}
