import { z } from "zod";

/** Output of programs and results of tools, as the ears read them. */

export function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The text of a tool's result, which is a text or a list of parts. Pictures and the like are left out. */
export function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = z.array(z.looseObject({ text: z.string().optional() })).safeParse(content);
  return parts.success ? parts.data.map(({ text }) => text ?? "").join("\n") : "";
}
