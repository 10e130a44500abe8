import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'

const TIME_DIGITS = 12
const RANDOM_BYTES = 12
const MAC_DIGITS = 32
const NONCE = /^[0-9a-f]{68}$/

/**
 * Nonces for signing in: the expiry time, random bits, and a MAC (HMAC-SHA-256) over both, in hex. They are stateless: issuing
 * them, which needs no credential, stores nothing.
 */
export class Nonces {
  private readonly db: Queryable
  private secret: Promise<string> | undefined
  private readonly limits: IdentityLimits

  constructor(db: Queryable, limits: IdentityLimits) {
    this.limits = limits
    this.db = db
  }

  /** @returns a nonce and when it ends, milliseconds since 1970 */
  async make(nowMs: number): Promise<{ nonce: string; expiresAtMs: number }> {
    const expiresAtMs = nowMs + this.limits.nonceLifetimeMs
    const text = expiresAtMs.toString(16).padStart(TIME_DIGITS, '0') + randomBytes(RANDOM_BYTES).toString('hex')
    return { nonce: text + (await this.mac(text)), expiresAtMs }
  }

  /** When a nonce ends, or undefined when it was not made here or has ended. */
  async expiryOf(nonce: string, nowMs: number): Promise<number | undefined> {
    if (!NONCE.test(nonce)) return undefined
    const mac = await this.mac(nonce.slice(0, -MAC_DIGITS))
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(nonce.slice(-MAC_DIGITS)))) return undefined
    const expiresAtMs = Number.parseInt(nonce.slice(0, TIME_DIGITS), 16)
    return expiresAtMs > nowMs ? expiresAtMs : undefined
  }

  private async mac(text: string): Promise<string> {
    this.secret ??= this.readSecret()
    const secret = await this.secret.catch((error: unknown) => {
      this.secret = undefined
      throw error
    })
    return createHmac('sha256', secret).update(text).digest('hex').slice(0, MAC_DIGITS)
  }

  private async readSecret(): Promise<string> {
    const found = await this.db.query<{ secret: string }>('SELECT secret FROM nonce_secret')
    const secret = found.rows[0]?.secret
    if (secret === undefined) throw new Error('the book has no secret for nonces')
    return secret
  }
}

/** Records that a nonce is used, in the caller's transaction. @returns false when it was used before */
export async function useNonce(client: Queryable, nonce: string, expiresAtMs: number): Promise<boolean> {
  const used = await client.query(
    'INSERT INTO used_nonces (nonce, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [nonce, new Date(expiresAtMs)],
  )
  return used.rowCount === 1
}
