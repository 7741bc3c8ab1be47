import { askDaemon } from "./where.ts";

/**
 * The short ids of one run of the command line: O41 for an outcome, a slug for an agent. All text for people passes here, and
 * people can type short ids. The daemon gives short ids only to people who see everything. From a position, plain ids are
 * printed.
 */
export class ShortIds {
  readonly #env: NodeJS.ProcessEnv;
  readonly #short = new Map<string, string>();
  readonly #asked = new Set<string>();

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Asks for the short ids of all new ids in a text. */
  async learn(text: string): Promise<void> {
    const ids = [...new Set(text.match(anId)?.map(bare))].filter((id) => !this.#asked.has(id));
    for (let at = 0; at < ids.length; at += mostAtOnce) {
      const page = ids.slice(at, at + mostAtOnce);
      for (const id of page) this.#asked.add(id);
      const found = await this.#find(page);
      // The caller probably may not ask.
      if (found === undefined) return;
      for (const { id, short } of found) this.#short.set(id, short);
    }
  }

  /** The text with the known short ids. A link to a file becomes the short id of the file. */
  readonly short = (text: string): string =>
    text.replace(anId, (found) => this.#short.get(bare(found)) ?? found);

  /** The thing that a short id names. */
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
