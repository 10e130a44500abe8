import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { intArray, textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { type NoteParts, splitNote } from './noteParts.ts'
import type { Cosignature, WitnessKey } from './witnessKey.ts'

interface SignedRow {
  readonly size: number
  readonly note: string
  /** By the clock of the database. */
  readonly signed_seconds: number
  readonly now_seconds: number
}

/**
 * Stores the cosignatures of witnesses on a checkpoint, the latest of each witness. Signatures of others are ignored.
 * @param note the checkpoint with their cosignatures
 * @returns its size, and the names of the witnesses whose cosignatures were taken
 * @throws GatewayError not_found for a checkpoint that this gateway has not signed, invalid_request for an invalid note or
 *   cosignature
 */
export async function cosign(
  client: Client,
  note: string,
  witnesses: readonly WitnessKey[],
  limits: BookLimits,
): Promise<{ size: number; witnesses: string[] }> {
  const parts = splitNote(note)
  if (parts === undefined) throw refused('a signed note: a checkpoint, an empty line and lines of signatures')
  const checkpoint = await signedAs(client, parts.text)
  if (checkpoint === undefined) throw new GatewayError('not_found', { message: 'There is no such checkpoint.' })
  const cosignatures = cosignaturesIn(parts, witnesses)
  for (const { atSeconds } of cosignatures) checkTime(atSeconds, checkpoint, limits)
  await keep(client, checkpoint.size, cosignatures)
  return { size: checkpoint.size, witnesses: cosignatures.map(({ witness }) => nameOf(witness, witnesses)) }
}

async function signedAs(client: Client, text: string): Promise<SignedRow | undefined> {
  const size = Number(text.split('\n')[1])
  if (!Number.isSafeInteger(size)) return undefined
  const found = await client.query<SignedRow>(
    `SELECT size, note, extract(epoch FROM signed_at)::float8 AS signed_seconds,
       extract(epoch FROM clock_timestamp())::float8 AS now_seconds
     FROM checkpoints WHERE size = $1`,
    [size],
  )
  const [row] = found.rows
  return row?.note.startsWith(`${text}\n`) === true ? row : undefined
}

function cosignaturesIn(parts: NoteParts, witnesses: readonly WitnessKey[]): Cosignature[] {
  const found: Cosignature[] = []
  for (const witness of witnesses) {
    const read = witness.read(parts)
    if (read === 'wrong') throw refused(`a note that ${witness.name} has cosigned; its signature does not hold`)
    if (read !== 'none') found.push(read)
  }
  if (found.length === 0) throw refused('a checkpoint with the cosignature of a witness that this gateway knows')
  return found
}

function checkTime(atSeconds: number, { signed_seconds, now_seconds }: SignedRow, limits: BookLimits): void {
  const skewSeconds = limits.cosignatureSkewMs / 1_000
  if (now_seconds - signed_seconds > limits.cosignatureAfterMs / 1_000) {
    throw refused('a newer checkpoint; witnesses cosign the last one')
  }
  if (atSeconds > now_seconds + skewSeconds) throw refused('cosigned at a time that has come')
  if (atSeconds < signed_seconds - skewSeconds) throw refused('cosigned after it was signed')
}

async function keep(client: Client, size: number, cosignatures: readonly Cosignature[]): Promise<void> {
  await client.query(
    `INSERT INTO cosignatures (size, witness, at_seconds, line)
     SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::text[])
     ON CONFLICT (size, witness) DO UPDATE SET at_seconds = EXCLUDED.at_seconds, line = EXCLUDED.line
     WHERE cosignatures.at_seconds < EXCLUDED.at_seconds`,
    [
      size,
      textArray(cosignatures.map(({ witness }) => witness)),
      intArray(cosignatures.map(({ atSeconds }) => atSeconds)),
      textArray(cosignatures.map(({ line }) => line)),
    ],
  )
}

function nameOf(text: string, witnesses: readonly WitnessKey[]): string {
  return witnesses.find((witness) => witness.text === text)?.name ?? ''
}

function refused(what: string): GatewayError {
  return invalidRequest(`note must be ${what}.`, 'note')
}
