// Goal: quotas of providers' keys are used up to the last request and never exceeded, over all proxies: the next key is asked before
// a 429 is provoked, then the next route, and a client is told the least wait. Method: a provider that enforces its keys behind two
// proxies of two workers, with the quotas in the catalog; requests of sessions that are chosen, so that no share is left to chance.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { placeOf } from '../../../contract/std/fnv1a.ts'
import { affinityOf } from '../../../proxy/endpoints/run/affinity.ts'
import { byAffinity } from '../../../proxy/upstream/keys/rendezvous.ts'
import { byTurns } from '../../support/clients/byTurns.ts'
import { assertError, chat, completion, postRaw, type Reply } from '../../support/clients/chatClient.ts'
import { KeyedProvider, type KnownKey } from '../../support/providers/keyedProvider.ts'
import { MountedSecrets } from '../../support/providers/mountedSecrets.ts'
import { rounds } from '../../support/rounds.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const IDS = ['a', 'b', 'c', 'd', 'e']
const PER_MINUTE = rounds({ short: 50, long: 1_000 })
const WEIGHTS = { a: 4, b: 3, c: 1 }

let stack: Stack
let provider: KeyedProvider
let apiKey: string
let accountId: string
const secrets = new MountedSecrets('quotas')

const listed = (group: string, ids: readonly string[], quota: object) =>
  ids.map((id) => ({ id, file: secrets.mount(`${group}-${id}`, `${group}-${id}`), ...quota }))

before(async () => {
  provider = await KeyedProvider.start()
  const of = (id: string, keys: object[]) => ({ id, base_url: provider.url, keys })
  const weighted = Object.entries(WEIGHTS).map(([id, weight]) => ({ id, weight }))
  stack = await startStack({
    workers: 2,
    proxies: 2,
    limits: { keyFileCheckMs: 100 },
    catalog: {
      providers: [
        of('full', listed('full', IDS, { requests_per_minute: PER_MINUTE })),
        of(
          'shares',
          weighted.map((key) => ({
            ...key,
            file: secrets.mount(`shares-${key.id}`, `shares-${key.id}`),
            requests_per_minute: 50_000,
          })),
        ),
        of('revoked', listed('revoked', IDS, { requests_per_minute: 5_000, parallel: 50 })),
        of('rotated', listed('rotated', ['a'], { requests_per_minute: 5_000 })),
        of('tokens', listed('tokens', ['a', 'b'], { tokens_per_minute: 100 })),
        of('sole', listed('sole', ['a'], { requests_per_minute: 2 })),
        of('spare', listed('spare', ['a'], { requests_per_minute: 3 })),
        of('narrow', listed('narrow', ['a'], { parallel: 1 })),
      ],
      models: [
        ...['full', 'shares', 'revoked', 'rotated', 'tokens', 'narrow'].map((name) => ({
          id: `test/${name}`,
          routes: [{ provider: name, model: 'x' }],
        })),
        {
          id: 'test/next-route',
          routes: [
            { provider: 'sole', model: 'x' },
            { provider: 'spare', model: 'x' },
          ],
        },
      ],
    },
  })
  const account = await stack.createAccount({ credits: '1000' })
  apiKey = account.apiKey
  accountId = account.accountId
})
after(async () => {
  await provider.stop()
  await stack.finish()
  secrets.remove()
})

/** Sends requests of sessions to all proxies by turns, a few at a time. @param each called before each */
function load(
  model: string,
  count: number,
  each = (_index: number): void => {},
  sessionOf = (index: number) => `session ${index}`,
): Promise<Reply[]> {
  const request = { model: `test/${model}`, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }
  return byTurns(stack.baseUrls, count, (url, index) => {
    each(index)
    return postRaw(url, apiKey, JSON.stringify(request), { 'x-session-id': sessionOf(index) })
  })
}

const sum = (keys: readonly KnownKey[], of: 'served' | 'refused'): number => keys.reduce((all, key) => all + key[of], 0)

/** A minute as the quotas count it begins again. */
const MINUTE_MS = 63_000

test('keys are used up to their last request, and no 429 is provoked nor shown while one has room', async () => {
  const keys = IDS.map((id) => provider.allow(`full-${id}`))
  for (const key of keys) key.perMinute = { most: PER_MINUTE, sentAtMs: [] }
  // A key serves a whole minute's quota at once, and nothing more before it is over.
  const turns = rounds({ short: 1, long: 2 })
  for (let turn = 1; turn <= turns; turn++) {
    const startedAtMs = Date.now()
    const replies = await load('full', PER_MINUTE * IDS.length)
    const tookMs = Date.now() - startedAtMs
    // The first of them leave the minute when it takes longer; then there is room for more, never for less.
    for (const reply of replies) completion(reply)
    assert.equal(sum(keys, 'served'), PER_MINUTE * IDS.length * turn)
    assert.equal(sum(keys, 'refused'), 0)
    if (tookMs < 55_000) {
      for (const reply of await load('full', 20)) {
        assertError(reply, 429, 'rate_limited')
        const seconds = Number(reply.headers.get('retry-after'))
        assert.ok(seconds >= 1 && seconds <= 62, `Retry-After ${seconds}`)
      }
    }
    assert.equal(sum(keys, 'refused'), 0)
    if (turn < turns) await new Promise((resolve) => setTimeout(resolve, MINUTE_MS))
  }
})

/** Sessions whose keys are first by the weights exactly: how well the hash keeps to these has a test of its own. */
function sessionsByWeights(count: number): string[] {
  const total = Object.values(WEIGHTS).reduce((sum, weight) => sum + weight, 0)
  const candidates = Object.entries(WEIGHTS).map(([id, weight]) => ({ id, weight, place: placeOf(`shares/${id}`) }))
  const left = new Map(candidates.map(({ id, weight }) => [id, (count * weight) / total]))
  const sessions: string[] = []
  for (let i = 0; sessions.length < count; i++) {
    const session = `session ${i}`
    const affinity = affinityOf({ accountId, keyId: '' }, { session, requestId: '' })
    const first = byAffinity(candidates, affinity, (key) => key)[0]?.id ?? ''
    const room = left.get(first) ?? 0
    if (room === 0) continue
    left.set(first, room - 1)
    sessions.push(session)
  }
  return sessions
}

test('shares are those of the weights while no quota ends', async () => {
  const keys = Object.entries(WEIGHTS).map(([id, weight]) => ({ weight, key: provider.allow(`shares-${id}`) }))
  const count = rounds({ short: 400, long: 10_000 })
  const sessions = sessionsByWeights(count)
  for (const reply of await load('shares', count, undefined, (i) => sessions[i] ?? '')) completion(reply)
  const weights = keys.reduce((all, { weight }) => all + weight, 0)
  for (const { key, weight } of keys) assert.equal(key.served, (count * weight) / weights)
})

test('a key with a quota that is revoked in the middle leaves within the request that met it', async () => {
  const keys = IDS.map((id) => provider.allow(`revoked-${id}`))
  const count = rounds({ short: 300, long: 600 })
  const replies = await load('revoked', count, (index) => {
    if (index === count / 3) provider.keys.delete('revoked-c')
  })
  for (const reply of replies) completion(reply)
  assert.equal(sum(keys, 'served'), count)
})

test('the command line lists keys with their quotas', async () => {
  const { json, stdout } = await stack.cli('provider', 'keys', 'sole')
  const [key] = (json as { data: { requests_per_minute: number; parallel: null }[] }).data
  assert.deepEqual([key?.requests_per_minute, key?.parallel], [2, null], stdout)
})

test('a file that is replaced under load fails no request of a key with a quota', async () => {
  provider.allow('rotated-a')
  let version = 0
  const versions = rounds({ short: 4, long: 8 })
  const replies = await load('rotated', versions * 75, (index) => {
    if (index % 75 !== 74) return
    const old = version === 0 ? 'rotated-a' : `rotated-a-${version}`
    version++
    provider.allow(`rotated-a-${version}`)
    secrets.mount('rotated-a', `rotated-a-${version}`)
    provider.keys.delete(old)
  })
  for (const reply of replies) completion(reply)
  assert.equal(version, versions)
})

test('tokens count as they were used, not at the worst case, once a request has ended', async () => {
  const [a, b] = ['a', 'b'].map((id) => provider.allow(`tokens-${id}`))
  assert.ok(a !== undefined && b !== undefined)
  // Each may use some 50 tokens, and uses 6: more requests than worst cases fit both quotas. What it did not use is given back in
  // a call after its answer, and within this wait none of the tokens leaves the minute.
  const one = { model: 'test/tokens', max_tokens: 20, prompt_cache_key: 'one' }
  await until(
    'all are served',
    async () => {
      const served = a.served + b.served
      const reply = await chat(stack.baseUrls[served % 2] ?? '', apiKey, one)
      if (reply.status !== 200) assertError(reply, 429, 'rate_limited')
      else assert.equal(a.served + b.served, served + 1)
      return a.served + b.served === 12
    },
    40_000,
  )
  // A worst case that no key could serve within a minute needs all of it.
  const reply = await chat(stack.baseUrl, apiKey, { ...one, max_tokens: 1_000 })
  assertError(reply, 429, 'rate_limited')
  assert.ok(Number(reply.headers.get('retry-after')) > 1)
  assert.equal(a.served + b.served, 12)
})

test('without a key that has room the next route serves, and with none left a client is told the least wait', async () => {
  const [sole, spare] = [provider.allow('sole-a'), provider.allow('spare-a')]
  for (let i = 0; i < 5; i++) {
    completion(await chat(stack.baseUrls[i % 2] ?? '', apiKey, { model: 'test/next-route', max_tokens: 5 }))
  }
  assert.deepEqual([sole.served, spare.served], [2, 3])
  const reply = await chat(stack.baseUrl, apiKey, { model: 'test/next-route', max_tokens: 5 })
  assertError(reply, 429, 'rate_limited')
  const seconds = Number(reply.headers.get('retry-after'))
  assert.ok(seconds > 1 && seconds <= 62, `Retry-After ${seconds}`)
  assert.deepEqual([sole.refused, spare.refused], [0, 0])
})

test('a key that serves one request at once serves the next when that has ended', async () => {
  const key = provider.allow('narrow-a')
  for (let i = 0; i < 10; i++) {
    await until('the permit is back', async () => {
      const reply = await chat(stack.baseUrls[i % 2] ?? '', apiKey, { model: 'test/narrow', max_tokens: 5 })
      if (reply.status !== 200) assertError(reply, 429, 'rate_limited')
      return reply.status === 200
    })
  }
  assert.deepEqual([key.served, key.refused], [10, 0])
})
