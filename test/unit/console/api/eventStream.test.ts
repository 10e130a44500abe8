// Goal: an answer is read the same however its bytes arrive. Method: a stream cut at every place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventReader } from '../../../../console/api/eventStream.ts'

const STREAM = 'data: {"a":1}\n\n: ping\n\r\ndata: {"b":2}\r\n\r\n: receipt {"c":3}\n\ndata: [DONE]\n\n'
const PIECES = [
  { kind: 'data', json: { a: 1 } },
  { kind: 'data', json: { b: 2 } },
  { kind: 'receipt', text: '{"c":3}' },
  { kind: 'done' },
]

test('a stream that is cut anywhere has the same pieces', () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const reader = new EventReader()
    assert.deepEqual([...reader.push(STREAM.slice(0, cut)), ...reader.push(STREAM.slice(cut))], PIECES, `cut at ${cut}`)
  }
})
