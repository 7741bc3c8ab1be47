// Builds the dashboard (src/web) into dist/web: bundled, named by content, and compressed. Part of scripts/build.ts.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { build, type Plugin } from "vite";
import { isBatched, takesBody } from "../src/contract/operation.ts";
import * as table from "../src/contract/operation-table.ts";

const root = join(import.meta.dirname, "../src/web");
const out = join(import.meta.dirname, "../dist/web");

const sharedByHome =
  /src\/web\/(?:ui\/(?:agent-name|batch-bar|beside|beside-context|beside-title|cut|decision|dialog|draft|edited|growing-text|holding|modal|move-focus|request|requested|resource)|data\/doing)\.tsx?$/;

/** Returns the source files of the bundle. */
export async function buildWeb(): Promise<string[]> {
  const used = new Set<string>();
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    // For versions of React that do not have it yet.
    resolve: { alias: [{ find: /^use-sync-external-store\/shim$/, replacement: "react" }] },
    plugins: [react(), tailwind(), layersInOrder(), operationsForPage(), noted(used)],
    build: {
      outDir: out,
      emptyOutDir: true,
      target: "es2024",
      // The policy of the page allows no data: URLs for fonts, and inlined files could not be cached.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // One file for the parts that Home shares with other pages: many small files compress worse.
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shared", test: sharedByHome }] } } },
    },
    worker: { format: "es", plugins: () => [noted(used)] },
  });
  writeFileSync(join(out, "files.json"), JSON.stringify(compressAll(out)));
  return [...used];
}

/**
 * The page calls operations by name, method and path. The contract itself would bring zod with it, which is larger than all of
 * these. Its types cost nothing: src/web/data/operations.ts has them.
 */
function operationsForPage(): Plugin {
  const id = "virtual:operations";
  return {
    name: "agency-operations",
    resolveId: (source) => (source === id ? id : null),
    load: (source) => {
      if (source !== id) return null;
      const called = namedInPage();
      // A page knows every call that can stand in the record. Of those that leave no trace, it knows the ones it makes.
      const known = table.exportedOperations.filter(
        ([key, { effect }]) => effect !== "read" || called.has(key),
      );
      const rows = known.map(([key, operation]) => {
        const flags = [
          ["body", takesBody(operation)],
          ["writes", operation.effect === "write"],
          ["text", operation.http.as === "text"],
          ["batched", isBatched(operation)],
        ] as const;
        const { method, path } = operation.http;
        return [key, operation.name, method, path, ...flags.flatMap(([name, is]) => (is ? [name] : []))].join(
          " ",
        );
      });
      // A line for each is smaller than JSON, also when it is compressed.
      return `export const ops = Object.fromEntries(${JSON.stringify(rows.join("\n"))}.split("\\n").map((line) => {
        const [key, name, method, path, ...flags] = line.split(" ");
        return [key, { name, method, path, ...Object.fromEntries(flags.map((flag) => [flag, true])) }];
      }));`;
    },
  };
}

/** The operations that the source of the dashboard names. */
function namedInPage(): ReadonlySet<string> {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const text = files.map((name) => readFileSync(join(root, name), "utf8")).join("\n");
  return new Set([...text.matchAll(/\bops\.(\w+)/g)].map(([, key = ""]) => key));
}

/**
 * The first style sheet that names a layer decides its rank. The bundler may load the sheet of a page, or of shared parts,
 * before that of the app. So every sheet begins with the order of all layers, which is declared in styles.css.
 */
function layersInOrder(): Plugin {
  const [order = ""] = /^@layer [^{]*?;/m.exec(readFileSync(join(root, "app/styles.css"), "utf8")) ?? [];
  if (order === "") throw new Error("src/web/app/styles.css declares no order of layers.");
  return {
    name: "agency-layers",
    enforce: "pre",
    transform: (code, id) =>
      id.startsWith(root) && id.endsWith(".css") ? { code: `${order}\n${code}`, map: null } : null,
  };
}

function noted(used: Set<string>): Plugin {
  return { name: "agency-noted", moduleParsed: ({ id }) => void used.add(id) };
}

/** Writes a compressed file beside each file that gets much smaller, and lists all files. */
function compressAll(folder: string): { path: string; gzip: boolean }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const bytes = readFileSync(file);
      const small = gzipSync(bytes, { level: 9, memLevel: 9 });
      const gzip = small.length < bytes.length * 0.9;
      if (gzip) writeFileSync(`${file}.gz`, small);
      return { path: file.slice(folder.length), gzip };
    });
}
