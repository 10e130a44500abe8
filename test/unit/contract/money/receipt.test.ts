import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ReceiptFields, receiptJson } from '../../../../contract/money/receipt.ts'

const FIELDS: ReceiptFields = {
  requestId: 'req_01JABCDEFGHJKMNPQRSTVWXYZ0',
  status: 'ok',
  model: 'acme/chat-small',
  endpoint: 'chat',
  sheetVersion: 3,
  rate: 'batch',
  tier: 'standard',
  costUnits: 1_500,
  holdUnits: 2_000_000_000,
  coinUsdUnits: 2_000_000_000,
  usage: { input: 10, cachedInput: 5, cacheWrite5m: 2, cacheWrite1h: 1, output: 7, reasoning: 3 },
  quantity: 0,
  size: '',
  attestation: '',
  unit: '',
  usageSource: 'reported',
  clamped: false,
  streamed: true,
  createdMs: Date.UTC(2026, 10, 21, 1, 2, 3, 4),
  durationMs: 812,
  firstByteMs: 131,
  tries: 2,
  errorCode: null,
}

test('a receipt parses to its documented shape', () => {
  assert.deepEqual(JSON.parse(receiptJson(FIELDS)), {
    object: 'receipt',
    request_id: 'req_01JABCDEFGHJKMNPQRSTVWXYZ0',
    status: 'ok',
    model: 'acme/chat-small',
    endpoint: 'chat',
    price_sheet: '3',
    rate: 'batch',
    tier: 'standard',
    cost: { units: '1500', usd: '0.0000015', coin: '0.00000075' },
    hold: { units: '2000000000', usd: '2', coin: '1' },
    usage: {
      prompt_tokens: 18,
      completion_tokens: 7,
      total_tokens: 25,
      cached_tokens: 5,
      cache_write_tokens: 3,
      cache_write_1h_tokens: 1,
      reasoning_tokens: 3,
    },
    usage_source: 'reported',
    clamped: false,
    streamed: true,
    created: '2026-11-21T01:02:03.004Z',
    duration_ms: 812,
    first_token_ms: 131,
    tries: 2,
    error: null,
  })
})

test('a receipt of the private tier names the report of the hardware', () => {
  const attestation = 'att_01JABCDEFGHJKMNPQRSTVWXYZ0'
  const told = JSON.parse(receiptJson({ ...FIELDS, tier: 'private', attestation })) as Record<string, unknown>
  assert.deepEqual([told['tier'], told['attestation']], ['private', attestation])
})

test('a receipt of the book adds its position in the usage log', () => {
  const listed = JSON.parse(receiptJson({ ...FIELDS, log: { number: 7, position: 41 } }))
  assert.deepEqual(listed.log, { number: 7, position: 41 })
  const proof = { entry: 'a\nb\n', leaf: 'aa', treeSize: 50, root: 'bb', path: ['cc', 'dd'] }
  const single = JSON.parse(receiptJson({ ...FIELDS, log: { number: 7, position: 41, proof } }))
  const shown = {
    number: 7,
    position: 41,
    leaf: 'aa',
    tree_size: 50,
    root: 'bb',
    proof: ['cc', 'dd'],
    entry: 'a\nb\n',
    head: null,
    checkpoint: null,
  }
  assert.deepEqual(single.log, shown)
})

test('a receipt from before rates were recorded says so', () => {
  const { rate, tier } = JSON.parse(receiptJson({ ...FIELDS, rate: '', tier: '' }))
  assert.deepEqual([rate, tier], [null, null])
})

test('a first token is that of a stream, and figures that were never written down are null', () => {
  const CASES: [changes: Partial<ReceiptFields>, firstTokenMs: number | null, tries: number | null][] = [
    [{}, 131, 2],
    [{ streamed: false }, null, 2],
    [{ firstByteMs: 0 }, null, 2],
    [{ firstByteMs: 0, tries: 0 }, null, null],
  ]
  for (const [changes, ...expected] of CASES) {
    const { first_token_ms: firstTokenMs, tries } = JSON.parse(receiptJson({ ...FIELDS, ...changes }))
    assert.deepEqual([firstTokenMs, tries], expected)
  }
})

test('units other than tokens are counted beside the tokens', () => {
  const { usage } = JSON.parse(receiptJson({ ...FIELDS, quantity: 2, unit: 'image' }))
  assert.equal(usage.quantity, 2)
  assert.equal(usage.unit, 'image')
})

test('the size of images is shown if their price depends on it', () => {
  const usageOf = (size: string) => JSON.parse(receiptJson({ ...FIELDS, quantity: 2, unit: 'image', size })).usage
  assert.equal(usageOf('512x512').size, '512x512')
  assert.ok(!('size' in usageOf('')))
  // The log commits to it as well where no image came.
  assert.equal(JSON.parse(receiptJson({ ...FIELDS, size: '512x512' })).usage.size, '512x512')
})

test('any model id and error code round-trips, on one line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (model, errorCode) => {
      const text = receiptJson({ ...FIELDS, model, errorCode })
      assert.ok(!/[\r\n]/.test(text))
      const parsed = JSON.parse(text)
      assert.equal(parsed.model, model)
      assert.equal(parsed.error, errorCode)
    }),
  )
})
