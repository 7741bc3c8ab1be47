import type { CallContext } from "../dispatch/context.ts";
import { tellOnce } from "../mail/notices.ts";
import type { OutcomeRow } from "../outcomes/outcome.ts";
import { excerpt } from "../outcomes/results.ts";
import { dependenciesOf, liveDependentsOf, saveOutcome, setDependencies } from "../outcomes/table.ts";

/**
 * Who depended on what was given up, and would wait for ever. What is put together is put together without that part, and
 * says so; whoever decides on anything else is told that it cannot go on.
 */
export async function goOnWithout(
  call: CallContext,
  closed: readonly Pick<OutcomeRow, "id" | "title">[],
  rationale: string,
): Promise<void> {
  const { tx, actor } = call;
  for (const { id, title } of closed) {
    const stuck = new Map<string | null, OutcomeRow[]>();
    for (const dependent of await liveDependentsOf(tx, id)) {
      if (dependent.kind === "integration") {
        const left = (await dependenciesOf(tx, dependent.id)).filter((dependency) => dependency.id !== id);
        await setDependencies(
          tx,
          dependent.id,
          left.map((dependency) => dependency.id),
        );
        const without = `"${title}" was given up: ${excerpt(rationale, null, 1000)}`;
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
          text: [
            `"${title}" (kb://${id}) was given up: ${excerpt(rationale, null, 2000)}`,
            "",
            "This depends on it and cannot go on: change what it depends on (update_outcome with dependsOn), or close it.",
            ...waiting.slice(0, 20).map((outcome) => `- "${outcome.title}" (kb://${outcome.id})`),
          ].join("\n"),
        });
  }
}
