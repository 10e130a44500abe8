// Goal: texts in Redis of the form before, which processes of the version before have left, count as those of today.
// Method: holds, leases and debits over a real book, whose texts are rewritten in the form before; then the audit. And the
// windows of scripts beside those of the table.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { NO_CAPS, WINDOW, WINDOWS } from '../../../contract/money/windows.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { debitsKey, epochKey, holdsKey, leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { defineScript, SettleCode, sharedSource } from '../../../contract/wire/scripts.ts'
import { readDebits } from '../../../control/admission/debitRecord.ts'
import { Debits } from '../../../control/admission/debits/debit.ts'
import { listLeases } from '../../../control/admission/leaseRecord.ts'
import { listHolds } from '../../../control/admission/listHolds.ts'
import { withUndo } from '../../../control/runtime/db/undoable.ts'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { keyOf, LeaseOwner } from '../../support/parts/leaseOwner.ts'
import { accountState, everywhere, spentBy } from '../../support/parts/leaseState.ts'
import { LeasingWorker } from '../../support/parts/leasingWorker.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  startBook,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

let book: Book
let folder: string
let worker: LeasingWorker

before(async () => {
  book = await startBook()
})
beforeEach(async () => {
  await ensureOpen(book)
  folder = makeTempDir('texts')
  worker = await LeasingWorker.start(book.redisServer.url, book.pool, folder)
})
afterEach(async () => {
  await worker.kill()
  removeTempDir(folder)
})
beforeEach(() => awayFromTheHour())
after(() => book.stop())

/** Gives every text of a hash the form before, which had the numbers of three windows. @returns how many */
async function toFormBefore(key: string): Promise<number> {
  let count = 0
  for (const [field, text] of Object.entries(await book.redis.hgetall(key))) {
    const before = text.replace(/\|v2:(\d+)/, (_, hour) => {
      const { day, month } = WINDOW
      return `|${hour}|${day.numberOf(Number(hour))}|${month.numberOf(Number(hour))}`
    })
    if (before === text) continue
    await book.redis.hset(key, field, before)
    count++
  }
  return count
}

test('a hold is listed, and ends once, by control and by its process', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  const proxy = new TestProxy(book.redis)
  const requestId = await proxy.newHold(accountId, 100)
  const own = await worker.takeSingly(accountId, keyOf(accountId), 200)
  if (own instanceof GatewayError) throw own
  const today = await listHolds(book.redis)
  assert.equal(await toFormBefore(holdsKey(shard, proxy.owner)), 1)
  assert.equal(await toFormBefore(holdsKey(shard, worker.owner)), 1)
  assert.deepEqual(await listHolds(book.redis), today)
  assert.equal((await proxy.settle(accountId, requestId, 40, 100)).code, SettleCode.SETTLED)
  await worker.end(own, 150)
  await until('Redis has it', async () => worker.undelivered === 0)
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 810, grants: {}, out: 0 })
  assert.deepEqual(await spentBy(book.redis, accountId), everywhere(190))
  await drainAll(book)
  await assertCleanAudit(book)
})

test('a lease is listed, charged, and taken back when its owner is gone', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  const owner = new LeaseOwner(book.redis)
  await owner.open(shard)
  await owner.leaseOne({ accountId, want: 400 })
  const key = { key: leasesKey(shard, owner.owner), shard, owner: owner.owner }
  const today = await listLeases(book.redis, [key])
  assert.equal(await toFormBefore(key.key), 1)
  assert.deepEqual(await listLeases(book.redis, [key]), today)
  await owner.deliver(shard, [], [{ accountId, returned: { coin: 150 } }])
  assert.match(Object.values(await owner.leases(shard)).join(), /\|v2:\d+\|250\|$/)
  assert.equal(await toFormBefore(key.key), 1)
  assert.deepEqual(await defineScript(book.redis, 'closeOwner')([epochKey(shard), key.key], [100]), [0, 250])
  assert.deepEqual(await accountState(book.redis, accountId), { coin: 1_000, grants: {}, out: 0 })
  assert.deepEqual(await spentBy(book.redis, accountId), everywhere(0))
})

test('a debit is read, and given back', async () => {
  const accountId = await fundedAccount(book, 1_000)
  const shard = shardOf(accountId)
  const debits = new Debits(book.pool, book.redis, limits)
  const spender = { keyId: keyOf(accountId), caps: { ...NO_CAPS, day: 500 } }
  const debit = { id: newId('pay'), accountId, nanos: 300, units: 300, spender }
  const read = async () => {
    for await (const page of readDebits(book.redis, shard)) return page
    return []
  }
  await assert.rejects(
    withUndo(
      book.pool,
      (error) => assert.fail(String(error)),
      async (transaction) => {
        await debits.take(transaction, debit)
        const today = await read()
        assert.equal(today[0]?.debitId, debit.id)
        assert.equal(await toFormBefore(debitsKey(shard)), 1)
        assert.deepEqual(await read(), today)
        throw new Error('it fails')
      },
    ),
    /it fails/,
  )
  assert.deepEqual(await read(), [])
  assert.equal((await accountState(book.redis, accountId)).coin, 1_000)
  assert.deepEqual(await spentBy(book.redis, accountId), everywhere(0))
})

test('the windows of scripts are those of the table', async () => {
  const lua = `${sharedSource('time')}${sharedSource('windows')}${sharedSource('counted')}
    local numbers = {}
    for i, hour in ipairs(ARGV) do numbers[i] = { windowsOf(tonumber(hour)) } end
    return numbers`
  const firsts = Array.from({ length: 800 }, (_, month) => WINDOW.month.firstHour(month))
  const hours = firsts.flatMap((first) => [first, first + 23, first + 24, first + 500])
  const numbers = (await book.redis.eval(lua, 0, ...hours)) as string[][]
  for (const [i, hour] of hours.entries()) {
    assert.deepEqual(
      numbers[i]?.map(Number),
      WINDOWS.map((window) => WINDOW[window].numberOf(hour)),
      String(hour),
    )
  }
})
