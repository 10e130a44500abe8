import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { GatewayError } from '../../control/contract/errors.ts'
import { limits } from '../../control/contract/limits.ts'
import { promptTexts } from '../../proxy/tokens/promptTexts.ts'
import { TokenCounter } from '../../proxy/tokens/tokenCounter.ts'
import { run } from '../../workers/countTokens.ts'
import { PoolBusy, WorkerPool } from '../../workers/pool.ts'

describe('the tokenizer', () => {
  test('known counts', () => {
    assert.deepEqual(run(['', 'hello world', 'The quick brown fox jumps over the lazy dog.']), [0, 2, 10])
  })

  test('text that looks like a control token is text', () => {
    assert.deepEqual(run(['<|endoftext|>']), [countTokens('<|endoftext|>', { disallowedSpecial: new Set() })])
    assert.ok(run(['<|endoftext|>'])[0] > 1)
  })

  test('cutting a long text adds at most a token per piece, and loses none', () => {
    const words = fc.array(
      fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom(' ', '\n\n', 'x'.repeat(700), '😀'.repeat(400))),
      {
        maxLength: 60,
      },
    )
    fc.assert(
      fc.property(words, (parts) => {
        const text = parts.join(' ')
        const whole = countTokens(text, { disallowedSpecial: new Set() })
        const [cut] = run([text])
        // A cut within a repeated character or a surrogate pair may also shorten a merge by a token on each side.
        assert.ok(Math.abs(cut - whole) <= 2 * Math.ceil(text.length / 256), `${cut} for ${whole}`)
      }),
      { numRuns: 100 },
    )
  })

  test('a megabyte without a space takes no longer than its words would', () => {
    const startMs = performance.now()
    run(['a'.repeat(1_000_000)])
    assert.ok(performance.now() - startMs < 5_000)
  })
})

test('the texts of a request: messages, calls, tools; images and frames beside them', () => {
  const { text, extraTokens } = promptTexts(
    {
      messages: [
        { role: 'system', content: 'S' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'U' },
            { type: 'image_url', image_url: { url: 'data:...' } },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [{ id: 'i', function: { name: 'N', arguments: 'A' } }] },
      ],
      tools: [{ type: 'function' }],
    },
    1_000,
  )
  assert.equal(text, 'S\nU\nN\nA\n[{"type":"function"}]')
  assert.equal(extraTokens, 3 * 4 + 3 + 1_000)
})

describe('the worker threads', () => {
  const bounds = { threadsMax: 1, queueMax: 2, taskTimeoutMs: 20_000, idleTimeoutMs: 1_000 }
  const slow = [Array.from({ length: 40_000 }, (_, i) => (i * 7_919_777).toString(36)).join('')]
  const counters: TokenCounter[] = []
  const counter = (changes: Partial<typeof limits>) => {
    const made = new TokenCounter({ ...limits, ...changes })
    counters.push(made)
    return made
  }
  after(() => Promise.all(counters.map((made) => made.close())))

  test('a task is done by a thread', async () => {
    const pool = new WorkerPool(bounds)
    assert.deepEqual(await pool.run('countTokens', ['hello world', '']), [2, 0])
    await pool.close()
  })

  test('a full queue refuses at once, and what was in it is still done', async () => {
    const pool = new WorkerPool(bounds)
    const first = pool.run('countTokens', slow)
    const waiting = [pool.run('countTokens', ['a']), pool.run('countTokens', ['b'])]
    await assert.rejects(pool.run('countTokens', ['c']), PoolBusy)
    assert.deepEqual(await Promise.all(waiting), [[1], [1]])
    assert.ok((await first)[0] > 0)
    await pool.close()
  })

  test('a count that takes too long is refused, and the next one is done', async () => {
    const impatient = counter({ countTimeoutMs: 1 })
    await assert.rejects(impatient.count(slow), (error) => {
      assert.ok(error instanceof GatewayError)
      assert.deepEqual([error.status, error.row, error.retryAfterSeconds], [503, 'too_many_requests_open', 1])
      return true
    })
    assert.deepEqual(await counter({}).count(['hello world']), [2])
  })

  test('an estimate waits no longer than it may', async () => {
    const hasty = counter({ estimateTimeoutMs: 1 })
    assert.equal(await hasty.countSoon(slow), null)
    assert.deepEqual(await counter({ estimateTimeoutMs: 20_000 }).countSoon(['hello world']), [2])
  })
})
