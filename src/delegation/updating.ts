import { updateOutcome } from "../contract/outcomes.ts";
import { guarded } from "../dispatch/guarded.ts";
import { changeOutcome } from "../outcomes/operations.ts";
import { presentOutcome } from "../outcomes/presenting.ts";
import { tellOwner } from "../mail/notices.ts";
import { changedByOther } from "../outcomes/texts.ts";

/** Handles update_outcome. If another agent or the board changes an outcome, its owner is told. */
const onUpdate = guarded(updateOutcome, async (call) => {
  const { saved, changes } = await changeOutcome(call);
  if (Object.keys(changes).length > 0)
    await tellOwner(call, saved, (who, all) => changedByOther(who, saved, all), changes);
  return presentOutcome(call, saved);
});

export const updatingHandlers = [onUpdate];
