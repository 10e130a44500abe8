import { intArray, textArray } from '../runtime/db/arrays.ts'
import type { Client } from '../runtime/db/pool.ts'
import { groupsOf, type Seen } from './seenTransfer.ts'

/**
 * Brings what is recorded of the transfers of others up to the chain: blocks that were read again may lack a transfer, because
 * a reorganisation took it back, or have it at another place. Without this a transfer that is gone would count in the audit
 * again as soon as the transaction that had claimed it has failed. A deposit stays as it was credited.
 * @param first the first of the blocks that were read
 * @param transfers all that these blocks have
 */
export async function followTransfers(client: Client, first: number, transfers: readonly Seen[]): Promise<void> {
  const groups = [...groupsOf(transfers).values()]
  const each = (part: (seen: Seen) => string) =>
    textArray(groups.map(([seen]) => (seen === undefined ? '' : part(seen))))
  await client.query(FOLLOW, [
    first,
    each(({ hash }) => hash),
    each(({ token }) => token),
    each(({ from }) => from),
    each(({ to }) => to),
    each(({ amount }) => amount.toString()),
    intArray(groups.map((group) => group[0]?.block ?? 0)),
    intArray(groups.map((group) => group.length)),
  ])
}

const FOLLOW = `
  WITH present AS (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::bigint[], $8::int[])
      AS p (hash, token, transfer_from, transfer_to, amount, block, equals)
  ), known AS (
    SELECT t.hash, t.token, t.transfer_from, t.transfer_to, t.amount, t.place,
      coalesce(p.equals, 0) AS equals, coalesce(p.block, t.block_number) AS block
    FROM chain_transfers t LEFT JOIN present p USING (hash, token, transfer_from, transfer_to, amount)
    WHERE t.purpose = 'other' AND (t.block_number >= $1 OR t.hash = ANY ($2::text[]))
  )
  UPDATE chain_transfers t SET equals = n.equals, block_number = n.block
  FROM known n
  WHERE t.hash = n.hash AND t.token = n.token AND t.transfer_from = n.transfer_from AND t.transfer_to = n.transfer_to
    AND t.amount = n.amount AND t.place = n.place AND (t.equals, t.block_number) IS DISTINCT FROM (n.equals, n.block)`
