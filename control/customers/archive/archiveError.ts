/** A month of receipts that cannot be put away, or an archive that does not hold; the message says why. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
}
