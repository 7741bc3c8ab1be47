/** A sentence of the record in parts. A part with a link leads to the thing that it names. */
export interface SentencePart {
  readonly text: string;
  readonly of?: NamedThing;
}

export interface NamedThing {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
}

/** The first thing is searched for at the start, where the sentence names the actor, and the second one after it. */
export function sentenceParts(
  says: string,
  who: NamedThing | undefined,
  about: NamedThing | undefined,
): readonly SentencePart[] {
  const parts: SentencePart[] = [];
  let rest = says;
  if (who !== undefined && rest.startsWith(`${who.title} `)) {
    parts.push({ text: who.title, of: who });
    rest = rest.slice(who.title.length);
  }
  // The name as the sentence writes it: quotes within quotes are single, and a name within a sentence begins with a small
  // letter.
  const written = (about?.title ?? "").replaceAll('"', "'");
  const found = [written, written.replace(/^The /, "the ")].find(
    (title) => title !== "" && rest.includes(title),
  );
  if (found === undefined || about === undefined) return [...parts, { text: rest }];
  const at = rest.indexOf(found);
  return [
    ...parts,
    { text: rest.slice(0, at) },
    { text: found, of: about },
    { text: rest.slice(at + found.length) },
  ].filter(({ text }) => text !== "");
}
