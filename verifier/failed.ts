/** A step of the verification does not hold; the message says why, to whoever reads the receipt. */
export class Failed extends Error {}

/** @throws Failed with the reason unless the condition holds */
export function must(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new Failed(reason)
}
