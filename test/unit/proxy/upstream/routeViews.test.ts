import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { RouteViews, type RouteViewsOptions } from '../../../../proxy/upstream/routeViews.ts'
import { limitsWith } from '../../../support/limits.ts'
import { itemOf } from '../../../support/present.ts'

const limits = limitsWith({ breakerFailures: 1, breakerOpenMs: 60_000 })
const ROUTE = 'mock/m'
const KEYS_OUT = [
  { key: 'acme/a', fault: 'unread', untilMs: 0 },
  { key: 'acme/b', fault: 'rate', untilMs: 1_000_000 },
] as const
const KEY_TOKENS = [{ key: 'acme/a', prompt: 8, cached: 2 }]

/** The hash in Redis, which may be away. */
class Hash {
  readonly fields = new Map<string, Buffer>()
  isAway = false

  hset = async (_key: string, owner: string, view: Buffer) => {
    this.check()
    this.fields.set(owner, view)
  }
  hdel = async (_key: string, ...owners: string[]) => {
    for (const owner of owners) this.fields.delete(owner)
  }
  hgetallBuffer = async () => {
    this.check()
    return Object.fromEntries(this.fields)
  }

  private check(): void {
    if (this.isAway) throw new Error('away')
  }
}

/** This machine's clock is ahead by so much. */
const clock = { ms: 0 }
const started: RouteViews[] = []
afterEach(() => Promise.all(started.splice(0).map((views) => views.stop())))

function processes(count: number) {
  const hash = new Hash()
  const faults: unknown[] = []
  const all = Array.from({ length: count }, (_, i) => {
    const health = new RouteHealth(limits)
    const commands = hash as unknown as RouteViewsOptions['commands']
    const onFault = (error: unknown) => faults.push(error)
    const keysOut = () => KEYS_OUT
    const keyTokens = () => KEY_TOKENS
    const views = new RouteViews({ commands, owner: `own_${i}`, health, keysOut, keyTokens, clock, limits, onFault })
    started.push(views)
    return { health, views }
  })
  /** All exchange what they see, twice, so that each has read what each has told. */
  const exchange = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) for (const { views } of all) await views.exchange()
  }
  const seen = () => all.map(({ views }) => views.isOpen(ROUTE, Date.now()))
  return { all, hash, faults, exchange, seen }
}

test('what one process sees fail is shown by all, also by those that saw nothing', async () => {
  const { all, exchange, seen } = processes(3)
  await exchange()
  assert.deepEqual(seen(), [true, true, true])
  all[0]?.health.failed(ROUTE, Date.now())
  await exchange()
  assert.deepEqual(seen(), [false, false, false])
  all[0]?.health.succeeded(ROUTE)
  await exchange()
  assert.deepEqual(seen(), [true, true, true])
})

test('a route that answers more processes than it fails for is shown as serving', async () => {
  const { all, exchange, seen } = processes(3)
  all[0]?.health.failed(ROUTE, Date.now())
  all[1]?.health.succeeded(ROUTE)
  await exchange()
  assert.deepEqual(seen(), [false, false, false])
  all[2]?.health.succeeded(ROUTE)
  await exchange()
  assert.deepEqual(seen(), [true, true, true])
})

test('while Redis is away, each process shows what it sees itself', async () => {
  const { all, hash, faults, exchange, seen } = processes(2)
  hash.isAway = true
  all[0]?.health.failed(ROUTE, Date.now())
  await exchange()
  assert.deepEqual(seen(), [false, true])
  assert.equal(faults.length, 4)
})

test('what a dead process saw is forgotten, and one that stops leaves nothing', async () => {
  const { all, hash, exchange, seen } = processes(2)
  all[0]?.health.failed(ROUTE, Date.now())
  await all[0]?.views.exchange()
  await all[1]?.views.exchange()
  assert.equal(seen()[1], false)
  clock.ms = -limits.routeViewKeptMs - 1_000
  await all[1]?.views.exchange()
  assert.deepEqual([seen()[1], [...hash.fields.keys()]], [true, ['own_1']])
  await exchange()
  for (const { views } of all) await views.stop()
  assert.equal(hash.fields.size, 0)
})

test('the command line can read which keys of providers are out, with times of the clock of Redis', async () => {
  const { all, hash } = processes(1)
  clock.ms = 1_500
  await all[0]?.views.exchange()
  clock.ms = 0
  const { keysOut } = sluice.RouteView.decode(itemOf([...hash.fields.values()], 0))
  assert.deepEqual(
    keysOut?.map(({ key, fault, untilMs }) => [key, fault, untilMs]),
    KEYS_OUT.map(({ key, fault, untilMs }) => [key, fault, untilMs === 0 ? 0 : untilMs - 1_500]),
  )
})
