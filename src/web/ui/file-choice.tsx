import { type ReactNode, useRef, useState } from "react";
import { ops } from "virtual:operations";
import { shown } from "../../contract/visible-text.ts";
import { useHere } from "../data/company.ts";
import { useList } from "./more-rows.tsx";
import { useRested } from "./rested.ts";

/** Files to choose from, newest first: those that the typed words describe, and more of them on demand. */
export function useFileChoice(chosen: string): {
  readonly options: readonly { readonly id: string; readonly text: string }[];
  /** The search field, and the button for more. */
  readonly find: ReactNode;
} {
  const { company } = useHere();
  const [words, setWords] = useState("");
  const query = useRested(words.trim(), 200);
  const list = useList(ops.listFiles, "files", {
    companyId: company.id,
    kind: "file" as const,
    order: "newest" as const,
    ...(query !== "" && { query }),
  });
  // The chosen file stays in the list, whatever is searched next.
  const known = useRef(new Map<string, string>());
  const options = (list.data?.files ?? []).map(({ id, description }) => ({
    id,
    text: shown(description.slice(0, 100)),
  }));
  for (const { id, text } of options) known.current.set(id, text);
  return {
    options:
      chosen === "" || options.some(({ id }) => id === chosen)
        ? options
        : [{ id: chosen, text: known.current.get(chosen) ?? "The file chosen before" }, ...options],
    find: (
      <>
        <input
          className="input"
          aria-label="Find a file"
          placeholder="Find a file by its description"
          autoComplete="off"
          value={words}
          onChange={({ target }) => setWords(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") event.preventDefault();
          }}
        />
        {list.more}
      </>
    ),
  };
}
