import { createHmac, randomBytes } from 'node:crypto'
import type { Queryable } from '../runtime/db/pool.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** The secret that signs the webhooks of a key's jobs, generated on first use. */
export async function webhookSecretOf(db: Queryable, keyId: string): Promise<string> {
  const secret = PREFIX + randomBytes(SECRET_BYTES).toString('base64')
  await db.query('INSERT INTO webhook_secrets (key_id, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING', [keyId, secret])
  const found = await db.query<{ secret: string }>('SELECT secret FROM webhook_secrets WHERE key_id = $1', [keyId])
  return found.rows[0]?.secret ?? ''
}

/**
 * The headers that sign a webhook, as in https://www.standardwebhooks.com (symmetric signatures): HMAC-SHA256 of id,
 * time and body, by the secret's bytes.
 * @param secret whsec_ and base64
 * @param timeMs when it is sent, milliseconds since 1970
 */
export function signatureHeaders(secret: string, id: string, timeMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(timeMs / 1000))
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
