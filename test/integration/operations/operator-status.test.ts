// What the operator says on the command line reaches every proxy within a second, and stays said whatever restarts.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, test } from 'node:test'
import { STATUS_KEY } from '../../../contract/wire/redisKeys.ts'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { assertError, chat, chatStream, completion } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { itemOf } from '../../support/present.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const WITHIN_MS = 1_000
/** Connections of which each process of the proxy is sure to get some. */
const CONNECTIONS = 16

interface Incident {
  readonly id: string
  readonly title: string
  readonly impact: string
  readonly status: string
  readonly models: string[]
  readonly note: string | null
  readonly resolution: string | null
  readonly opened_at: string
  readonly closed_at: string | null
}
interface Status {
  readonly object: string
  readonly status: string
  readonly components: { name: string; status: string }[]
  readonly models: { listed: number; serving: number; unavailable: string[] }
  readonly incidents: Incident[]
}
interface History {
  readonly days: { date: string; status: string; incidents: string[] }[]
  readonly incidents: Incident[]
}

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { statusCheckMs: 300, catalogCheckMs: 300, pulseIntervalMs: 200, rpcTimeoutMs: 8_000 },
    catalog: {
      providers: [{ id: 'first' }, { id: 'second' }],
      models: [
        { id: 'test/one', routes: [{ provider: 'first', model: 'mock,chunks=1,text=one' }] },
        {
          id: 'test/two',
          routes: [
            { provider: 'first', model: 'mock,chunks=1,text=one' },
            { provider: 'second', model: 'mock,chunks=1,text=two' },
          ],
        },
        { id: 'test/slow', routes: [{ provider: 'first', model: 'mock,chunks=60,delay=25' }] },
        { id: 'test/off', routes: [{ provider: 'first', model: 'mock', enabled: false }] },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '10' })).apiKey
})
after(() => stack.finish())

/** Reads a path over a connection of its own. */
async function read<T>(path: string, headers = {}): Promise<{ status: number; body: T }> {
  const call = request(stack.baseUrl + path, { agent: false, headers }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of response) text += String(part)
  return { status: response.statusCode ?? 0, body: JSON.parse(text) as T }
}

/** What many connections read at once. */
async function readAll<T>(path: string): Promise<T[]> {
  const replies = await Promise.all(Array.from({ length: CONNECTIONS }, () => read<T>(path)))
  return replies.map(({ status, body }) => {
    assert.equal(status, 200)
    return body
  })
}

/** Waits until all that is read is as it should be, and notes how long that took. */
function everywhere<T>(path: string, isRight: (body: T) => boolean, watch: Stopwatch): Promise<void> {
  return watch.until(`every proxy says so at ${path}`, async () => (await readAll<T>(path)).every(isRight))
}

async function cli<T>(...args: string[]): Promise<T> {
  const { code, json, stderr } = await stack.cli(...args)
  assert.equal(code, 0, stderr)
  return json as T
}

async function cliFails(code: number, message: RegExp, ...args: string[]): Promise<void> {
  const result = await stack.cli(...args)
  assert.equal(result.code, code)
  assert.match(result.stderr, message)
}

const textOf = (answer: Record<string, unknown>) =>
  itemOf(answer['choices'] as { message: { content: string } }[], 0).message.content
const ask = (model: string) => chat(stack.baseUrl, apiKey, { model })
const served = (id: string) => (models: { data: { id: string }[] }) => models.data.some((model) => model.id === id)
const notServed = (id: string) => (models: { data: { id: string }[] }) => !served(id)(models)

test('a disabled route gets no new requests, within a second and after restarts, until it is enabled', async () => {
  type Pricing = {
    readonly version: string
    readonly models: { id: string; available: boolean; routes: { enabled: boolean }[] }[]
  }
  const routes = new Stopwatch()
  const before = (await read<Pricing>('/v1/pricing')).body
  assert.equal(textOf(completion(await ask('test/two'))), 'one')
  await stack.provider.hold()
  const running = chatStream(stack.baseUrl, apiKey, { model: 'test/slow' })
  await until('the stream runs', async () => (await stack.provider.open()) > 0)
  const done = await cli<Record<string, unknown>>('route', 'disable', 'first/*', '--reason', 'it loses requests')
  assert.deepEqual(done['models_without_route'], ['test/one', 'test/slow', 'test/off'])
  await everywhere('/v1/models', notServed('test/one'), routes)
  assertError(await ask('test/one'), 503, 'model_unavailable')
  assert.equal(textOf(completion(await ask('test/two'))), 'two')
  // What runs on it goes on.
  await stack.provider.release()
  const stream = await running
  assert.deepEqual([stream.done, stream.receipt?.status], [true, 'ok'])

  const pricing = (await read<Pricing>('/v1/pricing')).body
  assert.equal(pricing.version, before.version)
  const two = pricing.models.find(({ id }) => id === 'test/two')
  assert.deepEqual([two?.available, two?.routes.map(({ enabled }) => enabled)], [true, [false, true]])
  assert.equal(pricing.models.find(({ id }) => id === 'test/one')?.available, false)
  const { status, models } = (await read<Status>('/v1/status')).body
  assert.deepEqual([status, models.serving], ['partial_outage', 1])
  assert.deepEqual(models.unavailable, ['test/one', 'test/slow'])

  // The catalog file is read again at a start; what was said by hand stays.
  await stack.control.restart()
  await stack.proxy.restart()
  await stack.ready()
  assertError(await ask('test/one'), 503, 'model_unavailable')
  const { data } = await cli<{ data: Record<string, unknown>[] }>('route', 'list')
  assert.deepEqual(
    data.map(({ route, enabled, catalog_enabled: of, disabled_by: by }) => [route, enabled, of, by]),
    [
      ['first/mock,chunks=1,text=one', false, true, 'first/*'],
      ['first/mock,chunks=1,text=one', false, true, 'first/*'],
      ['second/mock,chunks=1,text=two', true, true, null],
      ['first/mock,chunks=60,delay=25', false, true, 'first/*'],
      ['first/mock', false, false, 'first/*'],
    ],
  )
  assert.equal(itemOf(data, 0)['reason'], 'it loses requests')

  await cliFails(1, /disabled with first\/\*/, 'route', 'enable', 'first/mock')
  await cli('route', 'disable', 'first/mock,chunks=1,text=one')
  await cli('route', 'enable', 'first/*')
  await everywhere('/v1/models', served('test/slow'), routes)
  assertError(await ask('test/one'), 503, 'model_unavailable')
  await cli('route', 'enable', 'first/mock,chunks=1,text=one')
  await everywhere('/v1/models', served('test/one'), routes)
  routes.assertWithin(WITHIN_MS)
  assert.equal(textOf(completion(await ask('test/one'))), 'one')
  assertError(await ask('test/off'), 503, 'model_unavailable')
  assert.equal((await read<Status>('/v1/status')).body.status, 'operational')
})

test('unknown routes cannot be disabled', async () => {
  await cliFails(1, /no route third\/\*/, 'route', 'disable', 'third/*')
  await cliFails(1, /no route first/, 'route', 'disable', 'first')
  await cliFails(1, /not disabled by hand/, 'route', 'enable', 'second/mock,chunks=1,text=two')
  await cliFails(2, /ROUTE is missing/, 'route', 'disable')
})

test('an incident is shown by every proxy within a second, until it is closed; then it is in the history', async () => {
  const shown = new Stopwatch()
  assert.deepEqual((await read<Status>('/v1/status')).body.incidents, [])
  const opened = await cli<Incident>(
    'incident',
    'open',
    'Slow answers',
    '--impact',
    'major',
    '--note',
    'A provider is slow.',
  )
  assert.match(opened.id, /^inc_/)
  const isOpened = ({ status, incidents: [incident] }: Status) =>
    status === 'partial_outage' && incident?.id === opened.id
  await everywhere<Status>('/v1/status', isOpened, shown)
  const { incidents, object } = (await read<Status>('/v1/status')).body
  assert.deepEqual([object, incidents], ['status', [opened]])
  assert.deepEqual([opened.title, opened.status, opened.note], ['Slow answers', 'open', 'A provider is slow.'])
  // An incident of one model makes the models worse, and the whole no worse than that.
  const ofOne = await cli<Incident>('incident', 'open', 'One is down', '--impact', 'critical', '--model', 'test/one')
  const isOfOne = ({ status, incidents: [incident], components }: Status) => {
    const models = components.find(({ name }) => name === 'models')
    return incident?.id === ofOne.id && models?.status === 'partial_outage' && status === 'partial_outage'
  }
  await everywhere<Status>('/v1/status', isOfOne, shown)
  const listed = await cli<{ data: Incident[] }>('incident', 'list')
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    [ofOne.id, opened.id],
  )

  // Redis may lose it; control puts it back.
  await stack.withRedis((redis) => redis.del(STATUS_KEY))
  await until('it is back', () => stack.withRedis(async (redis) => (await redis.exists(STATUS_KEY)) === 1))

  // And while control is away, both are told from memory.
  await stack.control.kill9()
  await until('it is seen to be away', async () => {
    const { components } = (await read<Status>('/v1/status')).body
    return components.find(({ name }) => name === 'account_api')?.status === 'degraded_performance'
  })
  assert.equal((await read<Status>('/v1/status')).body.incidents.length, 2)
  assert.equal((await read<History>('/v1/status/history')).body.incidents.length, 2)
  // The command line needs the book alone.
  const closed = await cli<Incident>('incident', 'close', opened.id, '--note', 'It is fast again.')
  assert.deepEqual([closed.status, closed.resolution], ['closed', 'It is fast again.'])
  await everywhere<Status>('/v1/status', ({ incidents: open }) => open.length === 1, shown)
  await stack.control.start()
  await cli('incident', 'close', ofOne.id)
  await everywhere<Status>('/v1/status', ({ incidents: open }) => open.length === 0, shown)
  shown.assertWithin(WITHIN_MS)

  const history = (await read<History>('/v1/status/history')).body
  assert.ok(history.days.length <= 2, 'there are no days before the gateway ran')
  const day = opened.opened_at.slice(0, 10)
  const dayShown = history.days.find(({ date }) => date === day)
  assert.deepEqual([dayShown?.status, dayShown?.incidents], ['partial_outage', [ofOne.id, opened.id]])
  assert.deepEqual(history.incidents[1], closed)
  assert.deepEqual(await cli('incident', 'list'), { data: [] })
  assert.equal((await cli<{ data: Incident[] }>('incident', 'list', '--all')).data.length, 2)
})

test('invalid incidents are rejected with the remedy', async () => {
  await cliFails(2, /--impact must be one of maintenance, minor/, 'incident', 'open', 'x', '--impact', 'bad')
  await cliFails(2, /needs a title/, 'incident', 'open', '  ')
  await cliFails(2, /200 characters/, 'incident', 'open', 'x'.repeat(201))
  await cliFails(1, /no catalog has had a model test\/none/, 'incident', 'open', 'x', '--model', 'test/none')
  await cliFails(1, /there is no incident inc_1/, 'incident', 'close', 'inc_1')
  const { data } = await cli<{ data: Incident[] }>('incident', 'list', '--all')
  await cliFails(1, /is closed already/, 'incident', 'close', itemOf(data, 0).id)
  // Not even the database lets what was said be changed.
  const pool = createPool(stack.databaseUrl, limits)
  for (const change of ["UPDATE incidents SET resolution = 'x'", 'DELETE FROM incidents']) {
    await assert.rejects(pool.query(change), /append only/)
  }
  await pool.end()
})

test('the audit trail records each change with its actor', async () => {
  const { data } = await cli<{ data: { type: string; target: string; actor: { type: string } }[] }>('trail')
  assert.deepEqual(
    data.map(({ type, target, actor }) => [type, type.startsWith('route') ? target : '', actor.type]).reverse(),
    [
      ['route.disabled', 'first/*', 'operator'],
      ['route.disabled', 'first/mock,chunks=1,text=one', 'operator'],
      ['route.enabled', 'first/*', 'operator'],
      ['route.enabled', 'first/mock,chunks=1,text=one', 'operator'],
      ['incident.opened', '', 'operator'],
      ['incident.opened', '', 'operator'],
      ['incident.closed', '', 'operator'],
      ['incident.closed', '', 'operator'],
    ],
  )
})
