import type { Client } from "../client/client.ts";
import { search, type FoundKind, foundKinds } from "../contract/finding.ts";
import { refusalOf } from "../contract/refusal.ts";
import { Id } from "../contract/words.ts";
import { isShortId } from "./short-ids.ts";
import { agentOf, companyOf, type Context } from "./terminal.ts";
import { notAnId, severalOfThem } from "./texts.ts";

/**
 * The id of the thing that a person names: by its id, its short id (O41), the name or slug of an agent or a company, or the
 * whole title of an outcome, file or request. Every command resolves its arguments here.
 */
export async function idNamed(
  context: Pick<Context, "shorts">,
  client: Client,
  noun: string,
  given: string,
  company?: string,
): Promise<string> {
  if (Id.safeParse(given).success) return given;
  if (noun === "company") return companyOf(client, given);
  const nouns = noun.split(" or ");
  if (isShortId(given)) {
    const found = await context.shorts.named(given);
    // Every outcome is a file too, and the mandate of an agent has the agent's id.
    const kinds = nouns.some((one) => one === "file" || one === "agent") ? [...nouns, "outcome"] : nouns;
    if (found !== undefined && kinds.includes(found.kind)) return found.id;
  }
  const hits = await titled(client, nouns, given, company);
  const exact = hits.filter(({ title }) => title.toLowerCase() === given.trim().toLowerCase());
  const [only] = exact;
  if (only !== undefined && exact.length === 1) return only.id;
  if (exact.length > 1)
    throw severalOfThem(
      noun,
      given,
      exact.map(({ id }) => id),
    );
  // The mandate of an agent has the agent's id.
  if (nouns.includes("agent")) return agentOf(client, given, company);
  if (nouns.includes("outcome")) {
    const agent = await agentOf(client, given, company).catch(() => undefined);
    if (agent !== undefined) return agent;
  }
  throw notAnId(
    noun,
    given,
    hits.map(({ id, title }) => `${id} ${title}`),
  );
}

const isSearched = (noun: string): noun is FoundKind => foundKinds.some((kind) => kind === noun);

async function titled(client: Client, nouns: readonly string[], given: string, company: string | undefined) {
  const hits: { id: string; title: string }[] = [];
  for (const kind of nouns) {
    if (!isSearched(kind) || kind === "agent" || !/[\p{L}\p{N}]/u.test(given)) continue;
    let companyId: string | undefined;
    const refused = await refusalOf(companyOf(client, company).then((id) => (companyId = id)));
    if (refused !== undefined) continue;
    const { groups } = await client.call(search, { companyId, q: given.slice(0, 500), kind, limit: 8 });
    hits.push(...groups.flatMap(({ found }) => found));
  }
  return hits;
}

/** `outcome:O41`, `kb:F12` and `mail:ada` name their things as commands do. */
export async function resourceNamed(
  context: Pick<Context, "shorts">,
  client: Client,
  given: string,
  company?: string,
): Promise<string> {
  const [, kind = "", name = ""] = /^(kb|outcome|mail):(.+)$/.exec(given) ?? [];
  if (name === "" || Id.safeParse(name).success) return given;
  const noun = kind === "kb" ? "file" : kind === "mail" ? "agent" : "outcome";
  return `${kind}:${await idNamed(context, client, noun, name, company)}`;
}
