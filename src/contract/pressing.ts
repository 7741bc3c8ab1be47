/**
 * Whether an item of the attention list needs a person now. A budget that is only nearly used up does not: it is among the
 * `notes`, and `pressing` leaves it out.
 */
export const isPressing = ({
  kind,
  facts,
}: {
  readonly kind: string;
  readonly facts: Readonly<Record<string, unknown>>;
}): boolean => kind !== "budget" || facts["usedUp"] !== false;
