/** The text of an entry in an outcome's history, after the name of the actor. */

type Changes = Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;

export interface HistoryWords {
  readonly says: string;
  /** The words of the actor. */
  readonly quote?: string;
}

const deeds: Readonly<Record<string, string>> = {
  "outcome.create": "created it",
  "goal.create": "gave it as a goal",
  "outcome.update": "changed it",
  "outcome.submit": "submitted it",
  "outcome.complete": "completed it",
  "outcome.close": "closed it",
  "outcome.reopen": "reopened it",
  "outcome.delegate": "delegated it",
  "outcome.reclaim": "took it back",
  "outcome.decide": "decided about it",
  "outcome.move": "gave it another owner",
  "outcome.restore": "restored it",
  "outcome.stall": "blocked it, because its sessions made no progress",
  "org.plan_work": "divided it",
};

/** Fields that are only named, because their page or file has both values. */
const fields: Readonly<Record<string, string>> = {
  description: "the description",
  acceptance: "how it is verified",
  budget: "its budget",
  parents: "what it serves",
  dependsOn: "what it waits for",
};

const listFormat = new Intl.ListFormat("en-GB");
const listed = (parts: readonly string[]): string => listFormat.format(parts);

export function historyWords(action: string, changes: Changes, timeOf: (at: string) => string): HistoryWords {
  const block = changes["blocked"]?.after;
  const { reason, until }: { reason?: unknown; until?: unknown } = Object(block);
  const named = Object.keys(changes).flatMap((field) => fields[field] ?? []);
  const parts = [
    ...("blocked" in changes
      ? [
          block == null
            ? "unblocked it"
            : `blocked it${typeof until === "string" ? ` until ${timeOf(until)}` : ""}`,
        ]
      : []),
    ...("title" in changes ? [`renamed it from “${String(changes["title"]?.before)}”`] : []),
    ...["important", "urgent"].flatMap((flag) =>
      flag in changes
        ? [changes[flag]?.after === true ? `marked it as ${flag}` : `unmarked it as ${flag}`]
        : [],
    ),
    ...(named.length > 0 ? [`changed ${listed(named)}`] : []),
  ];
  return {
    says:
      parts.length > 0
        ? listed(parts)
        : (deeds[action] ?? (action.split(".").at(-1) ?? action).replaceAll("_", " ")),
    ...(typeof reason === "string" && { quote: reason }),
  };
}
