import { memo, type ReactNode } from "react";

/** An option for each agent. A letter in a field beside the list does not render them again. */
export const AgentOptions = memo(function AgentOptions({
  of,
}: {
  of: readonly { readonly id: string; readonly name: string; readonly role: string }[];
}): ReactNode {
  return of.map(({ id, name, role }) => (
    <option key={id} value={id}>
      {name}, {role}
    </option>
  ));
});
