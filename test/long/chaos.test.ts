// Goal: any order of crashes leaves the books right. Method: for minutes, clients keep asking while a seeded random
// sequence kills and restarts parts, one or several at a time, empties Redis, or lets the proxy drain; after each few
// strikes everything must settle, the audit must be clean and whole answers must match the provider's log.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { itemOf, memberOf } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { assertWorkload, childrenOf, describe, startWorkload } from '../support/workload.ts'

const SEED = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000)
const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? 5)
const CLIENTS = 16
const STRIKES_BETWEEN_AUDITS = 4

let stack: Stack
const accounts: TestAccount[] = []

before(async () => {
  stack = await startStack({
    workers: 2,
    ownPostgres: true,
    limits: {
      heartbeatIntervalMs: 200,
      heartbeatTimeoutMs: 2_000,
      orphanCheckMs: 200,
      drainGraceMs: 300,
      breakerFailures: 1_000_000,
    },
    catalog: {
      models: [
        { id: 'test/small', upstream: 'mock,chunks=8' },
        { id: 'test/paced', upstream: 'mock,chunks=20,delay=20' },
        { id: 'test/cut', upstream: 'mock,chunks=20,delay=5,cut=7' },
        { id: 'test/silent', upstream: 'mock,chunks=8,usage=none' },
      ],
    },
  })
  accounts.push(await stack.createAccount({ credits: '100', coin: '100' }))
  accounts.push(await stack.createAccount({ coin: '200' }))
})
after(() => stack.finish())

/** A small generator of repeatable numbers below 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const STRIKES: Record<string, (pauseMs: number) => Promise<void>> = {
  worker: async () => {
    const pid = stack.proxy.pid
    assert.ok(pid !== undefined)
    const [victim] = childrenOf(pid)
    if (victim !== undefined) process.kill(victim, 'SIGKILL')
  },
  drain: () => stack.proxy.restart(),
  control: async (pauseMs) => {
    await stack.control.kill9()
    await sleep(pauseMs)
    await stack.control.start()
  },
  redis: async (pauseMs) => {
    await stack.redis.kill9()
    await sleep(pauseMs)
    await stack.redis.restart()
  },
  postgres: async (pauseMs) => {
    await stack.postgres?.kill9()
    await sleep(pauseMs)
    await stack.postgres?.restart()
  },
  both: async (pauseMs) => {
    await Promise.all([stack.control.kill9(), stack.redis.kill9()])
    await sleep(pauseMs)
    await stack.redis.restart()
    await stack.control.start()
  },
}

test(`chaos for ${MINUTES} minutes, seed ${SEED}`, { timeout: (MINUTES + 5) * 60_000 }, async () => {
  const random = randomFrom(SEED)
  const names = Object.keys(STRIKES)
  const models = ['test/small', 'test/paced', 'test/cut', 'test/silent']
  const endMs = Date.now() + MINUTES * 60_000
  while (Date.now() < endMs) {
    const account = itemOf(accounts, Math.floor(random() * accounts.length))
    const workload = startWorkload(stack, account, models, CLIENTS)
    const struck: string[] = []
    for (let strike = 0; strike < STRIKES_BETWEEN_AUDITS; strike++) {
      const name = itemOf(names, Math.floor(random() * names.length))
      struck.push(name)
      await sleep(random() * 1_500)
      await memberOf(STRIKES, name)(random() * 800)
    }
    const seen = workload.answered()
    await until('answers come again', () => workload.answered() >= seen + 20, 60_000)
    const result = await workload.stop()
    await stack.settled(60_000)
    await stack.audit()
    await assertWorkload(stack, result, 20)
    process.stdout.write(`# seed ${SEED}: ${struck.join(', ')}: ${describe(result)}\n`)
  }
})
