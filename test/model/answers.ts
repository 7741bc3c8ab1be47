import { childrenOf, nothing, rankOf, seenRank, selfAndAbove, type World } from "./model.ts";
import type { ModelCall } from "./calls.ts";
import { compareWorkable, known, same, Violation } from "./check.ts";

/** Demands that the product's answer agrees with the model. */
export function checkAnswer(world: World, call: ModelCall, answer: Record<string, unknown>): void {
  if (call.operation.startsWith("outcome."))
    return compareOutcome(world, call.actor, answer as unknown as SeenOutcome, Date.now());
  switch (call.operation) {
    case "permission.explain": {
      const { id } = answer["agent"] as { id: string };
      const held = seenRank(world, id, call.input.resource);
      const level = answer["level"] as keyof typeof rankOf;
      same(`allowed, of ${id} on ${call.input.resource}`, answer["allowed"], held >= rankOf[level]);
      const rank = answer["held"] === null ? nothing : rankOf[answer["held"] as keyof typeof rankOf];
      same(`held, by ${id} on ${call.input.resource}`, rank, held);
      return;
    }
    case "knowledge.create":
    case "knowledge.write":
    case "knowledge.read": {
      const file = known("file", world.files, String(answer["id"]));
      if (file.kind === "outcome") return;
      same(`version of file ${file.id}`, answer["version"], file.hashes.length);
      same(`hash of file ${file.id}`, answer["hash"], file.hashes.at(-1));
      return;
    }
    default:
  }
}

export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

/** A refusal says what happened and what to do next. After a write to an old version it gives the current version and hash. */
export function checkRefusal(world: World, call: ModelCall, refused: Refused): void {
  if (refused.message === "" || refused.hint === "")
    throw new Violation(`${call.operation} is refused (${refused.code}) without a word`);
  if (call.operation !== "knowledge.write" || refused.code !== "conflict") return;
  const file = known("file", world.files, call.input.id);
  same(`version of file ${file.id} in the refusal`, refused.details?.["version"], file.hashes.length);
  same(`hash of file ${file.id} in the refusal`, refused.details?.["hash"], file.hashes.at(-1));
}

/** An outcome as an operation returns it. */
interface SeenOutcome {
  readonly id: string;
  readonly status: string;
  readonly responsible: { readonly id: string } | null;
  readonly delegated: boolean;
  readonly delegatedBy: { readonly id: string } | null;
  readonly parents: readonly { readonly id: string }[];
  readonly children: readonly { readonly id: string }[];
  readonly dependsOn: readonly { readonly id: string }[];
  readonly workable: boolean;
}

function compareOutcome(world: World, actor: string, seen: SeenOutcome, now: number): void {
  const outcome = known("outcome", world.outcomes, seen.id);
  const ids = (refs: Iterable<{ readonly id: string } | string>): string =>
    [...refs]
      .map((ref) => (typeof ref === "string" ? ref : ref.id))
      .toSorted()
      .join(" ");
  same(`status of ${seen.id} as answered`, seen.status, outcome.status);
  same(`owner of ${seen.id} as answered`, seen.responsible?.id ?? null, outcome.responsibleId);
  same(`whether ${seen.id} is handed down, as answered`, seen.delegated, outcome.handedDown);
  same(`who handed ${seen.id} down, as answered`, seen.delegatedBy?.id ?? null, outcome.handedDownBy);
  same(`parents of ${seen.id} as answered`, ids(seen.parents), ids(outcome.parents));
  // Inboxes are left out, because the model does not cover mail. The check of the rows finds any extra child.
  const children = seen.children.filter(({ id }) => world.outcomes.has(id));
  same(`children of ${seen.id} as answered`, ids(children), ids(childrenOf(world, seen.id)));
  same(`dependencies of ${seen.id} as answered`, ids(seen.dependsOn), ids(outcome.dependsOn));
  // Only actors that may read everything below it learn whether it can be worked on.
  const seesBelow = [...selfAndAbove(world, seen.id)].some((id) => {
    const above = world.outcomes.get(id);
    return above?.responsibleId === actor || above?.handedDownBy === actor;
  });
  if (actor === "board" || seesBelow) compareWorkable(world, outcome, seen.workable, now);
  else same(`whether ${seen.id} is workable, to an agent that can't see below it`, seen.workable, false);
}
