import type { ReactNode } from "react";
import { ops } from "virtual:operations";
import { useAll } from "../data/reading.ts";
import { counted } from "./figures.tsx";
import { FieldDiff } from "./field-diff.tsx";

/** The differences to the revision before, field by field. */
export function ChangedFields({ id, revision }: { id: string; revision: number }): ReactNode {
  const revisions = useAll(ops.listRevisions, "revisions", revision > 1 ? { id } : null);
  const diff = revisions.find((each) => each.revision === revision)?.diff ?? [];
  if (diff.length === 0) return null;
  return (
    <section className="block" aria-labelledby="changed-fields">
      <header>
        <h2 id="changed-fields">Changed since revision {revision - 1}</h2>
        <span className="note">{counted(diff.length, "change")}</span>
      </header>
      <div className="diff">
        {diff.map((change) => (
          <FieldDiff key={change.field} {...change} />
        ))}
      </div>
    </section>
  );
}

/** The number of fields that differ from the revision that the person reads. */
export function ChangesSince({ id, revision }: { id: string; revision: number }): ReactNode {
  const later = useAll(ops.listRevisions, "revisions", { id }).filter((each) => each.revision > revision);
  const fields = new Set(later.flatMap(({ diff }) => diff.map(({ field }) => field)));
  return fields.size === 0 ? null : `${counted(fields.size, "change")}.`;
}
