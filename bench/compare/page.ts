import { type Compared, type Figured, figured, type Span } from "./turns.ts";

/** Writes the page docs/benchmarks.md. All its figures come from the run. */
export function asPage({ at, machine, rounds, seconds, rows, clients, raw, systems }: Compared): string {
  const heads = systems.map(({ name, version, database }) => `${name} ${version}, ${database}`);
  const lines = figured.map(([key, what]) => [
    what,
    ...systems.map(({ figures }) => shownAs(key, figures.get(key))),
  ]);
  const table = [["", ...heads], ["---", ...heads.map(() => "---:")], ...lines];
  return `# Benchmarks

\`npm run bench:compare\` wrote this page on ${at}. Do not edit it: run the command again.

Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, Node ${machine.node}, PostgreSQL ${machine.postgres}.

${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}

Each figure is the median of ${rounds} rounds, with the lowest and the highest in brackets. The systems took turns in each round, and only
one ran at a time. A slice took ${seconds} seconds after a warm-up. Every call went over HTTP from another process, over ${clients} connections that
stay open. Each list had ${rows.toLocaleString("en")} work items. Systems with PostgreSQL used the same server, whose memory and size are not counted.

A loop that only commits one row of 1 kB reached ${rate(raw.sqlite)} with SQLite and ${rate(raw.postgres)} with PostgreSQL in the same rounds.

_Failed_: in at least one round, a call was refused or was not answered within 20 seconds.

What the work is: a work item is an outcome of Agency and an issue of Paperclip. A message is a message to the root agent, and a
comment on an issue. A hire is asked for and then approved by the board, in two calls. A restart ends when the system says that it is
healthy. Memory is that of all its processes after a pause; what they share counts once. The size is that of \`node_modules\` after
\`npm install\`.
`;
}

function shownAs(key: Figured, span: Span | undefined): string {
  if (span === undefined) return "";
  if (span.failed > 0) return "failed";
  if (key === "restart") return withRange(span, (value) => `${(value / 1000).toFixed(2)} s`);
  if (key === "memory") return withRange(span, (value) => `${value.toFixed(0)} MB`);
  if (key === "size")
    return `${span.median.toLocaleString("en", { maximumFractionDigits: span.median < 100 ? 1 : 0 })} MB`;
  return rate(span);
}

const rate = (span: Span): string =>
  withRange(
    span,
    (value) => `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })}/s`,
  );

function withRange({ median, least, most }: Span, show: (value: number) => string): string {
  return `${show(median)} (${show(least).replace(/[^\d.,]+$/, "")}–${show(most).replace(/[^\d.,]+$/, "")})`;
}
