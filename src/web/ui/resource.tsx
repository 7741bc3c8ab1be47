import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useHere } from "../data/company.ts";
import { useRowOf } from "../data/row-of.ts";
import { Line, Name, type Named } from "./words.tsx";

const kinds: Readonly<Record<string, readonly [kind: string, words: string]>> = {
  kb: ["file", "a knowledge file"],
  outcome: ["outcome", "an outcome"],
  mail: ["agent", "an agent"],
};

/** The resource of a right, with its name if it is known. Ids are never shown: the link has them. */
export function ResourceWords({
  resource,
  known = [],
}: {
  resource: string;
  known?: readonly Named[] | undefined;
}): ReactNode {
  const { company } = useHere();
  const [scheme = "", id = ""] = resource.split(/:(.*)/s);
  const named = known.find((each) => each.id === id)?.title;
  const isFile = scheme === "kb" && named == null;
  const file = useRowOf(ops.listFiles, "files", { companyId: company.id }, isFile ? id : null);
  const found = kinds[scheme];
  if (found === undefined || id === "board")
    return <Line text={id === "board" ? "mail to the board" : resource} />;
  const [kind, words] = found;
  const title = named ?? file?.description;
  return (
    <>
      {scheme === "mail" && "mail to "}
      <Name of={{ kind, id, title: title == null ? words : `“${title}”` }} />
    </>
  );
}

/** A right that a request asks for. */
export function RightWords({
  level,
  resource,
  title,
}: {
  level: string;
  resource: string;
  title: string | null;
}): ReactNode {
  if (resource === "org:hire") return "hire agents";
  return (
    <>
      {level} <Line text={title === null ? resource : `“${title}”`} />
    </>
  );
}
