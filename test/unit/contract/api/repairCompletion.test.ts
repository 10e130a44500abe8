// Goal: an answer is put into the documented form, for batches as well, and what is right in it stays as it is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerError } from '../../../../contract/api/answerError.ts'
import { outputBytes } from '../../../../contract/api/completion.ts'
import { repairCompletion } from '../../../../contract/api/repairCompletion.ts'
import { usageOfAnswer } from '../../../../contract/money/usageReports.ts'

const of = (message: unknown, finish: unknown) => ({
  created: 5,
  choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
})

test('a documented answer stays as it is, with members that are not known', () => {
  const call = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: { a: 1 } }
  const message = { role: 'assistant', content: null, refusal: null, annotations: [], tool_calls: [call] }
  const answer = of(message, 'tool_calls')
  const before = structuredClone(answer)
  assert.ok(repairCompletion(answer, 'req_A', 5_000))
  assert.deepEqual(answer, before)
})

test('parts become texts, and the output in them is measured', () => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }
  const answer = of({ content: [thinking, { type: 'text', text: 'yes' }] }, 'eos')
  assert.equal(outputBytes(answer), 5)
  assert.ok(repairCompletion(answer, 'req_A', 5_000))
  assert.deepEqual(answer, of({ role: 'assistant', content: 'yes', reasoning_content: 'hm' }, 'stop'))
})

test('an answer has a time that is a whole number of seconds', () => {
  for (const [created, seconds] of [
    [7.9, 7],
    ['7', 7],
    ['2026-01-01T00:00:00Z', 5],
    [null, 5],
  ]) {
    const answer = { ...of({ content: 'x' }, 'stop'), created }
    assert.ok(repairCompletion(answer, 'req_A', 5_000))
    assert.equal(answer.created, seconds)
  }
})

test('a failure, or a call without a name, is no answer', () => {
  assert.equal(repairCompletion(of({ content: 'x' }, 'error'), 'req_A', 5_000), false)
  assert.equal(
    repairCompletion(of({ tool_calls: [{ id: 'a', function: { arguments: '{}' } }] }, 'stop'), 'req_A', 5_000),
    false,
  )
})

test('of many choices the first few are looked at', () => {
  const choices = (place: number) =>
    Array.from({ length: 10_000 }, (_, i) => ({ message: { content: i === place ? 'said' : '' } }))
  for (const [place, content] of [
    [3, 'said'],
    [4, ''],
  ] as const) {
    const answer = { choices: choices(place) }
    assert.ok(repairCompletion(answer, 'req_1', 0))
    assert.equal(answer.choices.length, 1)
    assert.equal(answer.choices[0]?.message.content, content)
  }
})

test('objects in the place of words and counts are no fault of the gateway', () => {
  const odd = { toString: 1, valueOf: 2 }
  assert.ok(repairCompletion(of({ content: 'hi', tool_calls: [{ type: odd }] }, 'stop'), 'req_1', 0))
  for (const name of ['error_code', 'status', 'status_code', 'statusCode', 'code']) {
    assert.equal(answerError({ [name]: odd }), null)
  }
  const usage = { prompt_tokens: 1, completion_tokens: 1, cached_tokens: 5, cache_read_input_tokens: odd }
  const bounds = { promptTokensMax: 100, outputTokensMax: 100 }
  assert.equal(usageOfAnswer({ usage }, bounds)?.contradicts, true)
})
