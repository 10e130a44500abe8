import { listSigners } from '../catalog/signing/catalogStore.ts'
import { sha256Hex } from '../catalog/signing/statements.ts'
import { verifySignatures } from '../catalog/signing/verifySignatures.ts'
import { type Attestation, attestationNumbered, lastAttestation } from '../products/reserve/attestationStore.ts'
import { attestationStatement } from '../products/reserve/attestationText.ts'
import { LIABILITIES, LIABILITY_CLASS } from '../products/reserve/liabilities.ts'
import { decimal, type StatedReserve } from '../products/reserve/statedReserve.ts'
import { TreeBuilder } from '../products/reserve/treeBuilder.ts'
import { decodeNodes } from '../products/reserve/treeStore.ts'
import { countOf } from '../runtime/db/count.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults, type Invariant } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { longQuery } from './workspace.ts'

/** Invariants of the reserve within the book. */
export const RESERVE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every ledger account of coin is of a class of liabilities',
    checked: `SELECT count(*) || ' accounts, ${LIABILITIES.length} classes' FROM ledger_accounts WHERE currency = 'coin'`,
    faults: `SELECT a.id || ' is of none' FROM ledger_accounts a WHERE a.currency = 'coin' AND ${LIABILITY_CLASS} IS NULL`,
  },
  {
    name: 'readings of the reserve add up',
    checked: `SELECT count(*) || ' days' FROM reserve_days`,
    faults: `
      SELECT d.day || ' has ' || sums.held || ' held and ' || sums.owed || ' owed, and says otherwise'
      FROM reserve_days d
      CROSS JOIN LATERAL (VALUES (first_reading), (last_reading)) AS r (reading)
      CROSS JOIN LATERAL (
        SELECT (SELECT coalesce(sum((h ->> 'usd')::numeric), 0) FROM json_array_elements(reading -> 'held') h) AS held,
          (SELECT coalesce(sum((o ->> 'usd')::numeric), 0) FROM json_array_elements(reading -> 'owed') o) AS owed
      ) AS sums
      WHERE (reading ->> 'held_usd')::numeric <> sums.held OR (reading ->> 'owed_usd')::numeric <> sums.owed
        OR (reading ->> 'covered')::boolean IS DISTINCT FROM
          CASE WHEN reading ->> 'network' IS NOT NULL THEN sums.held >= sums.owed END
        OR (d.first_at AT TIME ZONE 'UTC')::date <> d.day OR (d.last_at AT TIME ZONE 'UTC')::date <> d.day`,
  },
]

/** Follows the attestations as a stranger would, and compares the last one with the book and with its tree. */
export async function checkAttestations(client: Client, limits: AuditLimits): Promise<AuditCheck[]> {
  const [chained, summed, rooted] = [new Faults(), new Faults(), new Faults()]
  const count = await followChain(client, chained)
  const last = await lastAttestation(client)
  if (last !== undefined) {
    await compareBook(client, last, summed, limits)
    await compareTree(client, last, rooted)
  }
  const named = last === undefined ? 'none' : `attestation ${last.number}`
  return [
    chained.check('attestations follow each other and are signed', `${count} attestations`),
    summed.check('the last attestation is of what the book owed then', named),
    rooted.check('the last attestation is of its tree', named),
  ]
}

async function followChain(client: Client, faults: Faults): Promise<number> {
  const signers = await listSigners(client)
  let before: Attestation | undefined
  for (;;) {
    const number = (before?.number ?? 0) + 1
    const found = await attestationNumbered(client, number)
    if (found === undefined) break
    const { previous } = JSON.parse(found.statement) as { previous: { number: string; sha256: string } | null }
    const isNext = before === undefined ? previous === null : previous?.sha256 === before.digest
    if (!isNext || sha256Hex(found.statement) !== found.digest) faults.add(`${number} does not follow the one before`)
    const signer = signers.find((one) => one.number === found.signer)
    const text = attestationStatement(number, found.digest)
    if (signer === undefined || !(await verifySignatures(text, signer.keys, found.signatures))) {
      faults.add(`${number} is not signed by its signer`)
    }
    before = found
  }
  const count = await countOf(client, 'SELECT count(*) AS count FROM reserve_attestations')
  if (count !== (before?.number ?? 0)) faults.add(`attestation ${(before?.number ?? 0) + 1} is missing`)
  return count
}

/** Subtracts later bookings; a transaction cannot have begun longer before the attestation than its time limit. */
const OWED_THEN = `
  WITH later AS (
    SELECT account, sum(amount) AS amount FROM postings
    WHERE transfer_id > $1 AND at > $2::timestamptz - interval '1 hour' GROUP BY account
  )
  SELECT ${LIABILITY_CLASS} AS class, sum(a.balance - coalesce(l.amount, 0))::text AS amount
  FROM ledger_accounts a LEFT JOIN later l ON l.account = a.id GROUP BY 1`

async function compareBook(
  client: Client,
  attestation: Attestation,
  faults: Faults,
  limits: AuditLimits,
): Promise<void> {
  const { statement, transfersUntil, attestedAt, sumNanos } = attestation
  const query = longQuery(limits, OWED_THEN, [transfersUntil, attestedAt])
  const found = await client.query<{ class: string | null; amount: string }>(query)
  const then = new Map(found.rows.map((row) => [row.class, decimal(BigInt(row.amount))]))
  const { reserve } = JSON.parse(statement) as { reserve: StatedReserve }
  for (const { class: name, amount } of reserve.owed) {
    const booked = then.get(name) ?? '0'
    if (booked !== amount) faults.add(`${name}: ${amount} attested, ${booked} by the book`)
  }
  const nanos = found.rows.filter((row) =>
    LIABILITIES.some(({ name, currency }) => name === row.class && currency === 'coin'),
  )
  const sum = nanos.reduce((total, { amount }) => total + BigInt(amount), 0n)
  if (sum !== sumNanos) faults.add(`${sumNanos} nanos in the tree, ${sum} by the book`)
}

async function compareTree(
  client: Client,
  { number, leaves, root, sumNanos }: Attestation,
  faults: Faults,
): Promise<void> {
  const builder = new TreeBuilder()
  for (let place = 0; ; place++) {
    const found = await client.query<{ nodes: Buffer; first_salt: Buffer }>(
      'SELECT nodes, first_salt FROM liability_tiles WHERE attestation = $1 AND level = 0 AND place = $2',
      [number, place],
    )
    const [tile] = found.rows
    if (tile === undefined) break
    for (const leaf of decodeNodes(tile.nodes)) builder.add(leaf, tile.first_salt)
    builder.takeTiles()
  }
  const top = builder.finish()
  if (top.leaves !== leaves) faults.add(`${leaves} leaves attested, ${top.leaves} are kept`)
  if (!top.hash.equals(root) || top.sum !== sumNanos) faults.add('the root is not that of the leaves')
}
