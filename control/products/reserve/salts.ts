import { createHmac, randomBytes } from 'node:crypto'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { LIABILITY_CLASS } from './liabilities.ts'

const SECRET_BYTES = 32
const BLOCK_BYTES = 64
const [INNER, OUTER] = [0x36, 0x5c]
/** Separates these keys from others that may be derived from the same secret. */
const INFO = 'sluice-liabilities/1'

/** The secret of the book that salts are derived of; made when it is asked for first. */
export async function liabilitySecret(db: Queryable): Promise<Buffer> {
  await db.query('INSERT INTO liability_secret (secret) VALUES ($1) ON CONFLICT DO NOTHING', [
    randomBytes(SECRET_BYTES),
  ])
  const found = await db.query<{ secret: Buffer }>('SELECT secret FROM liability_secret')
  const [row] = found.rows
  if (row === undefined) throw new Error('the book has lost the secret of its salts')
  return row.secret
}

/** The key of the salts of one attestation. */
export function saltKey(secret: Buffer, attestation: number): Buffer {
  return createHmac('sha256', secret).update(`${INFO}\n${attestation}`).digest()
}

/** The salt of a ledger account's leaf: HMAC-SHA-256 (RFC 2104) of its id. */
export function saltOf(key: Buffer, account: string): Buffer {
  return createHmac('sha256', key).update(account, 'utf8').digest()
}

/** A ledger account whose coin is owed. */
export interface SaltedAccount {
  readonly id: string
  /** Nanos of coin. */
  readonly balance: bigint
  readonly salt: Buffer
}

/** HMAC in SQL, so that the database sorts by salts: the rows are never all in memory together. */
const ACCOUNTS = `
  SELECT a.id, a.balance::text AS balance, sha256(decode(current_setting('sluice.salt_outer'), 'hex')
    || sha256(decode(current_setting('sluice.salt_inner'), 'hex') || convert_to(a.id, 'UTF8'))) AS salt
  FROM ledger_accounts a WHERE a.currency = 'coin' AND ${LIABILITY_CLASS} IS NOT NULL ORDER BY salt`

/**
 * Reads all accounts whose coin is a debt, in the order of their salts.
 * @param client in the transaction whose snapshot counts
 * @param atOnce the number of accounts per batch
 */
export async function* saltedAccounts(
  client: Client,
  key: Buffer,
  atOnce: number,
): AsyncGenerator<readonly SaltedAccount[]> {
  // Settings of the transaction, because a cursor takes no parameters and a log of statements must not have the key.
  await client.query(`SELECT set_config('sluice.salt_inner', $1, true), set_config('sluice.salt_outer', $2, true)`, [
    padded(key, INNER).toString('hex'),
    padded(key, OUTER).toString('hex'),
  ])
  await client.query(`DECLARE salted_accounts NO SCROLL CURSOR FOR ${ACCOUNTS}`)
  for (;;) {
    const found = await client.query<{ id: string; balance: string; salt: Buffer }>(
      `FETCH ${atOnce} FROM salted_accounts`,
    )
    if (found.rows.length === 0) break
    yield found.rows.map(({ id, balance, salt }) => ({ id, balance: BigInt(balance), salt }))
  }
  await client.query('CLOSE salted_accounts')
}

function padded(key: Buffer, byte: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  key.copy(block)
  return block.map((value) => value ^ byte) as Buffer
}
