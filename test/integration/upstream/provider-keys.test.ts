// Goal: an operator with several keys of a provider sees no failed request while one of them has room: neither when quotas end,
// nor when a key is revoked or replaced. Method: a provider that enforces its keys behind two proxies of two workers.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { byTurns, CONCURRENT } from '../../support/clients/byTurns.ts'
import { assertError, chat, completion, postRaw, type Reply } from '../../support/clients/chatClient.ts'
import { messages } from '../../support/clients/messagesClient.ts'
import { KeyedProvider } from '../../support/providers/keyedProvider.ts'
import { MountedSecrets } from '../../support/providers/mountedSecrets.ts'
import { rounds } from '../../support/rounds.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

interface KeyList {
  readonly processes: number
  readonly data: readonly { key: string; share: number; file: string | null; out: readonly { fault: string }[] }[]
}

let stack: Stack
let provider: KeyedProvider
let apiKey: string
const secrets = new MountedSecrets('mounted')

before(async () => {
  provider = await KeyedProvider.start()
  const listed = (group: string, ids: readonly string[]) =>
    ids.map((id) => ({ id, file: secrets.mount(`${group}-${id}`, `${group}-${id}`) }))
  const base_url = provider.url
  const ids = ['a', 'b', 'c', 'd', 'e']
  const of = (id: string, keys: object[]) => ({ id, base_url, keys })
  stack = await startStack({
    workers: 2,
    proxies: 2,
    limits: { keyFileCheckMs: 100 },
    catalog: {
      providers: [
        of('quota', listed('quota', ids)),
        of(
          'weighted',
          listed('weighted', ['a', 'b']).map((key, i) => ({ ...key, weight: i === 0 ? 3 : 1 })),
        ),
        of('revoked', listed('revoked', ids)),
        of('rotated', listed('rotated', ['a'])),
        of('absent', [
          { id: 'a', file: secrets.at('absent-a') },
          { id: 'b', env: 'SLUICE_NOT_SET' },
        ]),
        of('limited', listed('limited', ['a', 'b'])),
      ],
      models: ['quota', 'weighted', 'revoked', 'rotated', 'absent', 'limited'].map((name) => ({
        id: `test/${name}`,
        routes: [{ provider: name, model: 'x' }],
      })),
    },
  })
  apiKey = (await stack.createAccount({ credits: '1000' })).apiKey
})
after(async () => {
  await provider.stop()
  await stack.finish()
  secrets.remove()
})

/** Sends requests to all proxies by turns, a few at a time. @param each called before each */
async function load(
  model: string,
  count: number,
  body: (index: number) => object,
  each = (_index: number): void => {},
): Promise<void> {
  const replies = await byTurns(stack.baseUrls, count, (url, index) => {
    each(index)
    return chat(url, apiKey, { model: `test/${model}`, max_tokens: 5, ...body(index) })
  })
  for (const reply of replies) completion(reply)
}

const SESSION_HEADERS = [
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-session-affinity',
  'x-opencode-session',
  'x-amp-thread-id',
]

/** One of four is on the light key, so that the chance that none of these is on one of the two keys is 10^-25. */
const CONVERSATIONS_MAX = 200

const talk = (index: number): object => ({ prompt_cache_key: `conversation ${index}` })

test('no client sees 429 while one key has room, though the quotas are used up to the last request', async () => {
  const known = ['a', 'b', 'c', 'd', 'e'].map((id) => provider.allow(`quota-${id}`, 200))
  await load('quota', 1_000 - CONCURRENT, talk)
  assert.equal(
    known.reduce((sum, { served }) => sum + served, 0),
    1_000 - CONCURRENT,
  )
})

test('shares are by the weights, and a conversation is served by one key on every proxy', async () => {
  const heavy = provider.allow('weighted-a')
  const light = provider.allow('weighted-b')
  await load('weighted', 1_200, talk)
  // Four deviations of chance; the property test of the hash has the conversations for a closer bound.
  assert.ok(Math.abs(heavy.served - 900) <= 60, `${heavy.served} of 900`)
  assert.equal(heavy.served + light.served, 1_200)
  const before = [heavy.served, light.served]
  await load('weighted', 80, () => talk(7))
  const more = [heavy.served - (before[0] ?? 0), light.served - (before[1] ?? 0)]
  assert.deepEqual(more.sort(), [0, 80])
  for (const name of SESSION_HEADERS) {
    const [first, second] = [heavy.served, light.served]
    for (const url of [...stack.baseUrls, ...stack.baseUrls]) {
      // Each message is another one; the header alone joins them.
      const messages = [{ role: 'user', content: `message ${first} ${second} ${Math.random()}` }]
      const body = JSON.stringify({ model: 'test/weighted', max_tokens: 5, messages })
      const reply = await postRaw(url, apiKey, body, { [name]: `session of ${name}` })
      assert.equal(reply.status, 200, reply.text)
    }
    assert.deepEqual([heavy.served - first, light.served - second].sort(), [0, 4], name)
  }
})

const LONG = 'word '.repeat(80_000)
const GROWING: Record<string, (url: string, begin: string, turns: object[]) => Promise<Reply>> = {
  'a chat': (url, begin, turns) => {
    const messages = [{ role: 'system', content: begin }, ...turns]
    return chat(url, apiKey, { model: 'test/weighted', max_tokens: 5, messages })
  },
  'a chat that another thread reads': (url, begin, turns) => {
    const messages = [{ role: 'system', content: `${begin} ${LONG}` }, ...turns]
    return chat(url, apiKey, { model: 'test/weighted', max_tokens: 5, messages })
  },
  'a conversation of Messages': (url, begin, turns) =>
    messages(url, apiKey, { model: 'test/weighted', max_tokens: 5, system: begin, messages: turns }),
  'a conversation of Messages that another thread reads': (url, begin, turns) =>
    messages(url, apiKey, { model: 'test/weighted', max_tokens: 5, system: `${begin} ${LONG}`, messages: turns }),
}

for (const [name, ask] of Object.entries(GROWING)) {
  test(`${name} stays on its key while it grows, by its beginning alone`, async () => {
    const [heavy, light] = ['a', 'b'].map((id) => provider.allow(`weighted-${id}`))
    assert.ok(heavy !== undefined && light !== undefined)
    const used = new Set<string>()
    for (let i = 0; used.size < 2 && i < CONVERSATIONS_MAX; i++) {
      const begin = `You are assistant ${Math.random()}.`
      const before = [heavy.served, light.served]
      const turns: object[] = [{ role: 'user', content: 'What is a hold?' }]
      for (const url of [...stack.baseUrls, ...stack.baseUrls]) {
        const reply = await ask(url, begin, turns)
        assert.equal(reply.status, 200, reply.text)
        turns.push({ role: 'assistant', content: 'ok' }, { role: 'user', content: `And turn ${turns.length}?` })
      }
      const served = [heavy.served - (before[0] ?? 0), light.served - (before[1] ?? 0)]
      used.add(served.join())
    }
    assert.deepEqual([...used].sort(), ['0,4', '4,0'])
  })
}

test('a key that is revoked in the middle fails no request, is told, and comes back with a new secret', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  for (const id of ids) provider.allow(`revoked-${id}`)
  const count = rounds({ short: 300, long: 600 })
  await load('revoked', count, talk, (index) => {
    if (index === count / 3) provider.keys.delete('revoked-c')
  })
  // A worker that stands still is shown with its last report.
  const metrics = async () => (await fetch(stack.metricsUrl)).text()
  await until('its refusal is counted', async () =>
    /^sluice_provider_keys_refused_total\{key="revoked\/c"\} [1-9]/m.test(await metrics()),
  )
  assert.match(stack.logs(), /"event":"provider_key_refused"[^\n]*"key":"revoked\/c"/)
  await until('it is shown to be out', async () =>
    /^sluice_provider_keys_out\{key="revoked\/c",fault="account"\} [1-9]/m.test(await metrics()),
  )
  await until('the command line shows it', async () => {
    const { json } = await stack.cli('provider', 'keys', 'revoked')
    const { processes, data } = json as KeyList
    const out = data.flatMap((key) => key.out.map(({ fault }) => `${key.key} ${fault}`))
    return processes === 4 && out.join() === 'revoked/c account' && data.every(({ share }) => share === 0.2)
  })
  const renewed = provider.allow('revoked-c2')
  secrets.mount('revoked-c', 'revoked-c2')
  await until('the new secret serves', async () => {
    await load('revoked', 20, () => talk(Math.floor(Math.random() * 1e9)))
    return renewed.served > 0
  })
  await until('no key is out', async () => {
    const { data } = (await stack.cli('provider', 'keys', 'revoked')).json as KeyList
    return data.every(({ out }) => out.length === 0)
  })
  assert.equal((await stack.cli('provider', 'keys', 'nobody')).code, 1)
})

test('a file that is replaced under load fails no request, though the old secret dies at once', async () => {
  provider.allow('rotated-a')
  let version = 0
  const versions = rounds({ short: 4, long: 8 })
  await load('rotated', versions * 75, talk, (index) => {
    if (index % 75 !== 74) return
    const old = version === 0 ? 'rotated-a' : `rotated-a-${version}`
    version++
    provider.allow(`rotated-a-${version}`)
    secrets.mount('rotated-a', `rotated-a-${version}`)
    provider.keys.delete(old)
  })
  assert.equal(version, versions)
})

test('keys that cannot be read turn their route off with a warning, and on when they are there', async () => {
  assertError(await chat(stack.baseUrl, apiKey, { model: 'test/absent' }), 503, 'model_unavailable')
  assert.match(stack.logs(), /"event":"provider_key_missing"[^\n]*"provider":"absent"[^\n]*"path":"[^"]*absent-a"/)
  assert.match(stack.logs(), /"event":"provider_key_missing"[^\n]*"provider":"absent"[^\n]*"variable":"SLUICE_NOT_SET"/)
  await until('both workers show it', async () => {
    const metrics = await (await fetch(stack.metricsUrl)).text()
    return /^sluice_provider_keys_out\{key="absent\/a",fault="unread"\} 2$/m.test(metrics)
  })
  provider.allow('absent-a')
  secrets.mount('absent-a', 'absent-a')
  await until(
    'the key serves',
    async () => (await chat(stack.baseUrl, apiKey, { model: 'test/absent' })).status === 200,
  )
})

test('with all keys limited a client is told when to come again', async () => {
  provider.allow('limited-a', 0)
  provider.allow('limited-b', 0)
  const startedMs = performance.now()
  for (let i = 0; i < 3; i++) {
    const reply = await chat(stack.baseUrl, apiKey, { model: 'test/limited' })
    assertError(reply, 429, 'rate_limited')
    const seconds = Number(reply.headers.get('retry-after'))
    const leastSeconds = 30 - (performance.now() - startedMs) / 1_000
    assert.ok(seconds >= leastSeconds && seconds <= 30, `Retry-After ${seconds}`)
  }
})
