import { reading } from "../two-worlds/arguments.ts";
import type { Bug } from "./resolve.ts";

/** Leaks that the two worlds must find: one planted into each operation that reads, and several in the reading gate. */
export const leaks: readonly Bug[] = [
  ...reading.map(({ name, needs }) =>
    needs === "board"
      ? {
          name: `an agent may call ${name}, which is the board's`,
          edits: [
            {
              in: "run",
              find: 'if (needs === "board") {',
              replace: `if (needs === "board" && operation.name !== "${name}") {`,
            },
          ],
        }
      : {
          name: `the answer of ${name} tells the sizes of all files`,
          edits: [
            {
              in: "run",
              find: "return output;",
              replace: `return operation.name !== "${name}" ? output : { ...output, nextCursor: null, leak: await tx.all(query((db) => db.selectFrom("files").select("size").where("kind", "=", "file").orderBy("num")), {}) };`,
            },
          ],
        },
  ),
  {
    name: "search finds files that the searcher can't read",
    edits: [
      { in: "indexedMatches", find: "if (rank >= ranks.read) found", replace: "found" },
      { in: "matching", find: "if (agentId !== null)", replace: "if (agentId === '')" },
    ],
  },
  {
    name: "search orders by a score over the whole index",
    edits: [
      {
        in: "matching",
        find: '.orderBy("described", "desc").orderBy("f.updated_at", "desc")',
        replace:
          ".orderBy(sql`(select rank from search where rowid = f.num and search match ${fts5(words)})`)",
      },
      {
        in: "matches",
        find: ".toSorted((a, b) => b.described - a.described || b.updated_at - a.updated_at || b.num - a.num)",
        replace: "",
      },
    ],
  },
  {
    name: "truncated counts files that the searcher can't read",
    edits: [
      { in: "matching", find: "if (agentId !== null)", replace: "if (agentId === '')" },
      {
        in: "onSearch",
        find: "truncated: found.length > limit",
        replace: "truncated: (await matches(tx, companyId, null, words, limit)).length > limit",
      },
    ],
  },
  {
    name: "a cursor is a row number of the whole store",
    edits: [{ in: "listFor", find: "({ id }) => id", replace: "({ num }) => String(num)" }],
  },
  {
    name: "a file that was sent shows its newest version",
    edits: [
      {
        in: "knowledgeHandlers",
        find: 'versions === "all" ? file.version : Math.max(...versions)',
        replace: "file.version",
      },
      {
        in: "contentAt",
        find: "at === undefined || !includesVersion(await visibleVersions(tx, call.actor, file.id), version)",
        replace: "at === undefined",
      },
    ],
  },
  {
    name: "the history of a file that was sent shows versions that were not",
    edits: [{ in: "knowledgeHandlers", find: 'versions === "all" ? rows', replace: "true ? rows" }],
  },
  {
    name: "the access log of a mandate shows the events of its agent",
    edits: [
      {
        in: "accessesOf",
        find: "operation = 'mail.compact'",
        replace: "operation like 'mail.%'",
      },
    ],
  },
  {
    name: "an agent that was sent one version sees the links of the newest",
    edits: [{ in: "onLinks", find: "await demandAllVersions(tx, actor, file.id);", replace: "" }],
  },
  {
    name: "a backlink shows a file that the reader may not know of",
    edits: [{ in: "onLinks", find: "&& (await isKnown(tx, actor, `kb:${id}`))", replace: "" }],
  },
  {
    name: "a message shows a text that its reader may no longer read",
    edits: [
      {
        in: "contentFor",
        find: "if (!includesVersion(readable, version)) return undefined;",
        replace: "",
      },
      {
        in: "contentFor",
        find: "{ id: fileId, version }",
        replace: "{ id: fileId, version: (await fileById(tx, fileId)).version }",
      },
    ],
  },
  {
    name: "the neighbours of an outcome are shown with their titles",
    edits: [{ in: "neighbours", find: "(await visible(tx, viewer, `outcome:${id}`))", replace: "id !== ''" }],
  },
  {
    name: "the ancestors of an outcome are shown with their titles",
    edits: [
      {
        in: "onAncestors",
        find: "await visible(tx, actor, `outcome:${parent.id}`)",
        replace: "true",
      },
    ],
  },
  {
    name: "the outcomes below an outcome are listed although they can't be read",
    edits: [
      {
        in: "readableBelow",
        find: "|| !(await visible(tx, { agentId }, `outcome:${child.id}`))",
        replace: "",
      },
    ],
  },
  {
    name: "why follows outcomes that the caller can't read",
    edits: [
      {
        in: "visibleOutcomes",
        find: "if (await visible(tx, viewer, `outcome:${outcome.id}`)) kept",
        replace: "kept",
      },
    ],
  },
  {
    name: "explain_access tells whether a thing exists",
    edits: [{ in: "explain", find: "(await isKnown(tx, viewer, resource))", replace: "agent.id !== ''" }],
  },
  {
    name: "a grant shows the title of an outcome that its holder can't read",
    edits: [
      { in: "visibleScope", find: "(await visible(tx, viewer, `outcome:${id}`))", replace: "id !== ''" },
    ],
  },
  {
    name: "an agent sees mail to it before it is delivered",
    edits: [
      {
        in: "deedsOf",
        find: "and operation not in ('mail.send', 'mail.send_deferred', 'mail.fail')",
        replace: "",
      },
    ],
  },
  {
    name: "every agent sees how the work of another was reviewed",
    edits: [{ in: "onView", find: "reviews: null, person: null,", replace: "person: null," }],
  },
  {
    name: "the file of an outcome lists inboxes",
    edits: [
      { in: "listedChildren", find: "sql`and o.kind <> 'inbox'`", replace: "sql``" },
      { in: "insertOutcome", find: 'row.kind === "inbox" ? [] : ', replace: "" },
    ],
  },
  {
    name: "the timeline of an outcome tells what hidden work cost",
    edits: [
      {
        in: "onTimeline",
        find: "actor.agentId === null || (await readsBelow(tx, actor.agentId, id))",
        replace: "id !== ''",
      },
    ],
  },
  {
    name: "a refusal of event.export tells an agent which months were removed",
    edits: [
      {
        in: "run",
        find: 'if (needs === "board") {',
        replace: 'if (needs === "board" && operation.name !== "event.export") {',
      },
      { in: "onExport", find: "{ tx, companyId, input }", replace: "{ tx, companyId, input, actor }" },
      { in: "onExport", find: "if (first > last)", replace: "if (first > last || actor.agentId !== null)" },
    ],
  },
  // Lists that are answered from memory.
  {
    name: "an answer from memory belongs to every credential",
    edits: [{ in: "KeptAnswers", find: "${hashToken(token)}", replace: "" }],
  },
  {
    name: "an answer from memory belongs to every position of a person",
    edits: [{ in: "KeptAnswers", find: "[as ?? null, input]", replace: "[input]" }],
  },
  {
    name: "an answer from memory belongs to every input",
    edits: [{ in: "KeptAnswers", find: "[as ?? null, input]", replace: "[as ?? null]" }],
  },
  {
    name: "an answer from memory outlives changes of its company",
    edits: [
      {
        in: "KeptAnswers",
        find: "(await headsOf(tx, entry.companyId)).text === entry.heads",
        replace: "entry.heads !== ''",
      },
    ],
  },
  {
    name: "an answer from memory outlives every commit",
    edits: [{ in: "KeptAnswers", find: "commits === entry.commits", replace: "commits > 0" }],
  },
  {
    name: "an answer from memory outlives changes of people",
    edits: [{ in: "twoHeads", find: '[p.companyId, ""]', replace: "[p.companyId]" }],
  },
  {
    name: "an answer from memory outlives the time it is true for",
    edits: [{ in: "KeptAnswers", find: "tx.now < entry.until", replace: "tx.now > 0" }],
  },
];
