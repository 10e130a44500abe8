// Goal: a job of a provider ends when the provider says so, in whichever word, and is known by the id that it was given.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUpstreamVideo } from '../../../../../proxy/dialects/openai/openaiVideos.ts'
import { limits } from '../../../../support/limits.ts'

const STATES: readonly (readonly [state: string, words: readonly unknown[]])[] = [
  ['queued', ['queued', 'pending', 'SUBMITTED']],
  ['in_progress', ['in_progress', 'processing', 'RUNNING', 'a word of tomorrow', null, undefined, 5]],
  ['completed', ['completed', 'succeeded', 'success', 'SUCCESS', 'COMPLETED', 'Succeeded', 'succeed', 'done', 'ready']],
  [
    'failed',
    ['failed', 'FAILED', 'Fail', 'failure', 'cancelled', 'canceled', 'expired', 'error', 'rejected', 'timed_out'],
  ],
]

const read = (job: object, knownId?: string) => readUpstreamVideo(Buffer.from(JSON.stringify(job)), limits, knownId)

for (const [state, words] of STATES) {
  for (const status of words) {
    test(`${String(status)} is ${state}`, () => assert.equal(read({ id: 'v', status })?.state, state))
  }
}

test('the answer to an order has an id, and that about a known job may leave it out', () => {
  assert.equal(read({ status: 'queued' }), null)
  assert.equal(read({ status: 'completed' }, 'v')?.id, 'v')
  assert.equal(read({ id: 'w', status: 'completed' }, 'v')?.id, 'w')
  assert.equal(read({ id: 5, status: 'completed' }, 'v'), null)
})
