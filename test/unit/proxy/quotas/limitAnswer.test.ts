import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QuotaCode } from '../../../../contract/wire/scripts.ts'
import { durationText, limitHeaders, limitRefusal } from '../../../../proxy/quotas/limitAnswer.ts'
import type { Pot } from '../../../../proxy/quotas/pot.ts'

const pot = (requestsPerMinute: number, tokensPerMinute: number): Pot => ({
  requestsPerMinute,
  tokensPerMinute,
  parallel: 0,
  shard: 0,
  key: '',
  subject: 'The account',
})

test('durations are written as OpenAI does', () => {
  const durations = [0, 1, 1_000, 59_001, 61_000, 360_000]
  assert.deepEqual(durations.map(durationText), ['0s', '1s', '1s', '1m0s', '1m1s', '6m0s'])
})

test('headers show the limit that has the least left, for requests and tokens apart', () => {
  const uses = [
    { pot: pot(10, 0), requests: 4, tokens: 0, resetMs: 1_000 },
    { pot: pot(7, 100), requests: 5, tokens: 130, resetMs: 62_000 },
    { pot: pot(0, 90), requests: 5, tokens: 30, resetMs: 3_000 },
  ]
  assert.deepEqual(limitHeaders(uses), [
    'x-ratelimit-limit-requests',
    '7',
    'x-ratelimit-remaining-requests',
    '2',
    'x-ratelimit-reset-requests',
    '1m2s',
    'x-ratelimit-limit-tokens',
    '100',
    'x-ratelimit-remaining-tokens',
    '0',
    'x-ratelimit-reset-tokens',
    '1m2s',
  ])
  assert.deepEqual(limitHeaders([{ pot: pot(0, 0), requests: 4, tokens: 9, resetMs: 1 }]), [])
})

test('a refusal names the limit and the wait, and a request that no wait helps is the fault of the client', () => {
  const refusal = (code: number | undefined, waitMs = 0) =>
    limitRefusal({ code, limit: 5, waitMs, pot: pot(5, 5), uses: [] })
  const requests = refusal(QuotaCode.REQUESTS, 1_001)
  assert.deepEqual([requests.row, requests.status, requests.retryAfterSeconds], ['rate_limited', 429, 2])
  assert.match(requests.message, /^The account has used its 5 requests a minute;/)
  assert.match(refusal(QuotaCode.TOKENS, 1).message, /5 tokens a minute/)
  assert.deepEqual([refusal(QuotaCode.PARALLEL, 0).retryAfterSeconds], [1])
  assert.match(refusal(QuotaCode.PARALLEL).message, /5 requests in flight/)
  const large = refusal(QuotaCode.TOO_LARGE)
  assert.deepEqual([large.status, large.param, large.retryAfterSeconds], [400, 'max_tokens', undefined])
  assert.deepEqual(refusal(undefined).row, 'admission_unavailable')
})
