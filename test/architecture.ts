// The rules that no linter checks. Each is a function that takes the files of the tree and returns its complaints.
import { posix } from "node:path";
import { core, type Layer, layers, lazyImports } from "./layers.ts";

/** Path from the root of the repository → text. */
export type Files = ReadonlyMap<string, string>;

type Import = { from: string; to: string; kind: "value" | "type" | "lazy" };

export function importsAgainstTheTable(files: Files): string[] {
  return productFiles(files).flatMap(([path, text]) => {
    const folder = folderOf(path);
    const layer = layers[folder];
    if (layer === undefined) return [`${path}: the folder "${folder}" is missing from test/layers.ts`];
    return importsIn(path, text).flatMap((edge) => objection(edge, folder, layer));
  });
}

function objection({ from, to, kind }: Import, folder: string, layer: Layer): string[] {
  if (!to.startsWith(".")) {
    const isAllowed = layer.packages === undefined || layer.packages.includes(packageOf(to));
    return isAllowed ? [] : [`${from}: ${folder} may not import the package ${to}`];
  }
  const target = posix.join(posix.dirname(from), to);
  if (!target.startsWith("src/")) return [`${from}: imports ${target}, which is not shipped`];
  const other = folderOf(target);
  if (other === folder || layer.mayImport.includes(other)) return [];
  if (kind === "type" && layer.typesOf?.includes(other)) return [];
  if (kind === "lazy" && lazyImports[from]?.includes(other)) return [];
  return [`${from}: ${folder} may not import ${other} (${to})`];
}

export function foldersInACircle(files: Files): string[] {
  const graph = new Map<string, Set<string>>();
  for (const [path, text] of productFiles(files)) {
    const folder = folderOf(path);
    const targets = graph.get(folder) ?? new Set();
    graph.set(folder, targets);
    for (const { to } of importsIn(path, text)) {
      const other = folderOf(posix.join(posix.dirname(path), to));
      if (to.startsWith(".") && other !== folder) targets.add(other);
    }
  }
  return [...graph.keys()]
    .filter((folder) => reaches(graph, folder, folder))
    .map((folder) => `src/${folder} imports itself by way of other folders`);
}

/** `import type` counts too. Two files that need each other's types belong in one file. */
export function filesInACircle(files: Files): string[] {
  const graph = new Map<string, Set<string>>();
  for (const [path, text] of sources(files)) {
    const edges = importsIn(path, text).filter(({ to, kind }) => to.startsWith(".") && kind !== "lazy");
    graph.set(path, new Set(edges.map(({ to }) => posix.join(posix.dirname(path), to))));
  }
  return [...graph.keys()]
    .filter((path) => reaches(graph, path, path))
    .map((path) => `${path} imports itself by way of other files`);
}

/** Names of the dashboard that mean the same in the rest of src, each with the reason why both have it. */
export const sameInTheDashboard: Readonly<Record<string, string>> = {
  Change: "the type that the contract declares, read from the operation",
  Changes: "the type that the contract declares, read from the operation",
  Position: "the type that the contract declares, read from the operation",
  efforts: "the values of the contract, of which the dashboard sees only types",
  sessionEnds: "the ends of the contract, each with its mark and word",
  call: "calls an operation, over HTTP or in the simulator",
  clockTime: "the time of day of an event",
  hasWords: "whether a text has all words of a search",
  left: "what is left of a budget, as a figure or as a text",
  titleOf: "the title of a request",
  verifyAll: "verifies the records of all companies",
  boardDecides: "says that the board decides",
  budgetChanged: "says that a budget was changed",
  noGoalYet: "says that the company has no goal",
  notSignedIn: "says that the caller is not signed in",
  rehearses: "says that the brain is a rehearsal",
  viewersRead: "says that a viewer can only read",
};

/** The entry of a package that is published. It exports what its users import. */
const packageEntries = new Set(["src/testing/fake-model/package.ts"]);

/**
 * Exported names are unique, so a search for a name finds one declaration. A name that is exported again has two homes. The
 * dashboard is a separate program, so some of its names repeat those of the rest with the same meaning. Its components are
 * named after what they show: `<Name>` in markup can't be taken for a type or a function.
 */
export function namesThatMeanTwoThings(
  files: Files,
  meansTheSame: Readonly<Record<string, string>> = sameInTheDashboard,
): string[] {
  const rest = new Map<string, Set<string>>();
  const web = new Map<string, Set<string>>();
  const components = new Set<string>();
  for (const [path, text] of productFiles(files)) {
    const isWeb = folderOf(path) === "web";
    for (const { name, isComponent } of exportsIn(path, text)) {
      const places = isWeb ? web : rest;
      places.set(name, (places.get(name) ?? new Set()).add(path));
      if (isWeb && isComponent) components.add(name);
    }
  }
  const twice = [...rest, ...web].filter(([, paths]) => paths.size > 1);
  const inBoth = [...web].flatMap(([name, paths]): [string, Set<string>][] => {
    const others = rest.get(name);
    const isAllowed = components.has(name) || name in meansTheSame;
    return others === undefined || isAllowed ? [] : [[name, new Set([...paths, ...others])]];
  });
  return [...twice, ...inBoth].map(([name, paths]) => `${name} is exported by ${[...paths].join(" and ")}`);
}

function exportsIn(path: string, text: string): { name: string; isComponent: boolean }[] {
  const declared = /^export (?:async )?(?:function\*?|const|let|type|interface|class) (\w+)( = memo\(|\()?/gm;
  const found = [...text.matchAll(declared)].map(([, name = "", called]) => ({
    name,
    isComponent: path.endsWith(".tsx") && /^[A-Z]/.test(name) && called !== undefined,
  }));
  if (packageEntries.has(path)) return found;
  const again = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
    names.split(",").map(
      (one) =>
        one
          .trim()
          .replace(/^type /, "")
          .split(" as ")
          .at(-1) ?? "",
    ),
  );
  return [...found, ...again.filter((name) => name !== "").map((name) => ({ name, isComponent: false }))];
}

/** Files that every folder of a kind has. The folder shows the reader which one is meant. */
const sameInEveryFolder = new Set(["operations", "table", "texts", "brain", "main"]);

/** The contract and the command line name their files after the same nouns as the domains, and so do tests and simulator. */
const namedAfterADomain = new Set(["contract", "cli", "simulator", "testing"]);

/** The files of the dashboard are compared with each other. A page has the name of what it shows, as in the rest of src. */
export function twinFileNames(files: Files): string[] {
  const paths = productFiles(files)
    .map(([path]) => path)
    .filter((path) => /\.tsx?$/.test(path));
  const complaints: string[] = [];
  const byStem = new Map<string, string[]>();
  for (const path of paths) {
    const stem = posix.basename(path).replace(/\.tsx?$/, "");
    if (path.endsWith(".ts") && paths.includes(posix.join(posix.dirname(path), `${stem}s.ts`)))
      complaints.push(`${path}: ${stem}s.ts beside it differs by one letter`);
    const folder = folderOf(path);
    if (sameInEveryFolder.has(stem) || namedAfterADomain.has(folder)) continue;
    const key = folder === "web" ? `web/${stem}` : stem;
    byStem.set(key, [...(byStem.get(key) ?? []), path]);
  }
  for (const twins of byStem.values())
    if (twins.length > 1) complaints.push(`${twins.join(" and ")} have the same name`);
  return complaints;
}

function reaches(graph: ReadonlyMap<string, ReadonlySet<string>>, from: string, goal: string): boolean {
  const seen = new Set<string>();
  const open = [...(graph.get(from) ?? [])];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    if (folder === goal) return true;
    if (seen.has(folder)) continue;
    seen.add(folder);
    open.push(...(graph.get(folder) ?? []));
  }
  return false;
}

const outsideWorld =
  /\bDate\.now\(|\bnew Date(?:\(\)|\b(?!\())|\bperformance\.now\(|\bMath\.random\(|\brandomUUID\(|\brandomBytes\(|\bset(?:Timeout|Interval|Immediate)\(|\bnode:timers\b|\bchild_process\b/g;

export function outsideWorldInTheCore(files: Files): string[] {
  return productFiles(files)
    .filter(([path]) => core.includes(folderOf(path)))
    .flatMap(([path, text]) =>
      [...withoutComments(text).matchAll(outsideWorld)].map(
        ([found]) => `${path}: ${found} belongs outside the core and comes in as a parameter`,
      ),
    );
}

const sinks = new RegExp(
  [
    // Markup
    String.raw`\b(?:dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc|srcDoc)\b`,
    String.raw`\b(?:setHTML|setHTMLUnsafe|parseHTMLUnsafe|DOMParser|XSLTProcessor)\b|\bdocument\??\.write(?:ln)?\b`,
    // Code
    String.raw`\b(?:eval|Function|execScript)\s*\(|\b(?:javascript|JavaScript|JAVASCRIPT):|\bset(?:Timeout|Interval)\s*\(\s*["'\x60]`,
  ].join("|"),
  "g",
);

/** In the dashboard, text never becomes markup or code. */
export function textThatBecomesMarkup(files: Files): string[] {
  return sources(files)
    .filter(([path]) => path.startsWith("src/web/"))
    .flatMap(([path, text]) =>
      [...withoutComments(text).matchAll(sinks)].map(
        ([found]) => `${path}: ${found} makes markup or code of text`,
      ),
    );
}

export function longFiles(files: Files): string[] {
  return sources(files)
    .map(([path, text]) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > 600)
    .map(({ path, lines }) => `${path}: ${lines} lines, 600 at most`);
}

const emptyWords = new Set(["util", "utils", "helper", "helpers", "common", "manager", "service"]);

export function namesThatSayNothing(files: Files): string[] {
  return sources(files)
    .map(([path]) => path)
    .filter((path) => path.split(/[/.-]/).some((word) => emptyWords.has(word)))
    .map((path) => `${path}: its name says nothing; take the word for what it does from the glossary`);
}

const machineTraces = [
  { trace: "a path of one particular machine", pattern: /(?<![\w.-])\/(?:work\/|root\/|home\/\w)/ },
  { trace: "the host of a package registry", pattern: /\/\/registry\./ },
  { trace: "where a package was downloaded", pattern: /"resolved":\s"http/ },
];

export function tracesOfAMachine(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    machineTraces.filter(({ pattern }) => pattern.test(text)).map(({ trace }) => `${path}: holds ${trace}`),
  );
}

export function testsLeftOut(files: Files): string[] {
  return sources(files)
    .filter(([path]) => isTest(path))
    .filter(([, text]) =>
      /\b(?:test|it|describe|suite|t)\.(?:skip|only|todo)\b|\bonly: true\b/.test(withoutComments(text)),
    )
    .map(([path]) => `${path}: every test runs, or it is deleted`);
}

/** A partial parser. It is enough for code that the formatter and the compiler have accepted. */
export function importsIn(from: string, text: string): Import[] {
  const code = withoutComments(text);
  const statements = [
    ...code.matchAll(/\b(?:import|export)\s+(type\s+)?(?:[^;'"`=()]*\sfrom\s*)?["']([^"']+)["']/g),
  ];
  const calls = [...code.matchAll(/\bimport\(\s*["'`]([^"'`]+)["'`]/g)];
  return [
    ...statements.map(([, type, to = ""]): Import => ({
      from,
      to,
      kind: type === undefined ? "value" : "type",
    })),
    ...calls.map(([, to = ""]): Import => ({ from, to, kind: "lazy" })),
  ];
}

function withoutComments(text: string): string {
  const stringOrComment = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/.*|\/\*[^]*?\*\//g;
  return text.replaceAll(stringOrComment, (_, string: string | undefined) => string ?? "");
}

/** The files in src, without tests. */
function productFiles(files: Files): [path: string, text: string][] {
  return sources(files).filter(([path]) => path.startsWith("src/") && !isTest(path));
}

function sources(files: Files): [path: string, text: string][] {
  return [...files].filter(([path]) => /\.(?:ts|tsx|js|mjs|css)$/.test(path));
}

function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}

/** "outcomes" of "src/outcomes/table.ts". A file directly in src has no folder. */
function folderOf(path: string): string {
  const [, folder = "", file] = path.split("/");
  return file === undefined ? "" : folder;
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
