/** A month of receipts cannot be archived, or an archive is invalid; the message says why. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
}
