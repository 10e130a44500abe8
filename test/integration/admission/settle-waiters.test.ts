// Goal: what one request does with the news of its hold or ending never costs another one its own. Method: the real
// batching over a script that the test answers for.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldCode, SettleCode } from '../../../contract/wire/scripts.ts'
import { payerPrincipal } from '../../../proxy/access/payerPrincipal.ts'
import { Holds, type HoldWaiter } from '../../../proxy/admission/holds.ts'
import { limits } from '../../support/limits.ts'
import { allSettled, endingOf, settlementsOver, waiterOf } from '../../support/parts/settlements.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const folderOf = (t: { after: (done: () => void) => void }): string => {
  const folder = makeTempDir('journal')
  t.after(() => removeTempDir(folder))
  return folder
}

const journaled = (folder: string): string[] =>
  readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { requestId: string }).requestId)
    .sort()

test('a waiter that throws on its settlement is told so, and the others of its batch are told theirs', async (t) => {
  const { settlements, faults, end } = settlementsOver(folderOf(t), allSettled)
  const waiters = [waiterOf(), waiterOf(true), waiterOf()]
  for (const [i, waiter] of waiters.entries()) end(endingOf(`req_${i}`), waiter)
  await until('all are told', () => waiters.every(({ told }) => told.length > 0))
  assert.deepEqual(
    waiters.map(({ told }) => told),
    [['settled 5'], ['settled 5', 'crashed'], ['settled 5']],
  )
  assert.equal(faults.length, 1)
  assert.equal(settlements.openCount, 0)
})

test('a waiter that throws on its hold is told so, and the others of its batch are told theirs', async () => {
  const faults: unknown[] = []
  const told: string[] = []
  const holds = new Holds({
    schedule: setImmediate,
    script: async () => [1, HoldCode.OK, 7, 0, HoldCode.OK, 7, 0, HoldCode.BALANCE, 0, 0],
    owner: 'own_test',
    limits,
    connected: () => true,
    perShard: false,
    onFault: (error) => faults.push(error),
  })
  const waiter = (name: string): HoldWaiter => ({
    requestId: name,
    principal: payerPrincipal('0x00000000000000000000000000000000000000aa'),
    wantUnits: 7,
    leastUnits: 7,
    holdMeta: 'm',
    onHeld: () => {
      told.push(`${name} held`)
      if (name === 'a') throw new Error('the waiter failed')
    },
    onHoldRefused: (error) => told.push(`${name} ${error.code}`),
    onCrashed: () => told.push(`${name} crashed`),
  })
  for (const name of ['a', 'b', 'c']) holds.take(waiter(name))
  await until('all are told', () => told.length === 4)
  assert.deepEqual(told, ['a held', 'a crashed', 'b held', 'c insufficient_balance'])
  assert.equal(faults.length, 1)
})

test('a charge for a request that was voided before is answered without a receipt', async (t) => {
  const voided = settlementsOver(folderOf(t), () => [SettleCode.ALREADY_VOIDED, -1])
  const [charge, again] = [waiterOf(), waiterOf()]
  voided.end(endingOf('req_charge'), charge)
  await until('it is told', () => charge.told.length > 0)
  voided.end(endingOf('req_void', -1), again)
  await until('it is told', () => again.told.length > 0)
  assert.deepEqual([charge.told, again.told], [['delayed'], ['settled 0']])
})

test('a void whose hold is not there yet is tried once more', async (t) => {
  const codes: number[] = [SettleCode.UNKNOWN, SettleCode.SETTLED]
  const { settlements, end } = settlementsOver(folderOf(t), () => [codes.shift(), -1])
  const waiter = waiterOf()
  end(endingOf('req_early', -1), waiter)
  await until('both answers are taken', () => codes.length === 0 && settlements.openCount === 0)
  assert.deepEqual(waiter.told, ['settled 0'])
})

test('what is in flight, or with control, when the process stops goes to the journal', async (t) => {
  const folder = folderOf(t)
  const hanging = new Promise<never>(() => {})
  const { settlements, end } = settlementsOver(
    folder,
    (ids) => (ids.includes('req_lost') ? [SettleCode.UNKNOWN, 0] : hanging),
    { settleLost: () => hanging },
  )
  end(endingOf('req_lost'))
  await sleep(20)
  end(endingOf('req_flying'))
  await sleep(20)
  end(endingOf('req_waiting'))
  await settlements.stop(50)
  assert.deepEqual(journaled(folder), ['req_flying', 'req_lost', 'req_waiting'])
})

test('endings in flight count towards the bound on memory; those past it go to the journal', async (t) => {
  const folder = folderOf(t)
  let release: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const sent: string[] = []
  const { settlements, end } = settlementsOver(
    folder,
    async (ids) => {
      await gate
      sent.push(...ids)
      return allSettled(ids)
    },
    { limits: { ...limits, settleQueueMax: 10 } },
  )
  for (let i = 0; i < 10; i++) end(endingOf(`req_${i}`))
  await sleep(20)
  const late = waiterOf()
  end(endingOf('req_past'), late)
  assert.equal(settlements.openCount, 10)
  assert.deepEqual([late.told, journaled(folder)], [['delayed'], ['req_past']])
  release()
  await until('all are accepted', () => settlements.allAccepted)
  assert.equal(sent.length, 11)
  assert.deepEqual(readdirSync(folder), [])
})
