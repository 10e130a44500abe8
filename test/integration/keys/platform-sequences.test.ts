// Goal: what sub-keys hold, are charged and move is counted by their platform key exactly, never beyond its budget, whatever
// runs at once and however it ends. Method: random batches of steps, each batch at once, over the parts of control without
// HTTP; the platform key's counters are compared with receipts and debits, then the audit.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { capArguments, capCode } from '../../../contract/wire/caps.ts'
import { accountKeys, keyCountersKey, shardKeys, shardOf } from '../../../contract/wire/redisKeys.ts'
import { defineScript, HoldCode, type ScriptKey } from '../../../contract/wire/scripts.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { debitKeeper } from '../../../control/admission/debits/debitKeeper.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { AdmissionKeeper, ensureAdmission } from '../../../control/admission/keeper.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { type Book, log, orphanVoider, startBook, TestProxy } from '../../support/parts/ledger.ts'
import { BUDGET_UNITS, batches, PlatformRun, type Step, SUB_KEYS } from '../../support/parts/platformRun.ts'
import { rounds } from '../../support/rounds.ts'

/** A failure depends on timing, so that shrinking would only bury it. */
const REPORT = { endOnFailure: true, includeErrorInReport: true }

/** Holds at once that together exceed the budget, so that each run of the test meets it. */
const BEYOND_BUDGET: Step[][] = [
  Array.from({ length: 8 }, (_, at) => ({ kind: 'hold', key: at % SUB_KEYS, units: 400, least: 400 })),
]

let book: Book
let debits: Debits
let proxy: TestProxy
let beats: NodeJS.Timeout
let parts: { stop(): Promise<void> }[] = []

before(async () => {
  book = await startBook()
  const { pool, redis } = book
  await ensureAdmission({ pool, redis, log, limits })
  debits = new Debits(pool, redis, limits)
  proxy = new TestProxy(redis)
  await proxy.beat()
  beats = setInterval(() => void proxy.beat().catch(() => {}), 100)
  parts = [
    new SettlementConsumer({ redisUrl: book.redisServer.url, pool, log, consumer: 'c1', limits }),
    new EventDispatcher({ pool, redis, log, limits }),
    new AdmissionKeeper({ pool, redis, log, limits }),
    debitKeeper({ pool, redis, log, debits, limits }),
    orphanVoider(book),
  ]
})
after(async () => {
  clearInterval(beats)
  await Promise.all(parts.map((part) => part.stop()))
  await book.stop()
})

test('items of sub-keys and of other keys in one call are counted each by its own keys', async () => {
  const run = await PlatformRun.start({ book, debits, proxy })
  const shard = shardOf(run.accountId)
  const { epoch, behindHold } = shardKeys(shard, proxy.owner)
  const items = ['sub 0', '', 'sub 1', '', 'sub 0', 'sub 2', ''].map((name) => run.keys[Number(name.slice(4) || NaN)])
  const units = [1, 10, 100, 1_000, 10_000, 15_000, 1_000_000]
  const keys: ScriptKey[] = []
  const args: (string | number)[] = [items.length, 1_000_000]
  for (const [i, by] of items.entries()) {
    keys.push(epoch, accountKeys(shard, run.accountId, by?.keyId ?? 'key_of_nobody'), behindHold)
    args.push(`${run.accountId}-${i}`, run.accountId, by?.keyId ?? 'key_of_nobody', units[i] ?? 0, units[i] ?? 0)
    args.push(...capArguments(NO_CAPS), '', 'm,chat,1,0', UNITS_PER_USD)
  }
  for (const [i, by] of items.entries()) {
    if (by?.platform === undefined) continue
    keys.push(keyCountersKey(shard, by.platform.keyId))
    args.push(i, by.platform.keyId, ...capArguments({ ...NO_CAPS, life: 20_000 }))
  }
  const reply = (await defineScript(book.redis, 'hold')(keys, args)) as number[]
  const codes = items.map((_, i) => reply[1 + i * 3])
  const { OK, BALANCE } = HoldCode
  assert.deepEqual(codes, [OK, OK, OK, OK, OK, capCode({ span: 'life', isPlatforms: true }), BALANCE])
  assert.equal(await run.counter(), 10_101)
  const spent = await Promise.all(
    [run.keys[0]?.keyId ?? '', 'key_of_nobody'].map((keyId) => book.redis.hget(keyCountersKey(shard, keyId), 'bs')),
  )
  assert.deepEqual(spent, ['10001', '1010'])
  for (const [i, by] of items.entries()) {
    await proxy.settle(run.accountId, `${run.accountId}-${i}`, -1, units[i] ?? 0, by ?? { keyId: 'key_of_nobody' })
  }
  assert.equal(await run.counter(), 0)
  await run.finish()
})

test('the counters of a platform key are the spending of all its keys, and its sub-keys never exceed its budget', async () => {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(batches, async (plan) => {
      const run = await PlatformRun.start({ book, debits, proxy })
      // Without the platform key itself, which is not held to the budget here.
      const bySubKeys = (next: Step): boolean => !('key' in next) || next.key < SUB_KEYS
      for (const batch of plan) {
        await Promise.all(batch.filter(bySubKeys).map((next) => run.do(next)))
        assert.ok((await run.counter()) <= BUDGET_UNITS)
      }
      await run.finish()
      refused += run.refused
    }),
    { ...REPORT, examples: [[BEYOND_BUDGET]], numRuns: rounds({ short: 3, long: 13 }) },
  )
  assert.ok(refused > 0, 'the budget was never met')
})

test('the same with the platform key in use itself, and a Redis that is emptied at any moment', async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(), async (plan, when) => {
      const run = await PlatformRun.start({ book, debits, proxy })
      const at = when % plan.length
      for (const [i, batch] of plan.entries()) {
        const steps: readonly Step[] =
          i === at ? [...batch.slice(0, 4), { kind: 'lose Redis' }, ...batch.slice(4)] : batch
        await Promise.all(steps.map((next) => run.do(next)))
      }
      await run.finish()
    }),
    { ...REPORT, numRuns: rounds({ short: 1, long: 10 }) },
  )
})
