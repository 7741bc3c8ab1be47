// Finds the code that a planted bug changes: an expression inside the declaration of a name. The file and the line breaks
// don't matter, so a bug still fits after code was moved, formatted or partly rewritten.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Edit {
  /** The name of a function, constant or class declared at the top of a module of the product. */
  readonly in: string;
  /** The text to replace. It occurs once in that declaration. */
  readonly find: string;
  readonly replace: string;
}

export interface Bug {
  readonly name: string;
  /** Several edits if one guard backs up another. Then only the lack of both is a bug. */
  readonly edits: readonly Edit[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The changed text of each module that the edits touch, by its path. Throws if an edit does not fit exactly once. */
export function changedModules(edits: readonly Edit[]): Map<string, string> {
  const changed = new Map<string, string>();
  for (const edit of edits) {
    const pattern = patternOf(edit.find);
    const places = modules().flatMap((file) => {
      const text = changed.get(file) ?? textOf(file);
      return declarationsOf(edit.in, text).flatMap(({ start, end }) =>
        [...text.slice(start, end).matchAll(pattern)].map(({ index, 0: found }) => ({
          file,
          text: text.slice(0, start + index) + edit.replace + text.slice(start + index + found.length),
        })),
      );
    });
    const [place] = places;
    if (place === undefined || places.length > 1)
      throw new Error(`"${edit.in}" holds ${places.length} times, not once: ${edit.find}`);
    changed.set(place.file, place.text);
  }
  return changed;
}

let known: string[] | undefined;
function modules(): string[] {
  known ??= globSync("src/**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts") && !/^src\/(?:testing|simulator)\//.test(file))
    .map((file) => join(root, file));
  return known;
}

const texts = new Map<string, string>();
function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(file, "utf8");
  texts.set(file, text);
  return text;
}

/** A declaration ends before the next line that begins at the margin with anything but a closing bracket. */
function declarationsOf(name: string, text: string): { start: number; end: number }[] {
  if (!text.includes(` ${name}`)) return [];
  const declaration = new RegExp(`^(?:export )?(?:async )?(?:function\\*?|const|let|class) ${name}\\b`, "gm");
  return [...text.matchAll(declaration)].map(({ index }) => {
    const rest = text.slice(index).search(/\n[^\s)\]}]/);
    return { start: index, end: rest === -1 ? text.length : index + rest + 1 };
  });
}

/** A pattern for the same tokens with any spacing and line breaks. */
function patternOf(expression: string): RegExp {
  const tokens = expression.match(/[\w$]+|[^\s\w$]/g) ?? [];
  const pieces = tokens.map((token, index) => {
    const isWord = /^[\w$]/.test(token);
    const gap = isWord && /^[\w$]/.test(tokens[index - 1] ?? "") ? "\\s+" : index === 0 ? "" : "\\s*";
    const comma = /^[)\]}]/.test(token) && index > 0 ? ",?\\s*" : "";
    return gap + comma + token.replace(/[^\w]/, "\\$&");
  });
  return new RegExp(pieces.join(""), "g");
}
