import assert from 'node:assert/strict'
import test from 'node:test'
import { CLIENT_LIMITS } from '../../../../contract/limits/clientLimits.ts'
import { limitsHandler } from '../../../../proxy/endpoints/publicLimits.ts'
import type { Exchange } from '../../../../proxy/server/exchange.ts'
import { limits } from '../../../support/limits.ts'

interface Shown {
  readonly rate_limits: { id: string; requests: number; burst: number; scope: string }[]
  readonly all: Record<string, { value: number; unit: string }>
}

function shown(changes: Partial<Record<keyof typeof limits, number>> = {}): Shown {
  let text = ''
  const exchange = {
    answer: (_status: number, _type: string, body: string) => {
      text = body
    },
  }
  void limitsHandler({ ...limits, ...changes })(exchange as unknown as Exchange, Buffer.alloc(0))
  return JSON.parse(text) as Shown
}

test('every limit that clients meet is shown with its value in force and its unit', () => {
  const { all } = shown({ bodyTimeoutMs: 1_234 })
  assert.deepEqual(Object.keys(all).sort(), Object.keys(CLIENT_LIMITS).sort())
  assert.deepEqual(all['bodyTimeoutMs'], { value: 1_234, unit: 'milliseconds' })
  const unitOf = (name: string) => all[name]?.unit
  assert.deepEqual(
    ['messagesMax', 'bodyBytesMax', 'audioSecondsMax', 'requestsPerMinute', 'imageSideMax', 'linkUnitsMin'].map(unitOf),
    ['count', 'bytes', 'seconds', 'per minute', 'pixels', 'units of 1e-9 USD'],
  )
  // A quantity that its name gives a unit is never shown as a count.
  const counts = Object.keys(all).filter((name) => unitOf(name) === 'count')
  assert.deepEqual(
    counts.filter((name) => /Ms|Seconds|Bytes|Characters|Minute|Gwei|Bps/.test(name)),
    [],
  )
})

test('every rate limit of the table is listed, once by its id', () => {
  const { rate_limits: rates } = shown({ paymentRefusalsPerMinute: 77, requestsPerMinute: 5, requestBurst: 9 })
  assert.equal(new Set(rates.map(({ id }) => id)).size, rates.length)
  for (const name of Object.keys(CLIENT_LIMITS).filter((limit) => limit.endsWith('PerMinute'))) {
    const value = 424_242
    const changed = shown({ [name]: value }).rate_limits
    assert.ok(
      changed.some(({ requests }) => requests === value),
      name,
    )
  }
  assert.equal(rates.find(({ id }) => id === 'refused_payments')?.requests, 77)
  const { requests, burst, scope } = rates.find(({ id }) => id === 'requests_per_key') ?? assert.fail()
  assert.deepEqual([requests, burst, scope], [5, 5, 'key'])
})
