import { randomInt } from 'node:crypto'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** Letters and digits that are not mistaken for each other, as in Crockford's base32. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 8
const ATTEMPTS = 4

const newCode = (): string => Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')

/**
 * The referral code of an account, which is made when it is asked for the first time and stays the same.
 * @param makeCode other than at random, in tests
 * @throws GatewayError code_unavailable when every code that was made is taken
 */
export async function referralCode(db: Queryable, accountId: string, makeCode = newCode): Promise<string> {
  const before = await codeOf(db, accountId)
  if (before !== undefined) return before
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await db.query('INSERT INTO referral_codes (account_id, code) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      accountId,
      makeCode(),
    ])
    const code = await codeOf(db, accountId)
    if (code !== undefined) return code
  }
  throw new GatewayError('code_unavailable', { retryAfterSeconds: 1 })
}

async function codeOf(db: Queryable, accountId: string): Promise<string | undefined> {
  const found = await db.query<{ code: string }>('SELECT code FROM referral_codes WHERE account_id = $1', [accountId])
  return found.rows[0]?.code
}

/** The account that has a code, written in capitals or not. */
export async function accountOfCode(db: Queryable, code: string): Promise<string | undefined> {
  const found = await db.query<{ account_id: string }>('SELECT account_id FROM referral_codes WHERE code = $1', [
    code.toUpperCase(),
  ])
  return found.rows[0]?.account_id
}
