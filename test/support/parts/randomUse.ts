import fc from 'fast-check'
import { DAY_MS } from '../../../contract/api/time.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import type { Entry } from '../../../control/book/settlement/entry.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { batchOf } from './endings.ts'
import { settlementOf } from './ledger.ts'

/** Of how many days requests are, today included. */
export const USE_DAYS = 4
export const USE_ACCOUNTS = 6

/** A request that has ended. */
export interface Use {
  /** Its place among the accounts. */
  readonly account: number
  readonly model: string
  readonly daysAgo: number
  readonly status: 'OK' | 'PARTIAL' | 'FAILED'
  readonly errorCode: string
  readonly input: number
  readonly durationMs: number
  readonly firstByteMs: number
}

/** The Ended message of a request that was held on its day. */
function endedOf(use: Use, accountId: string): Buffer {
  const isCharged = use.status !== 'FAILED'
  const charge = isCharged ? use.input : 0
  const told = settlementOf({
    requestId: newId('req'),
    accountId,
    model: use.model,
    status: sluice.Status[use.status],
    errorCode: use.errorCode,
    streamed: use.firstByteMs > 0,
    chargeUnits: charge,
    usage: { input: use.input, cachedInput: 2, cacheWrite_5m: 1, output: 3 },
    durationMs: use.durationMs,
    firstByteMs: use.firstByteMs,
  })
  return Buffer.from(
    sluice.Ended.encode({
      settlement: sluice.Settlement.decode(told),
      voided: !isCharged,
      heldAtMs: (Math.floor(Date.now() / DAY_MS) - use.daysAgo) * DAY_MS + 1,
      split: charge > 0 ? `coin=${charge}` : '',
    }).finish(),
  )
}

let lastEntry = 0

/** A batch of several shards, as proxies deliver it. */
export function useBatch(accountIds: readonly string[], uses: readonly Use[]): Entry[] {
  return parseEntries(
    accountIds.flatMap((accountId, account) => {
      const endings = uses.filter((use) => use.account === account).map((use) => endedOf(use, accountId))
      if (endings.length === 0) return []
      const fields = [Buffer.from('b'), batchOf(newId('own'), 1, endings)]
      return [{ shard: shardOf(accountId), id: `${Date.now()}-${++lastEntry}`, fields }]
    }),
  )
}

const status = fc.constantFrom(
  { status: 'OK', errorCode: '' } as const,
  { status: 'OK', errorCode: '' } as const,
  { status: 'PARTIAL', errorCode: 'client_gone' } as const,
  { status: 'PARTIAL', errorCode: 'stream_interrupted' } as const,
  { status: 'FAILED', errorCode: 'provider_error' } as const,
)
export const someUse: fc.Arbitrary<Use> = fc
  .record({
    account: fc.integer({ min: 0, max: USE_ACCOUNTS - 1 }),
    model: fc.constantFrom('acme/one', 'acme/two', 'other/three'),
    daysAgo: fc.integer({ min: 0, max: USE_DAYS - 1 }),
    ended: status,
    input: fc.integer({ min: 1, max: 1_000 }),
    durationMs: fc.integer({ min: 0, max: 100_000 }),
    firstByteMs: fc.integer({ min: 0, max: 5_000 }),
  })
  .map(({ ended, ...use }) => ({ ...use, ...ended }))
