import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ChunkScan } from '../../../../../proxy/dialects/openai/chunkScan.ts'
import { chunk } from '../../../../support/samples/chunks.ts'

test('the scan finds the same values as parsing', () => {
  fc.assert(
    fc.property(chunk, ({ json }) => {
      const scan = new ChunkScan()
      const bytes = Buffer.from(`  ${json} `)
      assert.ok(scan.scan(bytes, 0, bytes.length))
      const parsed = JSON.parse(json) as { choices: { finish_reason?: unknown }[]; usage?: unknown }
      assert.equal(
        scan.finished,
        parsed.choices.some((entry) => entry.finish_reason === 'stop'),
      )
      assert.equal(scan.usageStart >= 0, parsed.usage !== undefined)
      if (scan.usageStart >= 0) {
        assert.deepEqual(JSON.parse(bytes.toString('utf8', scan.usageStart, scan.usageEnd)), parsed.usage)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('truncated JSON is rejected', () => {
  const json = '{"id":"a\\"b","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":{"a":[1]}}'
  const scan = new ChunkScan()
  for (let end = 0; end < json.length; end++) {
    assert.equal(scan.scan(Buffer.from(json), 0, end), false, json.slice(0, end))
  }
  assert.equal(scan.scan(Buffer.from(json), 0, json.length), true)
  for (const bad of ['', '[]', '{"a"}', '{"a":}', '{a:1}', '{"a":1,}', '{} {}', 'null', '<html>']) {
    assert.equal(scan.scan(Buffer.from(bad), 0, bad.length), false, bad)
  }
})

test('the bytes of a delta are those that the model has written, each once', () => {
  const bytesOf = (delta: object): number => {
    const bytes = Buffer.from(JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] }))
    const scan = new ChunkScan()
    assert.ok(scan.scan(bytes, 0, bytes.length))
    return scan.outputBytes
  }
  const details = [{ type: 'reasoning.text', text: 'four' }]
  assert.equal(bytesOf({ content: 'four' }), 4)
  assert.equal(bytesOf({ refusal: 'four' }), 4)
  assert.equal(bytesOf({ reasoning: 'four', reasoning_content: 'four' }), 4)
  assert.equal(bytesOf({ reasoning: 'four', reasoning_details: details }), 4)
  assert.equal(bytesOf({ content: 'four', images: [{ image_url: { url: 'x'.repeat(1_000) } }] }), 4)
  assert.equal(bytesOf({ content: 'four', annotations: [{ url: 'x'.repeat(1_000) }] }), 4)
})
