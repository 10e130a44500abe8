/** A transaction that is not stuck, so that there is nothing to decide; the message says how far it is. */
export class NotStuckError extends Error {
  override readonly name = 'NotStuckError'
}
