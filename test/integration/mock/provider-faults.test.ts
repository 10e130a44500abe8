import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chunks, events, readUntilBroken } from '../../support/providers/mockAnswers.ts'
import { ownMock, streamed } from '../../support/providers/ownMock.ts'

const mock = ownMock()
const { ask, lastServed } = mock

describe('faults of the mock provider', () => {
  test('cut breaks the connection, fin ends cleanly, error_in_stream sends an error', async () => {
    const cut = await readUntilBroken(await ask('mock,cut=2', streamed))
    assert.ok(cut.broken)
    assert.equal(chunks(cut.text).length, 3)
    assert.deepEqual([lastServed().outcome, lastServed().frames_sent], ['cut', 2])
    const fin = await readUntilBroken(await ask('mock,fin=2', streamed))
    assert.ok(!fin.broken && !fin.text.includes('[DONE]'))
    assert.equal(lastServed().outcome, 'cut')
    const failed = await readUntilBroken(await ask('mock,error_in_stream=0', streamed))
    assert.ok(chunks(failed.text)[1]?.error !== undefined)
    assert.deepEqual([lastServed().outcome, lastServed().frames_sent], ['error', 0])
  })

  test('badframe and donetext', async () => {
    const bad = await (await ask('mock,chunks=3,badframe=1', streamed)).text()
    assert.throws(() => JSON.parse(events(bad)[2] ?? ''))
    assert.doesNotThrow(() => JSON.parse(events(bad)[3] ?? ''))
    const done = chunks(await (await ask('mock,chunks=2,donetext', streamed)).text())
    assert.equal(done[1]?.choices[0]?.delta.content, ' data: [DONE]\n\n')
  })

  test('HTTP errors, their bodies and Retry-After', async () => {
    const limited = await ask('mock,error=429,retry_after=7')
    assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7'])
    assert.equal(((await limited.json()) as { error: { code: string } }).error.code, 'rate_limit_exceeded')
    assert.equal(await (await ask('mock,error=503,err_body=empty')).text(), '')
    assert.match(await (await ask('mock,error=502,err_body=html')).text(), /<html>/)
    assert.equal((await ask('mock,html200')).headers.get('content-type'), 'text/html')
    await assert.rejects(async () => (await ask('mock,badjson')).json())
    await assert.rejects(ask('mock,reset'))
    assert.equal((await ask('mock,chunk=3')).status, 404)
  })

  test('fail_first fails so many times and then serves', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) {
      const response = await ask('mock,fail_first=2')
      await response.text()
      statuses.push(response.status)
    }
    assert.deepEqual(statuses, [500, 500, 200, 200])
  })

  test('a client disconnect is logged with the output sent so far', async () => {
    const leave = new AbortController()
    const response = await ask('mock,hang=3', streamed, leave.signal)
    const reader = response.body?.getReader()
    await reader?.read()
    assert.equal(mock.provider.log.stats().open, 1)
    leave.abort()
    while (mock.provider.log.stats().open > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    assert.deepEqual([lastServed().outcome, lastServed().frames_sent], ['client_gone', 3])
  })

  test('a client that takes nothing for a while keeps its connection', async () => {
    const speech = JSON.stringify({ model: 'mock,chunks=400,bytes=64000', input: 'x', voice: 'alloy' })
    const answers = [
      await ask('mock,chunks=128000', streamed),
      await fetch(`http://127.0.0.1:${mock.provider.port}/v1/audio/speech`, { method: 'POST', body: speech }),
    ]
    // Longer than the server package lets a connection stand still.
    await new Promise((resolve) => setTimeout(resolve, 13_000))
    const lengths = await Promise.all(answers.map(async (answer) => (await answer.arrayBuffer()).byteLength))
    assert.ok(Math.min(...lengths) > 20_000_000, String(lengths))
  })
})
