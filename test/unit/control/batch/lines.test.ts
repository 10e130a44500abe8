// Goal: what a provider's files say of jobs is read line by line, and nothing in them harms other jobs. Method: lines as
// providers write them, broken ones among them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import type { JobRow } from '../../../../control/batch/jobRow.ts'
import { readLines } from '../../../../control/batch/lines.ts'
import { decideAnswer } from '../../../../control/batch/outcome.ts'
import { signatureHeaders } from '../../../../control/batch/webhookSecret.ts'
import { limits } from '../../../support/limits.ts'

const body = { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }] }

test('completions, errors and expired requests are distinguished; other lines are ignored', () => {
  const lines = [
    JSON.stringify({ custom_id: 'a', response: { status_code: 200, body }, error: null }),
    JSON.stringify({
      custom_id: 'b',
      response: { status_code: 400, body: { error: { message: 'bad' } } },
      error: null,
    }),
    JSON.stringify({ custom_id: 'c', response: null, error: { code: 'batch_expired', message: 'late' } }),
    '',
    '   ',
    'nonsense',
    '[]',
    'null',
    '{"custom_id":5}',
  ]
  const read = readLines(lines, limits).map(({ customId, completion, isExpired, reason }) => [
    customId,
    completion !== null,
    isExpired,
    reason,
  ])
  assert.deepEqual(read, [
    ['a', true, false, ''],
    ['b', false, false, 'bad'],
    ['c', false, true, 'late'],
  ])
})

test('a response that is nested too deep to be written fails its job', () => {
  const job = {
    id: 'req_1',
    accountId: 'a',
    keyId: 'k',
    model: 'm',
    provider: 'p',
    sheetVersion: 1,
    holdUnits: 100,
    startedAtMs: 0,
    context: 100,
    maxOutput: 100,
    maxTokens: 100,
    promptBytes: 4,
    promptExtraTokens: 0,
    rates: Buffer.from(sluice.Rates.encode(sluice.Rates.create({})).finish()),
  } as unknown as JobRow
  let deep: unknown[] = []
  for (let i = 0; i < 100_000; i++) deep = [deep]
  const decision = decideAnswer(job, { ...body, deep }, 1)
  assert.deepEqual([decision.outcome, decision.chargeUnits, decision.result], ['failed', 0, null])
  assert.equal(decideAnswer(job, body, 1).outcome, 'done')
})

// The example of https://github.com/standard-webhooks/standard-webhooks, whose libraries all check it.
test('webhooks are signed according to Standard Webhooks', () => {
  const headers = signatureHeaders(
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1_614_265_330_000,
    '{"test": 2432232314}',
  )
  assert.equal(headers['webhook-timestamp'], '1614265330')
  assert.equal(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})
