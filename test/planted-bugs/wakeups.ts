import type { Bug } from "./resolve.ts";

/** Bugs that a sweep of the scheduler would hide. The simulator must find them in runs without faults and without the sweep. */
export const wakeupBugs: readonly Bug[] = [
  {
    name: "an agent that waits for a free session is not considered when one ends",
    edits: [
      {
        in: "createScheduler",
        find: "if (freesAPlace.has(operation)) agents.placeFreed(company_id);",
        replace: "",
      },
    ],
  },
  {
    name: "a wakeup is lost: an agent that depends on an ended outcome is not woken",
    edits: [
      {
        in: "around",
        find: "where d.depends_on_id in (${these})",
        replace: "where d.depends_on_id = ''",
      },
    ],
  },
  {
    name: "a wakeup is lost: the owner of the parent is not woken",
    edits: [{ in: "around", find: "where e.child_id in (${these})", replace: "where e.child_id = ''" }],
  },
  {
    name: "a wakeup is lost: an agent that is blocked on an outcome is not woken",
    edits: [{ in: "around", find: "where blocked_on in (${these})", replace: "where blocked_on = ''" }],
  },
  {
    name: "a wakeup is lost: the owner of the former parent of a moved outcome is not woken",
    edits: [
      {
        in: "concerned",
        find: "if (Array.isArray(parentsLeft))",
        replace: "if (Array.isArray(parentsLeft) && parentsLeft.length > 1_000_000)",
      },
    ],
  },
  {
    name: "a wakeup is lost: the end of a block by time",
    edits: [
      {
        in: "createScheduler",
        find: "alarmsAfter: alarmsSeen",
        replace: "alarmsAfter: tx.now",
      },
    ],
  },
  {
    name: "a wakeup is lost: the end of a pause after sessions that did nothing",
    edits: [
      {
        in: "agentsAhead",
        find: "if (time <= now && later.delete(id)) toLookAt.add(id);",
        replace: "if (time <= now) later.delete(id);",
      },
    ],
  },
  {
    name: "the event follower sometimes skips an event",
    edits: [
      {
        in: "createScheduler",
        find: "markSeen(seen, events);",
        replace:
          "for (const { company_id, seq } of events) seen.set(company_id, seq + (seq % 5 === 0 ? 1 : 0));",
      },
    ],
  },
  {
    name: "a wakeup is lost: the end of a freeze",
    edits: [{ in: "freesAPlace", find: '"company.thaw",', replace: "" }],
  },
];
