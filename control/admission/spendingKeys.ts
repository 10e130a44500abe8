/** The keys whose caps an expense counts against; empty for none. */
export interface SpendingKeys {
  readonly keyId: string
  /** The platform key, when the key is a sub-key. */
  readonly platformKeyId: string
}

/** Reads the field of a hold or debit in Redis: `keyId`, `keyId/platformKeyId`, or nothing. */
export function keysOf(text: string): SpendingKeys {
  const [keyId = '', platformKeyId = ''] = text.split('/')
  return { keyId, platformKeyId }
}

/** The field that `keysOf` reads. */
export function keysText({ keyId, platformKeyId }: SpendingKeys): string {
  return platformKeyId === '' ? keyId : `${keyId}/${platformKeyId}`
}
