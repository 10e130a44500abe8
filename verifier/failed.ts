/** A step of the verification failed; the message gives the reader of the receipt the reason. */
export class Failed extends Error {}

/** @throws Failed with the reason unless the condition holds */
export function must(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new Failed(reason)
}
