import { askDaemon } from "./where.ts";

/**
 * The short ids of one run of the command line: O41 for an outcome, a slug for an agent. Whatever is printed for people passes
 * here, and whatever people type may use them. They come from the daemon, which gives them only to people who see everything.
 * From a position the ids themselves are printed.
 */
export class ShortIds {
  readonly #env: NodeJS.ProcessEnv;
  readonly #short = new Map<string, string>();
  readonly #asked = new Set<string>();

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Asks for the short ids of all ids in a text that were not asked for before. */
  async learn(text: string): Promise<void> {
    const ids = [...new Set(text.match(anId)?.map(bare))].filter((id) => !this.#asked.has(id));
    for (let at = 0; at < ids.length; at += mostAtOnce) {
      const page = ids.slice(at, at + mostAtOnce);
      for (const id of page) this.#asked.add(id);
      const found = await this.#find(page);
      // Most likely the caller may not ask.
      if (found === undefined) return;
      for (const { id, short } of found) this.#short.set(id, short);
    }
  }

  /** The text with short ids, as far as they are known. A link to a file becomes the short id of the file. */
  readonly short = (text: string): string =>
    text.replace(anId, (found) => this.#short.get(bare(found)) ?? found);

  /** What a short id names. */
  async named(short: string): Promise<{ id: string; kind: string } | undefined> {
    return (await this.#find([short]))?.find((one) => one.short === short.toUpperCase());
  }

  async #find(ids: readonly string[]): Promise<Found[] | undefined> {
    const answer: { found?: Found[] } = Object(
      await askDaemon(this.#env, `/api/short-ids?ids=${encodeURIComponent(ids.join(","))}`),
    );
    return answer.found;
  }
}

interface Found {
  readonly id: string;
  readonly short: string;
  readonly kind: string;
}

const mostAtOnce = 200;
const anId =
  /(?:kb:\/\/|(?<![0-9a-f-]))[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f-])/g;

const bare = (found: string): string => found.replace("kb://", "");

export const isShortId = (given: string): boolean => /^[a-z]\d{1,15}$/i.test(given);
