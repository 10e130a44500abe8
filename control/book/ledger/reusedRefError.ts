/** A payment's name that was used on this account before, for something else. */
export class ReusedRefError extends Error {
  override readonly name = 'ReusedRefError'

  /** @param what the amounts that were booked before and are requested now */
  constructor(ref: string, accountId: string, what: string) {
    super(`${ref} was credited to account ${accountId} before with another amount: ${what}`)
  }
}
