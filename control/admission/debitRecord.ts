import { parseCoinPart } from '../../contract/wire/coinPart.ts'
import { matchText } from '../../contract/wire/countedText.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { debitsKey } from '../../contract/wire/redisKeys.ts'
import type { HoldRecord } from './holdRecord.ts'
import { keysOf } from './spendingKeys.ts'

const SCAN_COUNT = 1_000
const FORM = /^([\d:]+)\|(\d+)\|([^|]*)\|([^|]*)\|v2:(\d+)(?:\|([^|=]+)=(\d+))?$/

/** Coin, or tokens of a holding, that are taken for a debit, as Redis keeps it; see contract/wire/lua/README.md. */
export interface DebitRecord extends Pick<HoldRecord, 'shard' | 'accountId' | 'keyId' | 'platformKeyId' | 'hour'> {
  readonly debitId: string
  /** The units that count in the windows, and the coin that was taken, in nanos. */
  readonly units: number
  readonly nanos: number
  /** The tokens that were taken in place of coin. */
  readonly tokens: { readonly seriesId: string; readonly units: number } | undefined
  readonly takenAtMs: number
}

/** All open debits of a shard, a page at a time. A debit that changes during the scan may be returned twice or not at all. */
export async function* readDebits(redis: Redis, shard: number): AsyncGenerator<DebitRecord[]> {
  let cursor = '0'
  do {
    const [next, fields] = await redis.hscan(debitsKey(shard), cursor, 'COUNT', SCAN_COUNT)
    const debits: DebitRecord[] = []
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const debit = parseDebit(shard, fields[i] ?? '', fields[i + 1] ?? '')
      if (debit !== undefined) debits.push(debit)
    }
    if (debits.length > 0) yield debits
    cursor = next
  } while (cursor !== '0')
}

/** @returns undefined when the text does not have the form that takeDebit.lua writes */
function parseDebit(shard: number, debitId: string, text: string): DebitRecord | undefined {
  const match = matchText(text, FORM)
  if (match === null) return undefined
  const [, coin = '', takenAtMs, accountId = '', keys = '', hour, seriesId, tokenUnits] = match
  const { coinUnits, coinNanos } = parseCoinPart(coin)
  return {
    debitId,
    shard,
    units: seriesId === undefined ? coinUnits : Number(tokenUnits),
    nanos: coinNanos,
    tokens: seriesId === undefined ? undefined : { seriesId, units: Number(tokenUnits) },
    takenAtMs: Number(takenAtMs),
    accountId,
    ...keysOf(keys),
    hour: Number(hour),
  }
}
