// Goal: a hold that may stand without anybody knowing is voided as soon as it is there, and nobody waits for it. Method: the
// answers of Redis by request, as the test sets them.
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { accountKeys } from '../../../../contract/wire/redisKeys.ts'
import { SettleCode } from '../../../../contract/wire/scripts.ts'
import type { Ending, EndingWaiter } from '../../../../proxy/admission/ending.ts'
import { StrayHolds } from '../../../../proxy/admission/strayHolds.ts'
import { limitsWith } from '../../../support/limits.ts'
import { until } from '../../../support/until.ts'

const WATCH_MS = 60_000

let running: StrayHolds | undefined
afterEach(() => running?.stop())

function over(
  codeOf: (requestId: string) => number,
  {
    now = () => 0,
    strayHoldsMax = 10,
    connected = () => true,
  }: {
    now?: () => number
    strayHoldsMax?: number
    connected?: () => boolean
  } = {},
): { strays: StrayHolds; sent: string[]; faults: unknown[] } {
  const sent: string[] = []
  const faults: unknown[] = []
  const strays = new StrayHolds({
    script: async (_keys, args) => {
      const ids = args.filter((_, at) => at >= 2 && (at - 2) % 3 === 0).map(String)
      sent.push(...ids)
      return ids.flatMap((id) => [codeOf(id), -1])
    },
    limits: limitsWith({ settleRetryMs: 5, lostHoldWatchMs: WATCH_MS, strayHoldsMax }),
    perShard: false,
    connected,
    onFault: (error) => faults.push(error),
    now,
  })
  running = strays
  return { strays, sent, faults }
}

const endingOf = (requestId: string, chargeUnits = -1): Ending => {
  return { requestId, owner: 'own_1', accountId: 'acct_1', keyId: 'key_1', shard: 0, chargeUnits, settlement: '' }
}
const KEYS = accountKeys(0, 'acct_1', 'key_1')

function waiterOf(): EndingWaiter & { told: string[] } {
  const told: string[] = []
  return {
    told,
    onSettled: (units) => void told.push(`settled ${units}`),
    onSettleDelayed: () => void told.push('delayed'),
    onCrashed: () => void told.push('crashed'),
  }
}

test('it is polled until it appears; waiting callers are notified immediately that its charge is zero', async () => {
  let code: number = SettleCode.UNKNOWN
  const { strays, sent } = over(() => code)
  const waiter = waiterOf()
  strays.end(endingOf('req_1'), KEYS, waiter)
  await until('it is looked for', () => sent.length >= 3)
  assert.deepEqual(waiter.told, ['settled 0'])
  code = SettleCode.CLOSED
  const before = sent.length
  await until('it is looked for while admission is closed', () => sent.length > before)
  code = SettleCode.SETTLED
  await until('it is found', () => strays.size === 0)
  const after = sent.length
  await sleep(20)
  assert.equal(sent.length, after)
})

test('a hold that never appears is given up after a timeout, and one ended by another process immediately', async () => {
  const codes: Record<string, number> = { req_never: SettleCode.UNKNOWN, req_ended: SettleCode.ALREADY_SETTLED }
  let nowMs = 0
  const { strays, sent } = over((id) => codes[id] ?? SettleCode.SETTLED, { now: () => nowMs })
  for (const id of Object.keys(codes)) strays.end(endingOf(id), KEYS, null)
  nowMs = WATCH_MS - 1
  await until('it is looked for more than once', () => sent.filter((id) => id === 'req_never').length > 2)
  assert.equal(strays.size, 1)
  nowMs = WATCH_MS
  await until('none is left', () => strays.size === 0)
  assert.equal(sent.filter((id) => id === 'req_ended').length, 1)
})

test('no call is sent while Redis is down; holds beyond the bound are left to the replay of the process', async () => {
  let isConnected = false
  const { strays, sent } = over(() => SettleCode.SETTLED, { strayHoldsMax: 2, connected: () => isConnected })
  for (const id of ['req_1', 'req_2', 'req_3']) strays.end(endingOf(id), KEYS, null)
  await sleep(20)
  assert.deepEqual([strays.size, sent], [2, []])
  isConnected = true
  await until('they are voided', () => strays.size === 0)
  assert.deepEqual(sent, ['req_1', 'req_2'])
})

test('a charge without a hold is a fault: it is not sent, and no receipt is shown for it', async () => {
  const { strays, sent, faults } = over(() => SettleCode.SETTLED)
  const waiter = waiterOf()
  strays.end(endingOf('req_1', 5), KEYS, waiter)
  await until('it is told', () => waiter.told.length > 0)
  assert.deepEqual([waiter.told, sent, faults.length], [['delayed'], [], 1])
})
