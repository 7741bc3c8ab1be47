import { memberName } from "../capabilities/members.ts";
import type { CallContext } from "../dispatch/context.ts";
import { tellOnce } from "../mail/notices.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { excerpt } from "../outcomes/results.ts";
import { dependenciesOf, liveDependentsOf, saveOutcome, setDependencies } from "../outcomes/table.ts";
import { dependencyClosed, partIsMissing } from "./texts.ts";

/**
 * A closed outcome never completes, so outcomes that depend on it would wait for ever. An integration drops the dependency
 * and notes in its description that the part is missing. For any other outcome, the agent that decides about it gets a
 * message: its delegator if it was delegated, otherwise its owner.
 */
export async function releaseDependents(
  call: CallContext,
  closed: readonly Pick<OutcomeRow, "id" | "title">[],
  rationale: string,
): Promise<void> {
  const { tx, actor } = call;
  for (const one of closed) {
    const { id } = one;
    const stuck = new Map<string | null, OutcomeRow[]>();
    for (const dependent of await liveDependentsOf(tx, id)) {
      if (dependent.kind === "integration") {
        const left = (await dependenciesOf(tx, dependent.id)).filter((dependency) => dependency.id !== id);
        await setDependencies(
          tx,
          dependent.id,
          left.map((dependency) => dependency.id),
        );
        const without = partIsMissing(one, excerpt(rationale, null, 1000));
        const description = `${dependent.description}\n\n${without}`;
        await saveOutcome(tx, { ...dependent, description }, actor);
        await call.record(
          dependent.id,
          { changed: ["dependsOn"], without: id, rationale: without },
          "outcome.update",
        );
      } else {
        const decides = dependent.delegated === 1 ? dependent.delegated_by : dependent.responsible_id;
        stuck.set(decides, [...(stuck.get(decides) ?? []), dependent]);
      }
    }
    for (const [to, waiting] of stuck)
      if (to !== actor.agentId)
        await tellOnce(call, {
          about: id,
          kind: `given up, to ${to ?? "the board"}`,
          to,
          text: dependencyClosed(
            await memberName(tx, actor.agentId),
            one,
            excerpt(rationale, null, 2000),
            waiting,
          ),
        });
  }
}
