import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type LoggedReceipt, leafText } from '../../../../control/book/receipt/generated/receipt.ts'
import { projectRoot } from '../../../../control/launch/paths.ts'

const RECEIPT: LoggedReceipt = {
  leafLayout: 2,
  requestId: 'req_1',
  status: 'partial',
  model: 'acme/chat-small',
  endpoint: 'chat',
  sheetVersion: 4,
  chargeUnits: 77,
  inputTokens: 1,
  cachedInputTokens: 2,
  cacheWrite5mTokens: 3,
  cacheWrite1hTokens: 4,
  outputTokens: 5,
  reasoningTokens: 6,
  quantity: 7,
  unit: 'image',
  usageSource: 'reported',
  heldAtMs: 1_700_000_000_000,
  rate: 'standard',
  tier: 'private',
  size: '256x256',
  holdUnits: 80,
  clamped: true,
  streamed: false,
  durationMs: 9,
  errorCode: 'client_gone',
  lockSeries: 'lock_1',
  lockUnits: 3,
  tagsHash: 'abcd',
}
const FIRST = 'req_1|partial|acme/chat-small|chat|4|77|1|2|3|4|5|6|7|image|reported|1700000000000|'

test('the text of a leaf has the documented lines, in the layout that the receipt was booked in', () => {
  const lines = `sluice-receipt/2|${FIRST}standard|private|256x256|80|true|false|9|client_gone|`
  assert.equal(leafText(RECEIPT), lines.replaceAll('|', '\n'))
  assert.equal(leafText({ ...RECEIPT, leafLayout: 1 }), `sluice-receipt/1|${FIRST}`.replaceAll('|', '\n'))
  const burnt = `sluice-receipt/3|${FIRST}standard|private|256x256|80|true|false|9|client_gone|lock_1|3|`
  assert.equal(leafText({ ...RECEIPT, leafLayout: 3 }), burnt.replaceAll('|', '\n'))
  const tagged = burnt.replace('receipt/3', 'receipt/4')
  assert.equal(leafText({ ...RECEIPT, leafLayout: 4 }), `${tagged}abcd|`.replaceAll('|', '\n'))
  assert.throws(() => leafText({ ...RECEIPT, leafLayout: 5 }), RangeError)
})

test('the log position in the receipt of the documentation has the layout of the log and verifies', () => {
  const page = readFileSync(join(projectRoot, 'docs/concepts/receipts.md'), 'utf8')
  const [, example = ''] = /"log":(\{[^}]*\})/.exec(page) ?? []
  const log = JSON.parse(example) as { entry: string; leaf: string; root: string; proof: string[] }
  const [layout, ...values] = log.entry.split('\n')
  const { leafLayout: _, lockSeries: _series, lockUnits: _units, tagsHash: _hash, ...fields } = RECEIPT
  const names = Object.keys(fields)
  assert.deepEqual([layout, values.length], ['sluice-receipt/2', names.length + 1])
  const written = Object.fromEntries(names.map((name, place) => [name, values[place]]))
  assert.equal(leafText({ ...written, leafLayout: 2 } as unknown as LoggedReceipt), log.entry)
  const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex')
  assert.equal(sha256(Buffer.of(0), Buffer.from(log.entry)), log.leaf)
  const siblings = log.proof.map((hex) => Buffer.from(hex, 'hex'))
  assert.equal(sha256(Buffer.of(1), Buffer.from(log.leaf, 'hex'), ...siblings), log.root)
})
