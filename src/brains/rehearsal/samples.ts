import { quoteBlock } from "../../contract/phrases.ts";
import { roleFor, subjectOf } from "./wording.ts";

/** The files of a rehearsal. Each has the form of a real result and says that it is a sample. */

export const sampleMark =
  "This is a sample. The rehearsal has no model, so the file shows the form of a result and not a real one.";

/** A file with its heading before the body. `bodyIn` finds the body again. */
const page = (title: string, body: string): string => `# ${title}\n\n> ${sampleMark}\n\n${body.trim()}\n`;

export const bodyIn = (content: string): string =>
  content
    .replace(/^# .*\n+/, "")
    .replace(`> ${sampleMark}`, "")
    .trim();

export function sampleFile(title: string): string {
  const piece = title.replace(/^Draft: /, "");
  const subject = subjectOf(piece);
  return page(piece, bodies[roleFor(piece)]?.(subject) ?? text(subject));
}

const text = (subject: string): string =>
  [
    `The first paragraph says in two sentences what ${subject} is about, and who should read it.`,
    "The second paragraph gives the details: one thought in each sentence, and an example the reader knows.",
    "The last paragraph says what the reader can do next, and where to ask.",
  ].join("\n\n");

const bodies: Readonly<Record<string, (subject: string) => string>> = {
  Planner: (subject) =>
    table([
      ["When", "Step", "Done when"],
      ["Week 1", `Agree on what ${subject} needs`, "the list is written down"],
      ["Week 2", "Ask for offers and reserve", "every point of the list has a name next to it"],
      ["Week 3", "Confirm and tell everyone", "no point of the list is open"],
    ]),
  Researcher: (subject) =>
    `${table([
      [`Options for ${subject}`, "For", "Against"],
      ["Option A", "cheap and quick", "covers only the common case"],
      ["Option B", "covers every case", "takes twice as long"],
      ["Option C", "already known here", "hard to change later"],
    ])}\n\nRecommendation: start with option A, and look again after a month.`,
  Designer: (subject) =>
    [
      `A sketch of ${subject}:`,
      "```",
      "+------------------------------+",
      "|            TITLE             |",
      "|  picture     |  three lines  |",
      "|              |  of text      |",
      "|       where to find us       |",
      "+------------------------------+",
      "```",
      "Two colours, one font, and room around the title.",
    ].join("\n"),
  Engineer: (subject) =>
    [
      `1. Build the smallest version of ${subject} that works.`,
      "2. Add a test for each acceptance criterion.",
      "3. Let another agent try it, and fix what it finds.",
    ].join("\n"),
};

const table = ([head = [], ...rows]: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** A file that the player read, with the outcome that delivered it. */
export interface OpenedFile {
  readonly id: string;
  readonly title: string;
  readonly content: string;
}

/** The report of a check. Unlike other samples, it is true: the files were opened. */
export const checkFile = (title: string, found: readonly OpenedFile[], criteria: string | null): string =>
  page(
    title,
    [
      table([
        ["Result", "File", "Words", "Marked as a sample"],
        ...found.map(({ id, title: of, content }) => [
          of.replaceAll("|", "\\|"),
          `kb://${id}`,
          String(wordCount(content)),
          content.includes(sampleMark) ? "yes" : "no",
        ]),
      ]),
      ...(criteria === null
        ? []
        : [`A person compares the results with these criteria:\n\n${quoteBlock(criteria)}`]),
    ].join("\n\n"),
  );

export const combinedFile = (title: string, found: readonly OpenedFile[]): string =>
  page(
    title,
    [
      `Combined from:\n\n${found.map((one) => `- ${one.title}: kb://${one.id}`).join("\n")}`,
      ...found.map((one) => `## ${one.title}\n\n${bodyIn(one.content).replace(/^#/gm, "##")}`),
    ].join("\n\n"),
  );

/** A new version of a file that was sent back. */
export const revisedFile = (content: string, requests: readonly string[]): string =>
  `${content.replace(/\n## Changed on request\n[^]*$/, "").trimEnd()}\n\n## Changed on request\n\n${requests
    .map((request) => `${quoteBlock(request)}\n\nA real result would have the change here.`)
    .join("\n\n")}\n`;

export const wordCount = (content: string): number =>
  content.split(/\s+/).filter((word) => word !== "").length;
