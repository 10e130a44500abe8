// Goal: whichever way a provider says when to come again, it is left alone for that long, and never longer than the bound.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resetWaitMs, retryAfterMs } from '../../../../proxy/upstream/retryAfter.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 12, 0, 0)
const MAX_MS = 60_000
type Headers = Readonly<Record<string, string>>
const headersOf = (headers: Headers) => ({ get: (name: string) => headers[name] })

describe('Retry-After', () => {
  const cases: readonly (readonly [headers: Headers, ms: number])[] = [
    [{}, 0],
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': ' 7 ' }, 7_000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after': '3600' }, MAX_MS],
    [{ 'retry-after': 'Thu, 26 Nov 2026 12:00:09 GMT' }, 9_000],
    // The two older forms of dates, which recipients have to take.
    [{ 'retry-after': 'Thursday, 26-Nov-26 12:00:09 GMT' }, 9_000],
    [{ 'retry-after': 'Thu Nov 26 12:00:09 2026 GMT' }, 9_000],
    [{ 'retry-after': 'Thu, 26 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': 'Fri, 27 Nov 2026 12:00:00 GMT' }, MAX_MS],
    [{ 'retry-after': 'soon' }, 0],
    [{ 'retry-after': '-5' }, 0],
    [{ 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    [{ 'retry-after-ms': 'x', 'retry-after': '2' }, 2_000],
  ]
  for (const [headers, ms] of cases) {
    test(JSON.stringify(headers), () => assert.equal(retryAfterMs(headersOf(headers), NOW_MS, MAX_MS), ms))
  }
})

describe('the resets of limits', () => {
  const left = (reset: string, name = '') => ({
    [`x-ratelimit-remaining${name}`]: '0',
    [`x-ratelimit-reset${name}`]: reset,
  })
  const anthropic = (limit: string, remaining: string, seconds: number) => ({
    [`anthropic-ratelimit-${limit}-remaining`]: remaining,
    [`anthropic-ratelimit-${limit}-reset`]: `2026-11-26T12:00:${String(seconds).padStart(2, '0')}Z`,
  })
  const cases: readonly (readonly [headers: Headers, ms: number])[] = [
    [{}, 0],
    [left('1s', '-requests'), 1_000],
    [left('7.66s', '-tokens'), 7_660],
    [left('12ms', '-tokens'), 12],
    [left('0m9s', '-requests'), 9_000],
    [left('6m0s', '-requests'), MAX_MS],
    [left('1h0m0s', '-requests'), MAX_MS],
    [left('2.5', '-tokens-minute'), 2_500],
    [left('33011.38', '-requests-day'), MAX_MS],
    [left(String(NOW_MS + 4_000)), 4_000],
    [left(String(NOW_MS / 1000 + 4)), 4_000],
    [left(String(NOW_MS - 4_000)), 0],
    [left(''), 0],
    [left('soon', '-requests'), 0],
    [{ 'x-ratelimit-remaining-requests': '0' }, 0],
    // Some is left of it, or nobody knows.
    [{ 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-requests': '9s' }, 0],
    [{ 'x-ratelimit-reset-requests': '9s' }, 0],
    [{ 'x-ratelimit-remaining-requests': '', 'x-ratelimit-reset-requests': '9s' }, 0],
    [{ ...left('2s', '-requests'), ...left('9s', '-tokens') }, 9_000],
    [anthropic('tokens', '0', 8), 8_000],
    [{ ...anthropic('requests', '1', 30), ...anthropic('input-tokens', '0', 3) }, 3_000],
  ]
  for (const [headers, ms] of cases) {
    test(JSON.stringify(headers), () => assert.equal(resetWaitMs(headersOf(headers), NOW_MS, MAX_MS), ms))
  }
})
