import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertError, chat, completion, type ErrorBody } from '../../support/clients/chatClient.ts'
import { postBy } from '../../support/clients/socketClient.ts'
import { itemOf } from '../../support/present.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const M = 'test/small'
/** Connections, each kept open, so that each process of the proxy has some of them. */
const CONNECTIONS = 16
const WITHIN_MS = 1_000
/** What each connection sends after a change has shown. */
const REQUESTS_AFTER = 5

interface Seen {
  readonly begunMs: number
  readonly status: number
  readonly code: string | null
}

let stack: Stack

before(async () => {
  stack = await startStack({ workers: 2, catalog: { models: [{ id: M }, { id: 'test/other' }] } })
})

after(() => stack.finish())

/** Clients that use a key without a pause, each over a connection of its own. */
class Users {
  readonly seen: Seen[][]
  private readonly agents: Agent[]
  private readonly running: Promise<void>[]
  private stopped = false

  constructor(apiKey: string, model = M) {
    this.seen = Array.from({ length: CONNECTIONS }, () => [])
    this.agents = this.seen.map(() => new Agent({ keepAlive: true, maxSockets: 1 }))
    this.running = this.agents.map((agent, i) => this.run(agent, itemOf(this.seen, i), apiKey, model))
  }

  async stop(): Promise<void> {
    this.stopped = true
    await Promise.all(this.running)
    for (const agent of this.agents) agent.destroy()
  }

  /** Whether every connection has seen this in its last request. */
  all(status: number, code: string | null): boolean {
    return this.seen.every((own) => own.at(-1)?.status === status && own.at(-1)?.code === code)
  }

  /** When the last request began that saw something else. */
  lastOtherMs(status: number, code: string | null): number {
    const others = this.seen.flat().filter((one) => one.status !== status || one.code !== code)
    return Math.max(...others.map(({ begunMs }) => begunMs))
  }

  served(): Promise<void> {
    return until('every connection is served', () => this.all(200, null))
  }

  private async run(agent: Agent, seen: Seen[], apiKey: string, model: string): Promise<void> {
    while (!this.stopped) {
      seen.push(await once(agent, apiKey, model))
      await sleep(10)
    }
  }
}

async function once(agent: Agent, apiKey: string, model: string): Promise<Seen> {
  const body = { model, max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] }
  const begunMs = performance.now()
  const { status, text } = await postBy(agent, `${stack.baseUrl}/v1/chat/completions`, apiKey, body)
  return { begunMs, status, code: status === 200 ? null : (JSON.parse(text) as ErrorBody).error.code }
}

type Changes = (args: string[], status: number, code: string | null) => Promise<void>

/**
 * Has commands run while clients use the key on every process, and asserts that all of them are soon answered like this,
 * and from then on without exception.
 */
async function whileUsed(apiKey: string, work: (changes: Changes) => Promise<void>): Promise<void> {
  const users = new Users(apiKey)
  const watch = new Stopwatch()
  try {
    await users.served()
    await work(async (args, status, code) => {
      const { code: exit, stderr } = await stack.cli(...args)
      assert.equal(exit, 0, stderr)
      const startedMs = performance.now()
      await until(`every connection sees ${status} ${code}`, () => users.all(status, code))
      watch.note(Math.max(0, users.lastOtherMs(status, code) - startedMs))
      const since = users.seen.map((own) => own.length)
      await until('they have gone on', () =>
        users.seen.every((own, i) => own.length >= itemOf(since, i) + REQUESTS_AFTER),
      )
      for (const [i, own] of users.seen.entries()) {
        for (const seen of own.slice(since[i])) assert.deepEqual([seen.status, seen.code], [status, code])
      }
    })
    watch.assertWithin(WITHIN_MS)
  } finally {
    await users.stop()
  }
}

async function keyOf(accountId: string): Promise<string> {
  const { json } = await stack.cli('key', 'list', accountId)
  return itemOf((json as { data: { key_id: string }[] }).data, 0).key_id
}

test('a paused key is rejected everywhere within a second, a resumed one is served, a revoked one is unknown', async () => {
  const { accountId, apiKey } = await stack.createAccount()
  const keyId = await keyOf(accountId)
  await whileUsed(apiKey, async (changes) => {
    await changes(['key', 'pause', keyId], 403, 'key_paused')
    await changes(['key', 'resume', keyId], 200, null)
    await changes(['key', 'revoke', keyId], 401, 'invalid_api_key')
  })
})

test('changed caps, allowlists and modes apply within a second', async () => {
  const { accountId, apiKey } = await stack.createAccount()
  const keyId = await keyOf(accountId)
  const update = ['key', 'update', keyId]
  await whileUsed(apiKey, async (changes) => {
    await changes([...update, '--cap-hour', '0.000001'], 402, 'spend_limit_exceeded')
    await changes([...update, '--cap-hour', 'none', '--model', 'test/other'], 403, 'model_not_allowed')
    await changes([...update, '--model', 'any', '--budget', '0.000001'], 402, 'key_budget_exceeded')
    await changes([...update, '--budget', 'none'], 200, null)
  })
})

test('a new key is served immediately', async () => {
  const { accountId } = await stack.createAccount()
  const made = await stack.cli('key', 'create', accountId)
  const { api_key: apiKey } = made.json as { api_key: string }
  completion(await chat(stack.baseUrl, apiKey, { model: M }))
})

test('a deposit can be spent within a second', async () => {
  const watch = new Stopwatch()
  for (let i = 0; i < 3; i++) {
    const { accountId, apiKey } = await stack.createAccount({ credits: '0.000001' })
    assertError(await chat(stack.baseUrl, apiKey, { model: M }), 402, 'insufficient_balance')
    const { code, stderr } = await stack.cli('account', 'credit', accountId, '--credits', '1')
    assert.equal(code, 0, stderr)
    await watch.until('it can be spent', async () => {
      const reply = await chat(stack.baseUrl, apiKey, { model: M })
      if (reply.status !== 402) completion(reply)
      return reply.status === 200
    })
  }
  watch.assertWithin(WITHIN_MS)
})
