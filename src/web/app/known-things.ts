import { ops } from "virtual:operations";
import { answersNow } from "../data/reading.ts";

/** A thing with a page, as in the results of the server's search. */
export interface Thing {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly detail: string;
}

/** Things that pages of this browser have already read. With them, the palette answers before the server does. */
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

/** Tells of a text whether every word of `q` begins a word of it, as in the server's search. */
export function hasWords(q: string): (text: string) => boolean {
  const words = q.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const sought = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${word}`, "iu"));
  return (text) => sought.every((each) => each.test(text));
}
