import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_FORMAT = /^[0-9a-f]{64}$/i
/** Of AES-GCM: NIST SP 800-38D, 5.2.1.1 and 8.2. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Reads the key that proxies and control share, SLUICE_BUS_KEY: 64 hex digits.
 * @throws Error that names the variable and says how to make a key; it never repeats what was set
 */
export function readBusKey(env: NodeJS.ProcessEnv): Buffer {
  const text = env['SLUICE_BUS_KEY'] ?? ''
  if (KEY_FORMAT.test(text)) return Buffer.from(text, 'hex')
  const fault = text === '' ? 'is not set' : 'is not 64 hex digits'
  throw new Error(
    `SLUICE_BUS_KEY ${fault}: make a key with \`openssl rand -hex 32\` and set the same one for all proxies and controls`,
  )
}

/** What a request of the bus is bound to. */
export const requestLabel = (operation: string, id: number): string => `request:${operation}:${id}`
/** What a reply of the bus is bound to. */
export const replyLabel = (id: number): string => `reply:${id}`

/**
 * Encrypts and authenticates the payloads between one proxy process and control (AES-256-GCM). Redis keeps every stream
 * entry in its append-only file, and payloads carry prompts, tokens and hashes that act as credentials. Without the key
 * nobody can read a payload, or make one that control accepts.
 */
export class CallSeal {
  private readonly key: Buffer

  /**
   * @param busKey as from `readBusKey`
   * @param channel the reply channel of the proxy process. Each channel has a key of its own, so that random nonces stay
   *   far below the bound of 2^32 messages for one key (NIST SP 800-38D, 8.3).
   */
  constructor(busKey: Buffer, channel: string) {
    this.key = createHmac('sha256', busKey).update(channel).digest()
  }

  /** @param label what the payload is bound to: `requestLabel` or `replyLabel` */
  seal(label: string, payload: Uint8Array): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(Buffer.from(label))
    return Buffer.concat([nonce, cipher.update(payload), cipher.final(), cipher.getAuthTag()])
  }

  /** @returns undefined for what was not sealed with this key, channel and label */
  open(label: string, sealed: Uint8Array): Uint8Array | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
    const end = sealed.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, this.key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(end))
    try {
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()])
    } catch {
      return undefined
    }
  }
}
