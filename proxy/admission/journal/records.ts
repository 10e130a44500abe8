/** The identity of a lease in the journal: enough to deliver for it without the process that had it. */
export interface LeaseName {
  readonly shard: number
  /** Of the hash of leases in Redis: `L:keyId:hour`. */
  readonly field: string
  readonly accountId: string
  /** `keyId`, or `keyId/platformKeyId` of a sub-key. */
  readonly keys: string
}

/** A request that has its hold. */
export interface OpeningRecord extends LeaseName {
  readonly kind: 'opening'
  readonly requestId: string
  /** The split of the hold: `grantId=units,...,coin=units:nanos`. */
  readonly split: string
  readonly heldAtMs: number
  /** From encodeHoldMeta. */
  readonly holdMeta: string
}

/** A request that has ended. */
export interface EndingRecord extends LeaseName {
  readonly kind: 'ending'
  readonly requestId: string
  /** By owner and shard, from 1. */
  readonly seq: number
  readonly voided: boolean
  readonly heldAtMs: number
  /** The parts of the charge: `grantId=units,...,coin=units:nanos`. */
  readonly split: string
  /** A Settlement message, one character a byte. */
  readonly settlement: string
}

/** The part of a record that is the same for all requests of a lease. */
export function leaseText({ shard, field, accountId, keys }: LeaseName): string {
  return `${shard}|${field}|${accountId}|${keys}|`
}

/** @param lease from leaseText */
export function openingText(
  lease: string,
  requestId: string,
  split: string,
  heldAtMs: number,
  holdMeta: string,
): string {
  return `O${lease}${requestId}|${split}|${heldAtMs}|${holdMeta}`
}

/** @param lease from leaseText */
export function endingText(lease: string, ending: Omit<EndingRecord, keyof LeaseName | 'kind'>): string {
  const { requestId, seq, voided, heldAtMs, split, settlement } = ending
  return `E${lease}${requestId}|${seq}|${voided ? 1 : 0}|${heldAtMs}|${split}|${settlement}`
}

/** Parses the output of `openingText` or `endingText`. @returns undefined for any other text */
export function parseRecord(text: string): OpeningRecord | EndingRecord | undefined {
  const isOpening = text.startsWith('O')
  if (!isOpening && !text.startsWith('E')) return undefined
  const fields = splitAtMost(text.slice(1), isOpening ? 8 : 10)
  if (fields.length < (isOpening ? 8 : 10)) return undefined
  const [shard, field = '', accountId = '', keys = '', requestId = '', ...rest] = fields
  const lease = { shard: Number(shard), field, accountId, keys, requestId }
  if (isOpening) {
    const [split = '', heldAtMs, holdMeta = ''] = rest
    return { kind: 'opening', ...lease, split, heldAtMs: Number(heldAtMs), holdMeta }
  }
  const [seq, voided, heldAtMs, split = '', settlement = ''] = rest
  return {
    kind: 'ending',
    ...lease,
    seq: Number(seq),
    voided: voided === '1',
    heldAtMs: Number(heldAtMs),
    split,
    settlement,
  }
}

/** The last part has all that is left, separators included. */
function splitAtMost(text: string, parts: number): string[] {
  const found: string[] = []
  let at = 0
  while (found.length < parts - 1) {
    const end = text.indexOf('|', at)
    if (end < 0) break
    found.push(text.slice(at, end))
    at = end + 1
  }
  found.push(text.slice(at))
  return found
}
