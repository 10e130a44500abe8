// Goal: clients that show a patch while it is written, as the package ai does, learn the operation and the file as it begins,
// however the provider cuts the arguments, and items begin in the order of the output.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResponseWriter } from '../../../../../proxy/dialects/responses/responseWriter.ts'
import type { FinishReason } from '../../../../../proxy/dialects/shared/message.ts'
import { SerialWriter } from '../../../../../proxy/dialects/shared/serialWriter.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'

interface Event {
  readonly type: string
  readonly output_index: number
  readonly item: { readonly type: string; readonly status: string; readonly operation?: object }
  readonly response: { readonly output: readonly object[] }
}

const USAGE = { input: 5, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 7, reasoning: 0 }
const PATCH = { sent: 'apply_patch', name: 'apply_patch', kind: 'apply_patch' } as const
const DELETE = { type: 'delete_file', path: 'a "b"' }
const UPDATE = { type: 'update_file', path: 'a', diff: '@@\n-"path": 1\n+2' }
const { type, path, diff } = UPDATE

/** The events of items of the calls with these arguments, which come character by character. */
function eventsOf(calls: readonly string[], reason: FinishReason = 'tool_calls'): Event[] {
  const writer = new SerialWriter(
    new ResponseWriter({ id: 'req_A', createdAtMs: 1, model: 'm', echo: '"a":1' }, [PATCH]),
  )
  writer.out = new OutBuffer()
  for (const [i, text] of calls.entries()) {
    writer.toolCall(i, `c${i}`, 'apply_patch')
    for (const piece of text) writer.toolArguments(i, piece)
  }
  writer.ends(reason)
  const text = writer.out.view().toString('utf8') + writer.tail({ usage: USAGE, fault: null, receipt: '' })
  const events = text.split('\n').filter((line) => line.startsWith('data: {'))
  return events.map((line) => JSON.parse(line.slice('data: '.length)) as Event)
}

const itemsOf = (events: readonly Event[], kind: string) =>
  events.filter((event) => event.type === `response.output_item.${kind}`)
const operationsOf = (events: readonly Event[], kind: string) => itemsOf(events, kind).map(({ item }) => item.operation)

for (const [title, said, begun, whole] of [
  ['that deletes', DELETE, DELETE, DELETE],
  ['that changes', UPDATE, { ...UPDATE, diff: '' }, UPDATE],
  ['whose path is first', { path, type, diff }, { ...UPDATE, diff: '' }, UPDATE],
  ['whose diff is first', { diff, type, path }, UPDATE, UPDATE],
] as const) {
  test(`a patch ${title}`, () => {
    const events = eventsOf([JSON.stringify(said)])
    assert.deepEqual(operationsOf(events, 'added'), [begun])
    assert.deepEqual(operationsOf(events, 'done'), [whole])
  })
}

test('patches begin in their order, also one whose file comes last', () => {
  const events = eventsOf([JSON.stringify({ diff, type, path }), JSON.stringify(DELETE)])
  assert.deepEqual(operationsOf(events, 'added'), [UPDATE, DELETE])
  assert.deepEqual(
    itemsOf(events, 'added').map((event) => event.output_index),
    [0, 1],
  )
  assert.equal(events.at(-1)?.response.output.length, 2)
})

test('a patch that is cut off is not completed, in a status that its format has', () => {
  for (const text of [JSON.stringify(UPDATE).slice(0, -4), '{"ty', '']) {
    const [done] = itemsOf(eventsOf([text], 'length'), 'done')
    assert.deepEqual([done?.item.type, done?.item.status], ['apply_patch_call', 'in_progress'])
  }
})
