// Goal: a job is asked for, and its clip fetched, with the key that made it: no other account of the provider has it. Method: all bytes
// to a provider with three keys pass a relay that keeps the keys of each path.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clipOf, newVideo, videoIn, videoModel } from '../../support/clients/videoClient.ts'
import { Relay } from '../../support/relay.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const JOBS = 8
/** Once in two thousand runs all of the first take the same of three keys. */
const JOBS_MAX = 40
const KEYS = ['A', 'B', 'C'].map((id) => ({ id: id.toLowerCase(), env: `SLUICE_TEST_KEY_${id}` }))
const HEAD = /(?:GET|POST) \/v1\/videos(\/[^/ ]+)?(\/content)? [\s\S]*?Bearer (secret-[a-c])/g

let stack: Stack
let relay: Relay
let apiKey: string
let sent = ''

before(async () => {
  relay = await Relay.start()
  relay.onBytes = (side, bytes) => {
    if (side === 'client') sent += bytes.toString('latin1')
  }
  stack = await startStack({
    env: Object.fromEntries(KEYS.map(({ id, env }) => [env, `secret-${id}`])),
    limits: { videoPollMinMs: 50, videoPollMaxMs: 200 },
    catalog: {
      providers: [{ id: 'keyed', base_url: `http://127.0.0.1:${relay.port}/v1`, keys: KEYS }],
      models: [videoModel('test/video', '', { routes: [{ provider: 'keyed', model: 'mock' }] })],
    },
  })
  relay.targetPort = stack.provider.port()
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(async () => {
  await stack.finish()
  await relay.stop()
})

test('each job keeps its key until its clip is fetched, and jobs are spread over the keys', async () => {
  const used = new Set<string>()
  for (let i = 0; i < JOBS_MAX && (i < JOBS || used.size < 2); i++) {
    sent = ''
    const job = await newVideo(stack.baseUrl, apiKey, { model: 'test/video', seconds: 4 })
    await videoIn(stack.baseUrl, apiKey, job.id, ['completed'])
    await clipOf(stack.baseUrl, apiKey, job.id)
    const asked = [...sent.matchAll(HEAD)].map(([, id, content, secret]) => ({ id, content, secret }))
    assert.ok(asked.some(({ id }) => id === undefined) && asked.some(({ content }) => content !== undefined), sent)
    const secrets = new Set(asked.map(({ secret }) => secret ?? ''))
    assert.equal(secrets.size, 1, [...secrets].join())
    for (const secret of secrets) used.add(secret)
  }
  assert.ok(used.size > 1, 'one key made all jobs')
})
