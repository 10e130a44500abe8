// Goal: an export of receipts becomes the distribution of its requests, whatever its cells hold, in both forms.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RECEIPT_COLUMNS } from '../../../../control/book/receipt/generated/receipt.ts'
import type { RequestKind } from '../../../../control/load/kinds.ts'
import { readReplay } from '../../../../control/load/replay.ts'
import { csvCell } from '../../../../control/records/csvCell.ts'
import { limits } from '../../../support/limits.ts'

type Receipt = Readonly<Record<string, string | number | boolean>>

const receipt = (more: Receipt = {}): Receipt => ({
  model: 'acme/chat',
  endpoint: 'chat',
  status: 'ok',
  input_tokens: 100,
  cached_input_tokens: 20,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 30,
  streamed: true,
  end_user: '',
  voided: false,
  ...more,
})

const csv = (rows: readonly Receipt[]): string => {
  const names = Object.keys(rows[0] ?? receipt())
  return `${[names, ...rows.map((row) => names.map((name) => csvCell(row[name] ?? '')))].map((cells) => cells.join()).join('\r\n')}\r\n`
}
const jsonLines = (rows: readonly Receipt[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
}

const read = (text: string, size = 64, model?: string): Promise<RequestKind[]> =>
  readReplay(inPieces(text, size), model, limits)

for (const [form, text] of [
  ['CSV', csv],
  ['JSON lines', jsonLines],
] as const) {
  test(`kinds have the models, streams and mean tokens of the receipts, by how many there are: ${form}`, async () => {
    const rows = [
      receipt({ model: 'acme/large', streamed: false, input_tokens: 5_000, output_tokens: 900 }),
      receipt(),
      receipt({ input_tokens: 104, output_tokens: 32 }),
      receipt({ status: 'failed' }),
      receipt({ voided: true }),
      receipt({ endpoint: 'embeddings' }),
    ]
    assert.deepEqual(await read(text(rows)), [
      { model: 'acme/chat', isStreamed: true, promptTokens: 122, maxTokens: 31, weight: 2 },
      { model: 'acme/large', isStreamed: false, promptTokens: 5_020, maxTokens: 900, weight: 1 },
    ])
    assert.deepEqual(
      (await read(text(rows), 7, 'other/m')).map(({ model }) => model),
      ['other/m', 'other/m'],
    )
  })

  test(`cells may hold anything, and pieces end anywhere: ${form}`, async () => {
    const cells = fc.array(fc.oneof(fc.string(), fc.constantFrom('a\r\n"b",{', ',', '"', '\n{"x":1}')), {
      minLength: 1,
    })
    await fc.assert(
      fc.asyncProperty(cells, fc.integer({ min: 1, max: 50 }), async (users, size) => {
        const kinds = await read(text(users.map((user) => receipt({ end_user: user }))), size)
        assert.deepEqual(
          kinds.map(({ weight }) => weight),
          [users.length],
        )
      }),
      { numRuns: 300 },
    )
  })
}

test('a text that is no export of receipts is refused, and one without an answered chat', async () => {
  await assert.rejects(read('hello\nworld\n'), /no export of receipts/)
  await assert.rejects(read('{"a":1}\n'), /no export of receipts/)
  await assert.rejects(read(csv([receipt({ status: 'failed' })])), /no answered request/)
  await assert.rejects(read('x'.repeat(limits.loadReplayLineChars + 1)), /more than [0-9]+ characters/)
})

test('exports have the columns that are read', () => {
  const columns = new Set(RECEIPT_COLUMNS.split(', '))
  for (const name in receipt()) assert.ok(columns.has(name), name)
})

test('kinds and groups are bounded; the heaviest stay', async () => {
  const few = { ...limits, loadKindsMax: 2 }
  const rows = [1, 2, 3].flatMap((n) => Array.from({ length: n }, () => receipt({ model: `m${n}` })))
  const kinds = await readReplay(inPieces(csv(rows), 1_000), undefined, few)
  assert.deepEqual(
    kinds.map(({ model, weight }) => [model, weight]),
    [
      ['m3', 3],
      ['m2', 2],
    ],
  )
})
