import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
/** Of AES-GCM: NIST SP 800-38D, 5.2.1.1 and 8.2. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The context that a bus request is bound to. */
export const requestLabel = (operation: string, id: number): string => `request:${operation}:${id}`
/** The label that the key of a registered provider is encrypted under. */
export const providerKeyLabel = (providerId: string): string => `provider:${providerId}`
/** In place of a reply channel, for records that control keeps in Redis for all proxies. */
export const KEPT_CHANNEL = 'kept'
/** The context that a bus reply is bound to. */
export const replyLabel = (id: number): string => `reply:${id}`

/**
 * Encrypts and authenticates the payloads between one proxy process and control (AES-256-GCM). Redis keeps every stream
 * entry in its append-only file, and payloads carry prompts, tokens and hashes that act as credentials. Without the key,
 * payloads can neither be read nor forged.
 */
export class CallSeal {
  private readonly sealing: Buffer
  /** Each of them opens. */
  private readonly keys: readonly Buffer[]

  /**
   * @param busKeys of SLUICE_BUS_KEY, 32 bytes each: the first one seals, each of them opens
   * @param channel the reply channel of the proxy process. Each channel has its own key, so that random nonces stay
   *   far below the bound of 2^32 messages for one key (NIST SP 800-38D, 8.3).
   */
  constructor(busKeys: readonly Buffer[], channel: string) {
    this.keys = busKeys.map((busKey) => createHmac('sha256', busKey).update(channel).digest())
    const [first] = this.keys
    if (first === undefined) throw new Error('a seal needs a key')
    this.sealing = first
  }

  /** @param label the context that the payload is bound to: `requestLabel` or `replyLabel` */
  seal(label: string, payload: Uint8Array): Buffer {
    return this.sealWith(randomBytes(NONCE_BYTES), label, payload)
  }

  /**
   * The same for stored records: equal payloads give equal bytes, so that a change of a record can be detected. The nonce is
   * derived from label and payload, so that no nonce is used for two payloads (as in RFC 8452, by HMAC).
   */
  sealKept(label: string, payload: Uint8Array): Buffer {
    const nonce = createHmac('sha256', this.sealing)
      .update(`${label}\n`)
      .update(payload)
      .digest()
      .subarray(0, NONCE_BYTES)
    return this.sealWith(nonce, label, payload)
  }

  private sealWith(nonce: Buffer, label: string, payload: Uint8Array): Buffer {
    const cipher = createCipheriv(CIPHER, this.sealing, nonce).setAAD(Buffer.from(label))
    return Buffer.concat([nonce, cipher.update(payload), cipher.final(), cipher.getAuthTag()])
  }

  /** @returns undefined for bytes that were not sealed with one of these keys, this channel and label */
  open(label: string, sealed: Uint8Array): Uint8Array | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
    for (const key of this.keys) {
      const payload = openWith(key, label, sealed)
      if (payload !== undefined) return payload
    }
    return undefined
  }
}

function openWith(key: Buffer, label: string, sealed: Uint8Array): Uint8Array | undefined {
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()])
  } catch {
    return undefined
  }
}
