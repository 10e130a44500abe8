import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runLoad } from '../../../bench/load/closedLoop.ts'
import type { LoadOptions } from '../../../bench/load/options.ts'
import type { Provider } from '../../../mock/main.ts'
import { startProvider } from '../../../mock/main.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

let provider: Provider

before(async () => {
  provider = await startProvider({ port: 0 })
})
after(() => provider.stop())

const TRIES_MAX = 10

function options(model: string, streamed: boolean, changes: Partial<LoadOptions> = {}): LoadOptions {
  const stream = streamed ? { stream: true, stream_options: { include_usage: true } } : {}
  return {
    target: { name: 'direct', host: '127.0.0.1', port: provider.port, path: '/v1/chat/completions' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...stream }),
    streamed,
    connections: 4,
    seconds: 0.3,
    expectedTokens: 10,
    expectUsage: true,
    expectReceipt: false,
    ...changes,
  }
}

test('counts of the load generator and of the provider agree', async () => {
  for (const streamed of [false, true]) {
    let requests = 0
    // A machine that stands still for as long as the load lasts is given another try.
    for (let tries = 0; tries < TRIES_MAX && requests <= 10; tries++) {
      provider.log.reset()
      const result = await runLoad(options('mock,chunks=10', streamed))
      assert.equal(result.wrong, 0)
      requests = result.requests
      assert.equal(provider.log.stats().complete, requests + 1)
      assert.equal(result.events, streamed ? requests * 14 : 0)
      assert.equal(result.latencyMs.count, requests)
    }
    assert.ok(requests > 10, `${requests} requests`)
  }
})

test('a target with wrong responses is rejected before timing', async () => {
  await assert.rejects(runLoad(options('mock,chunks=9', true)), /9 tokens, not 10/)
  await assert.rejects(runLoad(options('mock,chunks=10,done=no', true)), /no \[DONE\]/)
  await assert.rejects(runLoad(options('mock,chunks=10,usage=none', false)), /usage says undefined/)
  await assert.rejects(runLoad(options('mock,error=500', false)), /status 500/)
  await assert.rejects(runLoad(options('mock,chunks=10', false, { expectReceipt: true })), /no receipt/)
})

test('the load ends after a number of requests, and API keys are used in turn', async () => {
  const folder = makeTempDir('keys')
  const keysFile = join(folder, 'keys.txt')
  writeFileSync(keysFile, 'sk_one\nsk_two\nsk_three\n')
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization)
    assert.equal(request.headers['x-more'], 'yes')
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end('{"choices":[{"message":{"content":" tok0"}}],"usage":{"completion_tokens":1}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const target = { name: 'keys', host: '127.0.0.1', port, path: '/', keysFile, headers: ['X-More: yes'] }
    const limits = { connections: 2, seconds: 30, requests: 8, expectedTokens: 1 }
    const result = await runLoad(options('any', false, { target, ...limits }))
    assert.deepEqual([result.requests, result.wrong, result.connections], [8, 0, 2])
    // The checked request before the load takes the first key.
    const turns = ['one', 'two', 'three', 'one', 'two', 'three', 'one', 'two', 'three']
    assert.deepEqual(seen.toSorted(), turns.map((name) => `Bearer sk_${name}`).toSorted())
  } finally {
    server.close()
    removeTempDir(folder)
  }
})

test('a wrong response after the first one is counted and reported', async () => {
  let answered = 0
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    if (++answered === 3) response.writeHead(503).end('{"error":{"code":"admission_unavailable"}}')
    else response.end('{"choices":[{"message":{"content":" tok0"}}],"usage":{"completion_tokens":1}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const target = { name: 'wrong', host: '127.0.0.1', port, path: '/' }
    const bounds = { connections: 1, seconds: 30, requests: 5, expectedTokens: 1 }
    const { requests, wrong, firstWrong } = await runLoad(options('any', false, { target, ...bounds }))
    assert.deepEqual([requests, wrong], [5, 1])
    assert.equal(firstWrong, 'status 503: {"error":{"code":"admission_unavailable"}}')
  } finally {
    server.close()
  }
})

test('pauses within a stream are detected', async () => {
  const stalled = await runLoad(options('mock,chunks=10,batch=9,delay=150', true, { connections: 4, seconds: 1 }))
  assert.ok(stalled.stalls >= 1 && stalled.longestGapMs > 100, JSON.stringify(stalled))
  const steady = await runLoad(options('mock,chunks=10,delay=10', true, { connections: 8 }))
  assert.deepEqual([steady.wrong, steady.lostEvents], [0, 0])
})
