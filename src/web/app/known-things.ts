import { ops } from "virtual:operations";
import { answersNow } from "../data/reading.ts";

/** Something with a page, as the search of the server names it. */
export interface Thing {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly detail: string;
}

/** What pages of this browser have read already, so the palette answers before the server does. */
export function knownThings(companyId: string): readonly Thing[] {
  const things = [
    ...answersNow(ops.listRoster, companyId).flatMap(({ agents }) =>
      agents.map(({ id, name, role }) => ({ kind: "agent", id, title: name, detail: role })),
    ),
    ...answersNow(ops.viewOrg, companyId).flatMap(({ agents }) =>
      agents.map(({ id, name, role }) => ({ kind: "agent", id, title: name, detail: role })),
    ),
    ...answersNow(ops.viewGraph, companyId).flatMap(({ outcomes }) =>
      outcomes.map(({ id, title, status, responsible }) => ({
        kind: "outcome",
        id,
        title,
        detail: `${status}, ${responsible?.name ?? "unassigned"}`,
      })),
    ),
    ...answersNow(ops.listFiles, companyId).flatMap(({ files }) =>
      files.map(({ id, description, kind }) => ({ kind: "file", id, title: description, detail: kind })),
    ),
    ...answersNow(ops.listSessions, companyId).flatMap(({ sessions }) =>
      sessions.map(({ id, agent, outcome, end }) => ({
        kind: "session",
        id,
        title: `Session of ${agent.name}${outcome?.title == null ? "" : `: ${outcome.title}`}`,
        detail: `session, ${end}`,
      })),
    ),
  ];
  return [...new Map(things.map((thing) => [`${thing.kind} ${thing.id}`, thing])).values()];
}

/** Every word is the beginning of a word of the text, as the server searches. */
export function hasWords(text: string, q: string): boolean {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return q
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .every((sought) => words.some((word) => word.startsWith(sought)));
}
