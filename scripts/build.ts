// Makes dist, the content of the published package: the command, the programs that Agency starts, the dashboard, and the
// licences of the packages inside. `npm run types` checks the types; this only bundles (docs/decisions/0059-one-bundle.md).
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { rolldown } from "rolldown";
import { buildWeb } from "./build-web.ts";

const root = join(import.meta.dirname, "..");
const out = join(root, "dist");

/** The programs that Node runs. Each keeps its place: sources and bundle find each other by the same relative paths. */
const programs = [
  "cli/main",
  "processes/gate",
  "processes/watchdog-process",
  "gateway/courier-process",
  "brains/rehearsal/main",
  "brains/rehearsal/plain",
  "brains/api/main",
  "brains/acp/main",
];

rmSync(out, { recursive: true, force: true });
const used = [...(await buildPrograms()), ...(await buildWeb())];
writeFileSync(join(out, "licenses.txt"), licensesOf(used));
chmodSync(join(out, "cli/main.js"), 0o755);

async function buildPrograms(): Promise<string[]> {
  const bundle = await rolldown({
    input: {
      ...Object.fromEntries(programs.map((path) => [path, join(root, "src", `${path}.ts`)])),
      // For users who test their own organizations.
      "fake-model": join(root, "src/testing/fake-model/package.ts"),
    },
    platform: "node",
    // Optional: pg uses the package only if it is installed.
    external: ["pg-native"],
    // Leave out the names of the source files.
    experimental: { attachDebugInfo: "none" },
  });
  const { output } = await bundle.write({
    dir: out,
    entryFileNames: "[name].js",
    // Two folders below the package, because the sources look for files relative to their own place.
    chunkFileNames: "parts/[name]-[hash].js",
    // licenses.txt has the licences of the packages.
    comments: false,
  });
  await bundle.close();
  for (const file of output)
    if (file.type === "chunk") writeFileSync(join(out, file.fileName), inAscii(withPlainHttp(file.code)));
  return output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
}

/**
 * An `import` of node:http reads all its exports. Some of them belong to `fetch`, which is then loaded: 15 MB and 30 ms of
 * every start. `require` does not read them.
 */
function withPlainHttp(code: string): string {
  const plain = code.replaceAll(
    /^import (.+) from "(?:node:)?http";$/gm,
    (_, names: string) =>
      `const ${names.replace(/^\* as /, "").replaceAll(/ as /g, ": ")} = process.getBuiltinModule("node:http");`,
  );
  if (/\bimport\b[^;\n]*["'](?:node:)?http["']/.test(plain))
    throw new Error("node:http is imported in another way");
  return plain;
}

/**
 * Node keeps the text of a program in memory. With a single character beyond Latin-1, it needs two bytes for every character.
 */
function inAscii(code: string): string {
  if (/String\.raw`[^`]*[^\0-\x7f]/.test(code))
    throw new Error("String.raw would show the escapes of this text");
  return code.replaceAll(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The licences of the packages that these files belong to. */
function licensesOf(files: readonly string[]): string {
  const folders = new Set(files.map(packageOf).filter((folder) => folder !== undefined));
  return [...folders]
    .map((folder) => {
      const { name, version, license } = Object(
        JSON.parse(readFileSync(join(folder, "package.json"), "utf8")),
      );
      const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      const body = text === undefined ? "" : readFileSync(join(folder, text), "utf8").trim();
      return `${name} ${version} (${license})\n\n${body}\n`;
    })
    .toSorted()
    .join(`\n${"-".repeat(80)}\n\n`);
}

function packageOf(file: string): string | undefined {
  if (!file.includes(`${sep}node_modules${sep}`)) return undefined;
  let folder = dirname(file.replace(/^\0/, ""));
  while (!isPackage(folder)) folder = dirname(folder);
  return folder;
}

/** Some packages have a package.json in each folder that only defines the module format. */
function isPackage(folder: string): boolean {
  const manifest = join(folder, "package.json");
  return existsSync(manifest) && /"version"/.test(readFileSync(manifest, "utf8"));
}
