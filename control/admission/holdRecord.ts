import { keysOf } from './spendingKeys.ts'

/** A hold as Redis keeps it; see contract/lua/README.md. */
export interface HoldRecord {
  requestId: string
  owner: string
  shard: number
  accountId: string
  keyId: string
  /** The platform key that it counts against as well, when the key is a sub-key; else empty. */
  platformKeyId: string
  holdUnits: number
  heldAtMs: number
  /** Hour, day and month that the hold was counted in, numbers since 1970. */
  hour: number
  day: number
  month: number
  /** What of the hold came from coin, and from which grants. */
  coinUnits: number
  grants: { grantId: string; units: number }[]
  model: string
  endpoint: string
  sheetVersion: number
  streamed: boolean
}

/** Reads one field of a `holds` hash. @returns undefined when it does not have the form of a hold */
export function parseHold(shard: number, owner: string, requestId: string, text: string): HoldRecord | undefined {
  const fields = text.split('|')
  if (fields.length < 10) return undefined
  const [amount, heldAtMs, accountId = '', keys = '', hour, day, month, coin, parts = ''] = fields
  const [model = '', endpoint = '', sheetVersion = '', streamed = ''] = fields.slice(9).join('|').split(',')
  return {
    requestId,
    owner,
    shard,
    accountId,
    ...keysOf(keys),
    holdUnits: Number(amount),
    heldAtMs: Number(heldAtMs),
    hour: Number(hour),
    day: Number(day),
    month: Number(month),
    coinUnits: Number(coin),
    grants: partsOf(parts),
    model,
    endpoint,
    sheetVersion: Number(sheetVersion),
    streamed: streamed === '1',
  }
}

function partsOf(text: string): { grantId: string; units: number }[] {
  if (text === '') return []
  return text.split(',').map((part) => {
    const [grantId = '', units] = part.split('=')
    return { grantId, units: Number(units) }
  })
}
