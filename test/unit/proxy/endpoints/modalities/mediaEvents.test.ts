// Goal: events of speech and images are relayed in whatever shape they come, and nothing else is. Method: a table of streams,
// each of which is split at every byte and read as a whole.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MediaEvents } from '../../../../../proxy/endpoints/modalities/mediaEvents.ts'
import type { EventPlan } from '../../../../../proxy/endpoints/modalities/operation.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { limits } from '../../../../support/limits.ts'

const PLAN: EventPlan = {
  beside: { unknown: [], extras: {} },
  holdUnits: 0,
  answerBytesMax: 1e6,
  eventBytesMax: 2_000,
  pieces: { type: 'part', member: 'data' },
  ends: { type: 'whole', member: 'data' },
  endsMax: 1,
  billUnseen: {
    units: 0,
    usage: { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 },
    quantity: 0,
    source: 'none',
  },
  billOf: () => PLAN.billUnseen,
  ask: () => assert.fail('not asked'),
}
const PART = '{"type":"part","data":"a"}'
const WHOLE = '{"data":"b","type":"whole","usage":{"total_tokens":3}}'
const out = (...events: string[]) =>
  events.map((event) => `event: ${event === PART ? 'part' : 'whole'}\ndata: ${event}\n\n`).join('')

/** A provider's bytes, what the client gets of them, and how the stream stands at their end. */
const ROWS: readonly (readonly [
  name: string,
  bytes: string,
  got: string,
  end: 'whole' | 'broken' | 'open',
  error?: unknown,
])[] = [
  ['as documented', out(PART, PART, WHOLE), out(PART, PART, WHOLE), 'whole'],
  ['data alone', `data: ${PART}\n\ndata: ${WHOLE}\n\n`, out(PART, WHOLE), 'whole'],
  ['no blank behind the colon', `data:${PART}\n\ndata:${WHOLE}\n\n`, out(PART, WHOLE), 'whole'],
  ['CRLF, comments, a byte order mark', `\ufeff: hi\r\n\r\ndata: ${WHOLE}\r\n\r\n`, out(WHOLE), 'whole'],
  ['[DONE] behind the end', `${out(WHOLE)}data: [DONE]\n\n`, out(WHOLE), 'whole'],
  ['junk behind the end', `${out(WHOLE)}data: bye\n\ndata: {"error":{}}\n\n`, out(WHOLE), 'whole'],
  ['an end without its blank line', `data: ${PART}\n\ndata: ${WHOLE}`, out(PART, WHOLE), 'whole'],
  ['null, and events of other kinds', `data: null\n\ndata: {"type":"ping"}\n\n${out(WHOLE)}`, out(WHOLE), 'whole'],
  ['an image that is null', `data: {"type":"whole","data":null}\n\n${out(PART)}`, out(PART), 'open'],
  ['an end without what it delivers', 'data: {"type":"whole"}\n\n', '', 'open'],
  ['no end', out(PART), out(PART), 'open'],
  ['[DONE] in the place of the end', `${out(PART)}data: [DONE]\n\n`, out(PART), 'open'],
  ['nothing', '', '', 'open'],
  ['a page', '<html>data: no</html>', '', 'open'],
  ['JSON in one piece', '{"data":[{"b64_json":"x"}]}', '', 'open'],
  ['an error', 'data: {"error":{"message":"no"}}\n\n', '', 'broken', { message: 'no' }],
  ['an error behind a part', `${out(PART)}data: {"type":"error","error":"no"}\n\n`, out(PART), 'broken', 'no'],
  [
    'an error that is null',
    `data: {"error":null,"type":"whole","data":"b"}\n\n`,
    out('{"error":null,"type":"whole","data":"b"}'),
    'whole',
  ],
  ['a receipt of the provider', 'data: {"type":"part","data":"a","receipt":{}}\n\n', '', 'broken'],
  ['half an object', 'data: {"type":"part"\n\n', '', 'broken'],
  ['no JSON', 'data: hello\n\n', '', 'broken'],
  ['an event beyond its bound', `data: {"type":"part","data":"${'x'.repeat(3_000)}"}\n\n`, '', 'broken'],
]

for (const [name, bytes, got, end, error = null] of ROWS) {
  test(name, () => {
    for (const size of [bytes.length + 1, 1, 7]) {
      const events = new MediaEvents(PLAN, limits)
      const buffer = new OutBuffer()
      let sent = ''
      const whole = Buffer.from(bytes)
      for (let at = 0; at < whole.length && !events.broken; at += size) {
        buffer.clear()
        events.push(whole.subarray(at, at + size), buffer)
        sent += buffer.view().toString()
      }
      buffer.clear()
      if (!events.broken) events.finish(buffer)
      sent += buffer.view().toString()
      if (end !== 'broken' || size > 7) assert.equal(sent, got)
      assert.equal(events.whole ? 'whole' : events.broken ? 'broken' : 'open', end)
      assert.deepEqual(events.error, error)
    }
  })
}

test('bytes that are no UTF-8 are replaced', () => {
  const events = new MediaEvents(PLAN, limits)
  const buffer = new OutBuffer()
  events.push(Buffer.from(`data: {"type":"whole","data":"caf\xe9"}\n\n`, 'latin1'), buffer)
  const sent = new TextDecoder('utf-8', { fatal: true }).decode(buffer.view())
  assert.equal(sent, out('{"type":"whole","data":"caf\ufffd"}'))
})
