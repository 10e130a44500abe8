// Goal: whatever a provider of the Anthropic dialect makes of the format, clients of every format get its answer as they know
// it, whole and once, and the receipt has its usage. One row a shape, as a stream and in one piece where it has both.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type AnthropicWire, startAnthropicWire } from '../support/wires/anthropicWire.ts'
import { type Got, ReceiptTap } from '../support/wires/wireClients.ts'
import type { Row } from './messageEvents.ts'
import { ROWS } from './messageRows.ts'

let wire: AnthropicWire
const tap = new ReceiptTap()

before(async () => {
  wire = await startAnthropicWire(tap, (place, body, response) => {
    const row = ROWS[place]
    const isStream = body['stream'] === true
    const type = isStream ? 'text/event-stream' : 'application/json'
    response.writeHead(200, { 'content-type': type }).end(isStream ? row?.stream : row?.whole)
  })
})

after(() => wire.stop())

/** Ids of the gateway's own are shown as ''. */
function withoutMade(got: Got): Got {
  assert.equal(new Set(got.calls.map(({ id }) => id)).size, got.calls.length)
  const calls = got.calls.map((call) => ({ ...call, id: call.id.replace(/^call_[0-9A-Z]+_\d+$/, '') }))
  return { ...got, calls }
}

async function check({ got, isReported = true }: Row, ask: () => Promise<Got>): Promise<void> {
  if (got === undefined || got === 'partial') await assert.rejects(ask)
  else assert.deepEqual(withoutMade(await ask()), got)
  const { receipt } = tap
  if (got === undefined) {
    assert.equal(receipt, undefined)
    return
  }
  assert.equal(receipt?.status, got === 'partial' ? 'partial' : 'ok')
  if (!isReported) return
  const { prompt_tokens: prompt, completion_tokens: output } = receipt.usage
  assert.deepEqual([prompt, output, receipt.usage_source], [10, 5, 'reported'])
}

for (const format of ['chat', 'messages', 'responses']) {
  describe(`answers of the Anthropic dialect: ${format}`, () => {
    for (const [place, row] of ROWS.entries()) {
      for (const isStream of [true, false]) {
        if ((isStream ? row.stream : row.whole) === undefined) continue
        test(`${row.name}, ${isStream ? 'streamed' : 'in one piece'}`, () =>
          check(row, () => wire.ask(format, `row ${place}`, isStream)))
      }
    }
  })
}
