/**
 * Receipts `r` of the private tier that a provider served, and that have to name its report of attested hardware.
 * @param receipts names rows of receipts
 * @returns SQL of a FROM clause; conditions follow its WHERE
 */
export function privateReceipts(receipts: string): string {
  return `
    ${receipts} r WHERE r.tier = 'private' AND r.provider <> '' AND (r.attestation <> '' OR r.position >= coalesce(
      (SELECT until_position FROM unattested_receipts u WHERE u.log = r.log), 0))`
}
