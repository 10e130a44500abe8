// Goal: any order of crashes leaves the books right. Method: for minutes, keys that spend steadily, keys that are used now
// and then, sub-keys and an agent keep asking while a seeded random sequence kills and restarts parts, one or several at a
// time, empties Redis, or lets the proxy drain; after each few strikes everything must settle, the audit must be clean, and
// the book must have what clients saw and what the provider's own log says.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertBookMatches } from '../support/bookCheck.ts'
import { AgentClient } from '../support/clients/agentClient.ts'
import { api, newOwner } from '../support/clients/apiClient.ts'
import { areDelivered } from '../support/journals.ts'
import { itemOf, memberOf, present } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'
import { childrenOf, describe, startWorkload, type Workload } from '../support/workload.ts'

const SEED = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000)
const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? 10)
const HOT_CLIENTS = 6
const COLD_KEYS = 6
const COLD_PAUSE_MS = 900
const SUB_KEYS = 3
const STRIKES_BETWEEN_AUDITS = 4
const MODELS = ['test/small', 'test/paced', 'test/cut', 'test/silent']

interface Keys {
  readonly hot: TestAccount[]
  readonly cold: TestAccount[]
}

let stack: Stack
let keys: Keys

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
  keys = await makeKeys()
})
after(() => stack.finish())

async function makeKeys(): Promise<Keys> {
  const hot = [await stack.createAccount({ credits: '100', coin: '100' })]
  const capped = await stack.createAccount({ coin: '100', args: ['--cap-day', '90'] })
  const cold = []
  for (let i = 0; i < COLD_KEYS; i++) cold.push(await stack.createAccount({ credits: '1', coin: '1' }))
  const platform = await stack.createAccount({ coin: '100', args: ['--platform', '--budget', '90'] })
  for (let i = 0; i < SUB_KEYS; i++) {
    const made = await api<{ api_key: string }>(stack.baseUrl, 'POST', '/v1/platform/keys', {
      token: platform.apiKey,
      body: {},
    })
    hot.push({ ...platform, apiKey: made.body.api_key })
  }
  const agents = new AgentClient(stack.baseUrl, await newOwner(stack, { coin: '20' }))
  const { slug, key } = await agents.make({ budget: '9' })
  await agents.fund(slug, '10')
  cold.push({ accountId: slug, apiKey: key })
  return { hot: [...hot, capped], cold }
}

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

async function killProxy(): Promise<void> {
  const pid = present(stack.proxy.pid)
  // Else it would start workers in the place of those that are killed first.
  process.kill(pid, 'SIGSTOP')
  for (const worker of childrenOf(pid)) process.kill(worker, 'SIGKILL')
  await stack.proxy.kill9()
}

const STRIKES: Record<string, (pauseMs: number) => Promise<void>> = {
  worker: async () => {
    const [victim] = childrenOf(present(stack.proxy.pid))
    if (victim !== undefined) process.kill(victim, 'SIGKILL')
  },
  supervisor: async (pauseMs) => {
    await stack.proxy.kill9()
    await sleep(pauseMs)
    await stack.proxy.start()
  },
  proxy: async (pauseMs) => {
    await killProxy()
    await sleep(pauseMs)
    await stack.proxy.start()
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
  emptied: () => stack.withRedis(async (redis) => void (await redis.flushall())),
  postgres: async (pauseMs) => {
    await present(stack.postgres).kill9()
    await sleep(pauseMs)
    await present(stack.postgres).restart()
  },
  both: async (pauseMs) => {
    await Promise.all([stack.control.kill9(), stack.redis.kill9()])
    await sleep(pauseMs)
    await stack.redis.restart()
    await stack.control.start()
  },
  everything: async (pauseMs) => {
    const { control, redis, postgres } = stack
    await Promise.all([killProxy(), control.kill9(), redis.kill9(), present(postgres).kill9()])
    await sleep(pauseMs)
    await Promise.all([redis.restart(), present(postgres).restart()])
    await control.start()
    await stack.proxy.start()
  },
}

function startWorkloads(): { hot: Workload[]; cold: Workload[] } {
  return {
    hot: keys.hot.map((key, i) => startWorkload(stack, key, MODELS, i === 0 ? HOT_CLIENTS : 2)),
    cold: keys.cold.map((key) => startWorkload(stack, key, MODELS, 1, COLD_PAUSE_MS)),
  }
}

/** Strikes a few times while clients keep asking. @returns what was struck */
async function strike(random: () => number): Promise<string[]> {
  const struck: string[] = []
  for (let i = 0; i < STRIKES_BETWEEN_AUDITS; i++) {
    const name = itemOf(Object.keys(STRIKES), Math.floor(random() * Object.keys(STRIKES).length))
    struck.push(name)
    await sleep(random() * 1_500)
    await memberOf(STRIKES, name)(random() * 800)
  }
  return struck
}

const isDelivered = async (): Promise<boolean> => areDelivered(stack.dir, childrenOf(present(stack.proxy.pid)))

test(`chaos for ${MINUTES} minutes, seed ${SEED}`, { timeout: (MINUTES + 5) * 60_000 }, async () => {
  const random = randomFrom(SEED)
  const endMs = Date.now() + MINUTES * 60_000
  let linesBefore = 0
  while (Date.now() < endMs) {
    const { hot, cold } = startWorkloads()
    const struck = await strike(random)
    for (const workload of hot) {
      const seen = workload.answered()
      await until('answers come again', () => workload.answered() >= seen + 10, 60_000)
    }
    const results = await Promise.all([...hot, ...cold].map((workload) => workload.stop()))
    // Redis does not know what they have of the time before it was emptied.
    await until('journals of dead processes are delivered', isDelivered, 60_000)
    await stack.settled(60_000)
    await stack.audit()
    const log = await stack.provider.log(linesBefore)
    linesBefore = log.at(-1)?.n ?? linesBefore
    await assertBookMatches(stack.databaseUrl, results, log)
    assert.ok(log.length > 0)
    const sum = results.map(describe).join('; ')
    process.stdout.write(`# seed ${SEED}: ${struck.join(', ')}: ${log.length} served; ${sum}\n`)
  }
})
