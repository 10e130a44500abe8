import assert from 'node:assert/strict'
import test from 'node:test'
import { checkCharge } from '../../../verifier/charge.ts'
import { readSeries } from '../../../verifier/lock.ts'
import type { Amount, Receipt } from '../../../verifier/receipt.ts'
import { readSheet } from '../../../verifier/sheet.ts'

const SHEET = readSheet({
  version: '3',
  coin: { usd: '1' },
  models: [
    {
      id: 'chat',
      unit: 'million_tokens',
      price: {
        input: '1',
        output: '2',
        cached_input: '0.1',
        batch_input: '0.5',
        batch_output: '1',
        long_context: { threshold: 100, input: '10', output: '20' },
      },
      price_private: { input: '3', output: '4' },
    },
    { id: 'image', unit: 'image', price: { image: '0.04', sizes: { '512x512': '0.01' } } },
    { id: 'speech', unit: 'million_characters', price: { character: '15' } },
    { id: 'twice', unit: 'image', price: { image: '1' } },
    { id: 'twice', unit: 'image', price: { image: '1' } },
  ],
  tools: [
    { id: 'search', price: { base: '0.001', result: '0.0002' } },
    { id: 'scrape', price: { call: '0.002' } },
  ],
})

const amount = (units: number): Amount => ({ units: BigInt(units), usd: '', coin: '' })
const NO_USAGE = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }
const HASH = new Uint8Array(32)

function receipt(charged: number, changes: Partial<Receipt> = {}): Receipt {
  return {
    requestId: 'req_1',
    status: 'ok',
    model: 'chat',
    endpoint: 'chat',
    sheetVersion: '3',
    rate: 'standard',
    tier: 'standard',
    cost: amount(charged),
    hold: amount(1_000_000_000),
    usage: { ...NO_USAGE, input: 10, output: 5 },
    quantity: 0,
    unit: '',
    size: '',
    usageSource: 'reported',
    clamped: false,
    streamed: false,
    heldAtMs: 0,
    durationMs: 0,
    errorCode: '',
    tagging: null,
    paid: null,
    lock: null,
    place: {
      log: 0,
      position: 0,
      leaf: HASH,
      treeSize: 1,
      root: HASH,
      proof: [],
      entry: 'sluice-receipt/2\n',
    },
    ...changes,
  }
}

const counted = (model: string, unit: string, quantity: number, size = ''): Partial<Receipt> => ({
  model,
  endpoint: 'images',
  usage: NO_USAGE,
  quantity,
  unit,
  size,
})
const tool = (model: string, unit: string, quantity: number): Partial<Receipt> => ({
  ...counted(model, unit, quantity),
  endpoint: 'tools',
})

/** What is charged, and the receipt that says why. */
const CHARGES: readonly [units: number, changes: Partial<Receipt>][] = [
  [20_000, {}],
  [10_000, { rate: 'batch' }],
  // Without a batch rate of their own, cached tokens cost what they cost otherwise, which is less.
  [6_000, { rate: 'batch', usage: { ...NO_USAGE, input: 10, cachedInput: 10 } }],
  [50_000, { tier: 'private' }],
  [80_000_000, counted('image', 'image', 2)],
  [20_000_000, counted('image', 'image', 2, '512x512')],
  [15_000, counted('speech', 'character', 1)],
  [0, counted('image', '', 0)],
  [1_600_000, tool('search', 'result', 3)],
  [1_000_000, tool('search', '', 0)],
  [2_000_000, tool('scrape', 'call', 1)],
]

test('a charge equals the usage at the rates of the sheet', () => {
  for (const [units, changes] of CHARGES) {
    assert.equal(checkCharge(receipt(units, changes), SHEET), `${units} units`)
    assert.throws(() => checkCharge(receipt(units + 1, changes), SHEET), /where the sheet has/)
    if (units > 0) assert.match(checkCharge(receipt(units - 1, changes), SHEET), /less than it may be/)
  }
})

test('long prompts are charged at their own rates, from the first token above the threshold', () => {
  const prompt = (input: number, cachedInput: number) => ({ usage: { ...NO_USAGE, input, cachedInput, output: 1 } })
  assert.equal(checkCharge(receipt(84_000, prompt(80, 20)), SHEET), '84000 units')
  assert.equal(checkCharge(receipt(1_030_000, prompt(81, 20)), SHEET), '1030000 units')
  // The batch has no rates for long prompts.
  assert.equal(checkCharge(receipt(43_500, { ...prompt(81, 20), rate: 'batch' }), SHEET), '43500 units')
})

test('a charge beyond its hold is clamped to it, and flagged', () => {
  const clamped = { hold: amount(15_000), clamped: true }
  assert.match(checkCharge(receipt(15_000, clamped), SHEET), /because no more was held/)
  assert.throws(() => checkCharge(receipt(15_001, clamped), SHEET), /15001 units were charged of 15000 held/)
  assert.throws(() => checkCharge(receipt(15_000, { ...clamped, clamped: false }), SHEET), /where the sheet has/)
  assert.throws(() => checkCharge(receipt(20_000, { clamped: true }), SHEET), /clamped, where the sheet has/)
})

test('a request that was not served is not charged', () => {
  for (const status of ['failed', 'cut', 'orphaned'] as const) {
    assert.match(checkCharge(receipt(0, { status }), SHEET), /nothing/)
    assert.throws(() => checkCharge(receipt(1, { status }), SHEET), /is not charged/)
    assert.throws(() => checkCharge(receipt(0, { status, clamped: true }), SHEET), /is not charged/)
  }
})

test('a tool call that failed at its upstream is charged no more than its hold', () => {
  const failed = { ...tool('search', 'result', 3), status: 'partial' as const }
  assert.match(checkCharge(receipt(1_500_000, failed), SHEET), /within the hold/)
  assert.throws(() => checkCharge(receipt(1_000_000_001, failed), SHEET), /held/)
})

test('a receipt without its rate, tier or size matches any that is sold', () => {
  const unknown = { rate: '', tier: '' }
  for (const units of [20_000, 10_000, 50_000]) {
    assert.equal(checkCharge(receipt(units, unknown), SHEET), `${units} units`)
  }
  assert.throws(() => checkCharge(receipt(50_001, unknown), SHEET), /20000 or 50000 or 10000/)
  const before = { ...receipt(0).place, entry: 'sluice-receipt/1\n' }
  const small = counted('image', 'image', 1)
  assert.match(checkCharge(receipt(10_000_000, { ...small, place: before }), SHEET), /units/)
})

test('usage that the sheet does not sell is rejected with the reason', () => {
  for (const [changes, reason] of [
    [{ model: 'other' }, /has 0 of the models other/],
    [{ model: 'twice' }, /has 2 of the models twice/],
    [tool('other', 'call', 1), /has 0 of the tools other/],
    [{ sheetVersion: '4' }, /version 3, the receipt names 4/],
    [counted('image', 'image', 1, '64x64'), /does not sell/],
    [counted('image', 'second', 1), /counts image, the receipt second/],
    [{ ...counted('image', 'image', 1), rate: 'batch' }, /does not sell/],
    [{ ...counted('image', 'image', 1), tier: 'private' }, /does not sell/],
  ] as const) {
    assert.throws(() => checkCharge(receipt(0, changes), SHEET), reason)
  }
})

const SERIES = readSeries(
  {
    data: [
      {
        id: 'lock_01M84JCS2RKAGFGKBQAA87S72K',
        model: 'chat',
        locked_price: { units: '1000000000' },
        price: { input: '0.5', output: '1' },
      },
    ],
  },
  'lock_01M84JCS2RKAGFGKBQAA87S72K',
)

/** A receipt that has burnt micro-tokens of 1,000 units. */
const burnt = (charged: number, micros: number, changes: Partial<Receipt> = {}): Receipt =>
  receipt(charged, {
    lock: { series: SERIES.id, micros: BigInt(micros), units: BigInt(micros) * 1_000n },
    ...changes,
  })

test('burnt tokens equal the usage at the rates of the series, and the sheet charges the remaining share', () => {
  assert.equal(checkCharge(burnt(0, 10), SHEET, SERIES), '0 units and 10000 units of tokens')
  assert.equal(checkCharge(burnt(14_000, 3), SHEET, SERIES), '14000 units and 3000 units of tokens')
  assert.throws(() => checkCharge(burnt(14_001, 3), SHEET, SERIES), /where the sheet has 14000/)
  assert.throws(() => checkCharge(burnt(0, 11), SHEET, SERIES), /11000 units were burnt, where the series has 10000/)
  assert.throws(() => checkCharge(burnt(0, 10), SHEET), /was not given/)
  assert.throws(() => checkCharge(burnt(0, 10, { rate: 'batch' }), SHEET, SERIES), /at the standard rate/)
  assert.throws(() => checkCharge(burnt(0, 10, { hold: amount(9_999) }), SHEET, SERIES), /of 9999 held/)
  assert.throws(() => checkCharge(burnt(0, 10, { model: 'image' }), SHEET, SERIES), /is of chat/)
  const clamped = { hold: amount(13_000), clamped: true }
  assert.match(checkCharge(burnt(10_000, 3, clamped), SHEET, SERIES), /10000 units of 14000 .* no more was held/)
  const other = { series: SERIES.id, micros: 9n, units: 10_000n }
  assert.throws(() => checkCharge(burnt(0, 10, { lock: other }), SHEET, SERIES), /are not 10000 units/)
})
