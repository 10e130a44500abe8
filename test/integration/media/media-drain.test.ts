// Goal: a gateway that leaves lets answers end that can, and cuts the others so that their clients know; what is cut is
// not charged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertError, type Receipt } from '../../support/clients/chatClient.ts'
import { answered, mediaModel, postForm, postJson } from '../../support/clients/mediaClient.ts'
import { wavFile } from '../../support/samples/audio.ts'
import { startStack, until } from '../../support/stack.ts'

test('SIGTERM: speech past its grace period is cut off, buffered responses are rejected, without charges', async () => {
  const stack = await startStack({
    limits: { drainGraceMs: 15_000 },
    catalog: {
      models: [
        mediaModel('test/endless', 'speech', 'mock,chunks=4000,delay=20'),
        mediaModel('test/short', 'speech', 'mock,chunks=20,delay=25'),
        mediaModel('test/silent', 'image', 'mock,slow_headers=60000'),
        mediaModel('test/heard', 'transcription', 'mock,slow_headers=500'),
      ],
    },
  })
  try {
    const { apiKey } = await stack.createAccount()
    const url = (path: string) => `${stack.baseUrl}/v1/${path}`
    const speak = (model: string) =>
      fetch(url('audio/speech'), {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ model, input: 'hello' }),
      })
    await stack.provider.hold()
    const endless = await speak('test/endless')
    const short = await speak('test/short')
    const silent = postJson(url('images/generations'), apiKey, { model: 'test/silent', prompt: 'x' })
    const heard = postForm(url('audio/transcriptions'), apiKey, { model: 'test/heard', file: wavFile(1) })
    await until('all are at the provider', async () => (await stack.provider.open()) === 4)
    const ended = stack.proxy.sigterm()
    const status = async () => (await fetch(url('models')).catch(() => undefined))?.status
    await until('new requests are refused', async () => (await status()) === 503)
    await stack.provider.release()
    assert.equal((await short.arrayBuffer()).byteLength, 20_000)
    answered(await heard)
    await assert.rejects(() => endless.arrayBuffer())
    assertError(await silent, 503, 'gateway_restarting')
    assert.equal(await ended, 0)
    await stack.settled()
    await stack.proxy.start()
    await stack.ready()
    const page = await fetch(url('receipts'), { headers: { authorization: `Bearer ${apiKey}` } })
    const { data } = (await page.json()) as { data: (Receipt & { model: string })[] }
    const outcomes = data.map(({ model, status, error, cost }) => [model, status, error, cost.units === '0'])
    assert.deepEqual(outcomes.sort(), [
      ['test/endless', 'cut', 'stream_cut', true],
      ['test/heard', 'ok', null, false],
      ['test/short', 'ok', null, false],
      ['test/silent', 'cut', 'gateway_restarting', true],
    ])
  } finally {
    await stack.finish()
  }
})
