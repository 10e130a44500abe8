// Goal: what a provider's files say of jobs is read line by line, and nothing in them harms other jobs. Method: lines as
// providers write them, broken ones among them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import type { JobRow } from '../../../../control/batch/jobRow.ts'
import { type ResultLine, readLines } from '../../../../control/batch/lines.ts'
import { decideAnswer } from '../../../../control/batch/outcome.ts'
import { signatureHeaders } from '../../../../control/batch/webhookSecret.ts'
import { limits, type limitsWith } from '../../../support/limits.ts'
import { longestTurn, slowness } from '../../../support/parts/turnWatch.ts'

const JOB = {
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

const body = { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }] }

async function linesOf(file: string | Buffer, changes: Parameters<typeof limitsWith>[0] = {}): Promise<ResultLine[]> {
  const lines: ResultLine[] = []
  for await (const line of readLines(Buffer.from(file), { ...limits, ...changes })) lines.push(line)
  return lines
}

test('completions, errors and expired requests are distinguished; other lines are ignored', async () => {
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
  const read = (await linesOf(lines.join('\n'))).map(({ customId, completion, isExpired, reason }) => [
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

const result = (customId: string, more: string) =>
  `{"id":"x","custom_id":"${customId}","response":{"status_code":200,"body":{${more}"choices":[{"index":0,"message":{"role":"assistant","content":"hi"}}]}}}`

test('a result of too many bytes, values or levels fails its job alone', async () => {
  const bounds = { batchResultBytesMax: 2_000, batchResultValuesMax: 100 }
  const long = result('long', `"a":"${'x'.repeat(2_000)}",`)
  const many = result('many', `"a":[${'1,'.repeat(100)}1],`)
  const deep = result('deep', `"a":${'['.repeat(200)}${']'.repeat(200)},`)
  // What looks like an id within a text is none.
  const hidden = `{"response":{"text":"{\\"custom_id\\":\\"good\\",${'x'.repeat(2_000)}"}}`
  const read = await linesOf([long, many, hidden, deep, result('good', '')].join('\n'), bounds)
  assert.deepEqual(
    read.map(({ customId, completion, reason }) => [customId, completion !== null, reason]),
    [
      ['long', false, 'The result is larger than the gateway keeps.'],
      ['many', false, 'The result has more values than the gateway reads.'],
      ['deep', false, 'The result has more values than the gateway reads.'],
      ['good', true, ''],
    ],
  )
})

/** What control may stand still for. */
const TURN_MS = 100
const TRIES = 5
const MIB = 1_048_576
const KEPT = limits.batchResultBytesMax - 1_024
const VALUES = limits.batchResultValuesMax - 100
const FILES: readonly (readonly [what: string, make: () => string])[] = [
  ['quotes', () => `${result('a', `"a":"${'\\"'.repeat(KEPT / 2)}",`)}\n`.repeat(4)],
  ['CJK', () => `${result('a', `"a":"${'界'.repeat(KEPT / 3)}",`)}\n`.repeat(4)],
  ['members', () => `${result('a', `"a":[${'{"a":1},'.repeat(VALUES)}{}],`)}\n`.repeat(4)],
  ['too many members', () => `${result('a', `"a":[${'{},'.repeat(KEPT / 3)}{}],`)}\n`.repeat(4)],
  ['a line that is too long', () => result('a', `"a":"${'x'.repeat(64 * MIB)}",`)],
  ['blank lines', () => '\n'.repeat(8 * MIB)],
  ['short lines', () => `${result('a', '')}\n`.repeat(100_000)],
]

for (const [what, make] of FILES) {
  test(`${what} in a file keep control from nothing else`, async (t) => {
    const file = Buffer.from(make())
    const turns: number[] = []
    // Code that runs for the first time, and the collection of garbage, may add to any one try.
    while (turns.length < TRIES && Math.min(...turns) > TURN_MS) {
      turns.push(
        await longestTurn(async () => {
          for await (const { completion } of readLines(file, limits)) {
            if (completion !== null) decideAnswer(JOB, completion, 1)
          }
        }),
      )
    }
    t.diagnostic(turns.map((ms) => ms.toFixed(1)).join())
    assert.ok(Math.min(...turns) <= TURN_MS * slowness(), turns.join())
  })
}

test('a response that is nested too deep to be written fails its job', () => {
  let deep: unknown[] = []
  for (let i = 0; i < 100_000; i++) deep = [deep]
  const decision = decideAnswer(JOB, { ...body, deep }, 1)
  assert.deepEqual([decision.outcome, decision.chargeUnits, decision.result], ['failed', 0, null])
  assert.equal(decideAnswer(JOB, body, 1).outcome, 'done')
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
