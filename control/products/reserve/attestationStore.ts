import type { Hex } from 'viem'
import type { Signatures } from '../../catalog/signing/catalogKey.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

/** An attestation as it was signed. */
export interface Attestation {
  readonly number: number
  /** The number of its signer. */
  readonly signer: number
  readonly statement: string
  /** SHA-256 of the statement, in hex. */
  readonly digest: string
  readonly signatures: Signatures
  readonly addresses: string
  /** Of its sum tree. */
  readonly leaves: number
  readonly root: Buffer
  readonly sumNanos: bigint
  /** The last transfer that it counts. */
  readonly transfersUntil: number
  readonly attestedAt: Date
}

interface Row {
  readonly number: number
  readonly signer: number
  readonly statement: string
  readonly digest: string
  readonly eip191: Hex
  readonly ed25519: string
  readonly addresses: string
  readonly leaves: number
  readonly root: Buffer
  readonly sum_nanos: string
  readonly transfers_until: number
  readonly attested_at: Date
}

const ATTESTATIONS = `
  SELECT number, signer, statement, digest, eip191, ed25519, addresses, leaves, root, sum_nanos::text AS sum_nanos,
    transfers_until, attested_at FROM reserve_attestations`

function attestationOf(row: Row): Attestation {
  const { number, signer, statement, digest, eip191, ed25519, addresses, leaves, root } = row
  return {
    number,
    signer,
    statement,
    digest,
    signatures: { eip191, ed25519 },
    addresses,
    leaves,
    root,
    sumNanos: BigInt(row.sum_nanos),
    transfersUntil: row.transfers_until,
    attestedAt: row.attested_at,
  }
}

/** The last attestation; undefined before the first. */
export async function lastAttestation(db: Queryable): Promise<Attestation | undefined> {
  const found = await db.query<Row>(`${ATTESTATIONS} ORDER BY number DESC LIMIT 1`)
  return found.rows[0] && attestationOf(found.rows[0])
}

/** The attestation of a number. */
export async function attestationNumbered(db: Queryable, number: number): Promise<Attestation | undefined> {
  const found = await db.query<Row>(`${ATTESTATIONS} WHERE number = $1`, [number])
  return found.rows[0] && attestationOf(found.rows[0])
}

/** Stores an attestation. @throws the database error (23505) when another control has stored one of this number */
export async function insertAttestation(client: Client, attestation: Attestation): Promise<void> {
  const { number, signer, statement, digest, signatures, addresses, leaves, root } = attestation
  await client.query(
    `INSERT INTO reserve_attestations (number, signer, statement, digest, eip191, ed25519, addresses, leaves, root,
       sum_nanos, transfers_until, attested_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      number,
      signer,
      statement,
      digest,
      signatures.eip191,
      signatures.ed25519,
      addresses,
      leaves,
      root,
      attestation.sumNanos.toString(),
      attestation.transfersUntil,
      attestation.attestedAt,
    ],
  )
}

/** The state that decides whether another attestation follows the last one. */
export interface LastProgress {
  readonly ageMs: number
  readonly addresses: string
  /** At which tokens were read; null without a chain. */
  readonly block: number | null
  readonly blockHash: string | null
}

/** How far attestations are. */
export interface AttestationProgress {
  /** Undefined before the first attestation. */
  readonly last: LastProgress | undefined
  /** The operator has asked for one since. */
  readonly isAsked: boolean
}

/** Reads whether an attestation may be due. */
export async function attestationProgress(db: Queryable): Promise<AttestationProgress> {
  const found = await db.query<{ age_ms: number | null; is_asked: boolean } & Omit<LastProgress, 'ageMs'>>(
    `SELECT extract(epoch FROM clock_timestamp() - l.attested_at)::float8 * 1000 AS age_ms, l.addresses,
       (l.statement::json->'reserve'->>'block')::bigint AS block, l.statement::json->'reserve'->>'block_hash' AS "blockHash",
       coalesce(r.requested_at > coalesce(l.attested_at, '-infinity'), false) AS is_asked
     FROM (VALUES (1)) AS one
     LEFT JOIN LATERAL (SELECT attested_at, addresses, statement FROM reserve_attestations ORDER BY number DESC LIMIT 1) l ON true
     LEFT JOIN attestation_request r ON true`,
  )
  const [row] = found.rows
  const isAsked = row?.is_asked ?? false
  if (row === undefined || row.age_ms === null) return { last: undefined, isAsked }
  const { age_ms: ageMs, addresses, block, blockHash } = row
  return { last: { ageMs, addresses, block, blockHash }, isAsked }
}

/** Asks the controls for an attestation that counts all that is booked by now. */
export async function requestAttestation(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO attestation_request (requested_at) VALUES (clock_timestamp())
     ON CONFLICT (one) DO UPDATE SET requested_at = excluded.requested_at`,
  )
}
