import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runLoad } from '../../bench/load/closedLoop.ts'
import type { LoadOptions } from '../../bench/load/options.ts'
import type { Provider } from '../../bench/provider.ts'
import { startProvider } from '../../bench/provider.ts'

let provider: Provider

before(async () => {
  provider = await startProvider({ port: 0 })
})
after(() => provider.stop())

function options(model: string, streamed: boolean, changes: Partial<LoadOptions> = {}): LoadOptions {
  const stream = streamed ? { stream: true, stream_options: { include_usage: true } } : {}
  return {
    target: { name: 'direct', host: '127.0.0.1', port: provider.port, path: '/v1/chat/completions' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...stream }),
    ...{ streamed, connections: 4, seconds: 0.3, expectedTokens: 10, expectUsage: true, expectReceipt: false },
    ...changes,
  }
}

test('counts of the load generator and of the provider agree', async () => {
  for (const streamed of [false, true]) {
    provider.log.reset()
    const result = await runLoad(options('mock,chunks=10', streamed))
    assert.equal(result.wrong, 0)
    assert.ok(result.requests > 10)
    assert.equal(provider.log.stats().complete, result.requests + 1)
    assert.equal(result.events, streamed ? result.requests * 14 : 0)
    assert.equal(result.latencyMs.count, result.requests)
  }
})

test('a target that answers wrongly is refused before timing', async () => {
  await assert.rejects(runLoad(options('mock,chunks=9', true)), /9 tokens, not 10/)
  await assert.rejects(runLoad(options('mock,chunks=10,done=no', true)), /no \[DONE\]/)
  await assert.rejects(runLoad(options('mock,chunks=10,usage=none', false)), /usage says undefined/)
  await assert.rejects(runLoad(options('mock,error=500', false)), /status 500/)
  await assert.rejects(runLoad(options('mock,chunks=10', false, { expectReceipt: true })), /no receipt/)
})

test('pauses within a stream are seen', async () => {
  const stalled = await runLoad(options('mock,chunks=10,batch=9,delay=150', true, { connections: 1, seconds: 0.1 }))
  assert.ok(stalled.stalls >= 1 && stalled.longestGapMs > 100, JSON.stringify(stalled))
  const steady = await runLoad(options('mock,chunks=10,delay=10', true, { connections: 8 }))
  assert.deepEqual([steady.wrong, steady.lostEvents], [0, 0])
})
