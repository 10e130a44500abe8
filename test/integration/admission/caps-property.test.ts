import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Served } from '../../../mock/main.ts'
import { chat, type Receipt } from '../../support/clients/chatClient.ts'
import { itemOf } from '../../support/present.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { rounds } from '../../support/rounds.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const RUNS = rounds({ short: 3, long: 20 })
const START_UNITS = 1_000_000_000
const ENDS = ['ok', 'cut', 'fails', 'fails over', 'leaves', 'refused', 'rejected'] as const
const MODELS: Record<(typeof ENDS)[number], string> = {
  ok: 'test/ok',
  cut: 'test/cut',
  fails: 'test/fails',
  'fails over': 'test/fails-over',
  leaves: 'test/slow',
  refused: 'test/ok',
  rejected: 'test/rejected',
}

interface Step {
  readonly account: number
  readonly key: number
  readonly end: (typeof ENDS)[number]
  readonly stream: boolean
  readonly maxTokens: number | undefined
  /** When a client that leaves does so. */
  readonly afterMs: number
}

interface Account {
  readonly accountId: string
  readonly keys: string[]
}

let stack: Stack
let accounts: Account[]

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { breakerFailures: 1_000_000 },
    catalog: {
      models: [
        { id: 'test/ok', upstream: 'mock,chunks=20,cached=2' },
        { id: 'test/cut', upstream: 'mock,chunks=20,cut=4' },
        { id: 'test/fails', upstream: 'mock,error=500' },
        { id: 'test/slow', upstream: 'mock,chunks=60,delay=5' },
        { id: 'test/rejected', upstream: 'mock,error=400' },
        {
          id: 'test/fails-over',
          routes: [
            { provider: 'mock', model: 'mock,reset' },
            { provider: 'mock', model: 'mock,chunks=9' },
          ],
        },
      ],
    },
  })
  accounts = await Promise.all([newAccount(['--credits', '1']), newAccount(['--credits', '0.5', '--coin', '0.5'])])
})

after(() => stack.finish())

/** An account with a key that has no cap and one with caps that are soon reached. */
async function newAccount(money: string[]): Promise<Account> {
  const made = await stack.cli('account', 'create', ...money)
  const { account_id: accountId, api_key: first } = made.json as { account_id: string; api_key: string }
  const capped = await stack.cli('key', 'create', accountId, '--cap-hour', '0.001', '--budget', '0.002')
  return { accountId, keys: [first, (capped.json as { api_key: string }).api_key] }
}

/** Runs one request to its end; the status it was answered with, or 0 when the client left. */
async function take({ account, key, end, stream, maxTokens, afterMs }: Step): Promise<number> {
  const apiKey = itemOf(itemOf(accounts, account).keys, key)
  const body = {
    model: MODELS[end],
    stream,
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(end === 'refused' ? { temperature: 9 } : {}),
  }
  if (end === 'leaves') return leave(apiKey, body, afterMs)
  return (await chat(stack.baseUrl, apiKey, body)).status
}

function leave(apiKey: string, body: object, afterMs: number): Promise<number> {
  return new Promise((resolve) => {
    const call = request(`${stack.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    })
    call.on('error', () => undefined)
    call.on('response', (response) => response.on('error', () => undefined).resume())
    call.end(JSON.stringify({ messages: [{ role: 'user', content: 'hello' }], ...body }))
    setTimeout(() => {
      call.destroy()
      resolve(0)
    }, afterMs)
  })
}

async function receiptsOf(apiKey: string): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  for (;;) {
    const last = receipts.at(-1)
    const query = last === undefined ? '' : `&after=${last.request_id}`
    const response = await fetch(`${stack.baseUrl}/v1/receipts?limit=100${query}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    })
    const page = (await response.json()) as { data: Receipt[]; has_more: boolean }
    receipts.push(...page.data)
    if (!page.has_more) return receipts
  }
}

function assertFits(receipt: Receipt, log: readonly Served[]): void {
  const lines = log.filter((line) => line.request_id === receipt.request_id)
  const units = Number(receipt.cost.units)
  assert.ok(units <= Number(receipt.hold.units), `${receipt.request_id} is charged more than it held`)
  switch (receipt.status) {
    case 'ok':
      assertReconciled(receipt, log)
      break
    case 'partial': {
      const sent = Math.max(...lines.map((line) => line.frames_sent))
      assert.ok(receipt.usage.completion_tokens <= sent, `${receipt.request_id} is charged for more than was sent`)
      break
    }
    default:
      assert.equal(receipt.status, 'failed')
      assert.equal(units, 0)
  }
}

async function checkBooks(served: number): Promise<void> {
  await stack.settled()
  await stack.audit()
  const log = await stack.provider.log()
  let ok = 0
  for (const { accountId, keys } of accounts) {
    const receipts = (await Promise.all(keys.map(receiptsOf))).flat()
    assert.equal(new Set(receipts.map((receipt) => receipt.request_id)).size, receipts.length)
    for (const receipt of receipts) assertFits(receipt, log)
    ok += receipts.filter((receipt) => receipt.status === 'ok').length
    const charged = receipts.reduce((sum, receipt) => sum + Number(receipt.cost.units), 0)
    const { json } = await stack.cli('account', 'show', accountId)
    const { balance } = json as { balance: { coin: string; credits: string } }
    const left = Math.round((Number(balance.coin) + Number(balance.credits)) * 1e9)
    assert.equal(left, START_UNITS - charged)
  }
  assert.ok(ok >= served, `${served} requests were answered whole, but ${ok} receipts say so`)
}

const step: fc.Arbitrary<Step> = fc.record({
  account: fc.nat(1),
  key: fc.nat(1),
  end: fc.constantFrom(...ENDS),
  stream: fc.boolean(),
  maxTokens: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
  afterMs: fc.nat(250),
})

test('charges equal the usage that the provider reported, and the books balance, however requests end', async () => {
  let served = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
      const statuses = await Promise.all(steps.map(take))
      for (const [i, { end, stream }] of steps.entries()) {
        if (end === 'refused') assert.equal(statuses[i], 400)
        if (statuses[i] === 200 && (end === 'ok' || end === 'fails over')) served++
        if (end === 'cut' && !stream) assert.ok(statuses[i] === 502 || statuses[i] === 402)
      }
      await checkBooks(served)
    }),
    // A run that failed has changed the books, so a smaller one would prove nothing.
    { numRuns: RUNS, endOnFailure: true },
  )
  assert.ok(served > 0)
})
