// Goal: the public figures are served, tell nothing of fewer accounts than they say, and agree with each other.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { getAddress } from 'viem/utils'
import { DAY_MS, formatDay, parseDay } from '../../../contract/api/time.ts'
import { HEADS_LOG } from '../../../control/book/usagelog/head.ts'
import { parsePaymentsFile } from '../../../control/chain/paymentsFile.ts'
import { Signer } from '../../../control/chain/signer.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { indexJson } from '../../../control/statistics/indexJson.ts'
import { networkJson } from '../../../control/statistics/network.ts'
import { at } from '../../../control/statistics/pointer.ts'
import { PriceIndexes } from '../../../control/statistics/priceIndex.ts'
import { awayFromMidnight } from '../../support/awayFromTheHour.ts'
import { limits } from '../../support/limits.ts'
import { scalar, until } from '../../support/parts/ledger.ts'
import { type Stack, startStack, type TestAccount } from '../../support/stack.ts'

const LEAST = 3
const TOKEN = `0x${'ab'.repeat(20)}`

let stack: Stack
let pool: Pool
const accounts: TestAccount[] = []

before(async () => {
  await awayFromMidnight()
  const models = [{ id: 'test/small' }, { id: 'test/rare' }, { id: 'test/unused' }]
  stack = await startStack({ catalog: { models }, limits: { statsAccountsMin: LEAST, statisticsMs: 50 } })
  pool = createPool(stack.databaseUrl, limits)
  for (let i = 0; i < LEAST; i++) accounts.push(await stack.createAccount())
  for (const account of accounts) await chat(account, 'test/small')
  for (const account of accounts.slice(1)) await chat(account, 'test/rare')
  await stack.settled()
  const counted =
    'SELECT count(*) FROM statistics_cursors c JOIN usage_log_heads h USING (log) WHERE h.size > c.position'
  await until('all is counted', async () => (await scalar<number>(pool, counted)) === 0)
  // Figures that are quoted must not grow between two reads.
  const signed = `SELECT count(*) FROM usage_log_heads h
    WHERE h.log <> ${HEADS_LOG} AND h.size > coalesce((SELECT max(size) FROM log_heads l WHERE l.log = h.log), 0)`
  await until('all is in a checkpoint', async () => (await scalar<number>(pool, signed)) === 0)
})
after(async () => {
  await pool.end()
  await stack.finish()
})

async function chat({ apiKey }: TestAccount, model: string): Promise<void> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }),
  })
  assert.equal(response.status, 200)
  await response.text()
}

async function read(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(stack.baseUrl + path)
  assert.equal(response.status, 200, path)
  return (await response.json()) as Record<string, unknown>
}

test('statistics include a model that enough accounts used, and omit others', async () => {
  const stats = await read('/v1/stats?days=7')
  assert.equal(at(stats, '/accounts_min'), LEAST)
  assert.equal(at(stats, '/total/requests'), LEAST)
  assert.equal(at(stats, '/total/ok'), LEAST)
  assert.equal(at(stats, '/total/success_rate'), '1')
  assert.equal(at(stats, '/models/0/model'), 'test/small')
  assert.equal((at(stats, '/models') as unknown[]).length, 1)
  assert.equal(at(stats, '/total/latency_ms/count'), LEAST)
  assert.equal(typeof at(stats, '/total/latency_ms/p99'), 'number')
  const { rows } = await pool.query<{ units: number; tokens: number }>(
    `SELECT sum(charge_units) AS units, sum(input_tokens + cached_input_tokens + output_tokens) AS tokens
     FROM receipts WHERE model = 'test/small'`,
  )
  assert.equal(at(stats, '/total/charge/units'), String(rows[0]?.units))
  assert.equal(at(stats, '/total/tokens/total'), rows[0]?.tokens)
  assert.equal((await fetch(`${stack.baseUrl}/v1/stats?days=32`)).status, 400)
  const rare = await read('/v1/stats?days=32&model=test/rare')
  assert.deepEqual([at(rare, '/total/requests'), at(rare, '/all_time/requests')], [0, 0])
  assert.deepEqual([at(rare, '/days'), at(rare, '/models')], [[], []])
})

test('rankings include the same models, and their makers', async () => {
  const models = await read('/v1/rankings?over=day&by=growth')
  assert.deepEqual([at(models, '/data/0/id'), at(models, '/data/0/growth')], ['test/small', null])
  assert.equal(at(models, '/data/0/is_new'), true)
  assert.equal((at(models, '/data') as unknown[]).length, 1)
  const makers = await read('/v1/rankings?of=makers')
  assert.deepEqual([at(makers, '/data/0/id'), at(makers, '/data/0/requests')], ['test', LEAST])
})

test('the index begins with equal weights of all models', async () => {
  const index = await read('/v1/index?days=2')
  assert.deepEqual([at(index, '/basket/id'), at(index, '/basket/weights')], [1, 'equal'])
  assert.deepEqual(
    (at(index, '/basket/models') as { model: string }[]).map(({ model }) => model),
    ['test/rare', 'test/small', 'test/unused'],
  )
  assert.deepEqual([at(index, '/data/0/value'), at(index, '/data/0/price_sheet')], ['100', '1'])
  assert.equal((await fetch(`${stack.baseUrl}/v1/index?basket=2`)).status, 404)
})

test('the index has a value of the last day of each month', async () => {
  const nowMs = Date.now() + 91 * DAY_MS
  const monthly = await indexJson(
    new PriceIndexes(pool, limits),
    { every: 'month', days: 92, basket: 1 },
    limits,
    nowMs,
  )
  assert.deepEqual([monthly.baskets, monthly.data[0]?.value], [[1], '100'])
  const days = monthly.data.map(({ day }) => day)
  const today = Math.floor(nowMs / DAY_MS)
  const all = Array.from({ length: 92 }, (_, i) => formatDay(today - 91 + i))
  const nextOf = (day: string) => formatDay((parseDay(day) ?? 0) + 1)
  assert.deepEqual(
    days,
    all.filter((day, i) => i === 91 || nextOf(day).endsWith('-01')),
  )
})

test('every figure to quote equals the response of its source', async () => {
  const { data } = (await read('/v1/ecosystem')) as { data: Record<string, string>[] }
  const named = new Map(data.map((figure) => [figure['name'], figure]))
  for (const [name, { source, pointer, value }] of named) {
    const answer = await read(String(source))
    if (pointer !== null) assert.deepEqual(at(answer, String(pointer)), value, name)
  }
  const quotedValue = (name: string): unknown => named.get(name)?.['value']
  const { models } = (await read('/v1/pricing')) as { models: { owned_by: string; routes: { provider: string }[] }[] }
  assert.equal(quotedValue('models'), models.length)
  assert.equal(quotedValue('makers'), new Set(models.map(({ owned_by }) => owned_by)).size)
  assert.equal(
    quotedValue('providers'),
    new Set(models.flatMap(({ routes }) => routes.map((route) => route.provider))).size,
  )
  // All requests, also those that the public statistics hold back, and what leaves usage out says so.
  assert.equal(quotedValue('requests_total'), await scalar<number>(pool, 'SELECT count(*) FROM receipts'))
  assert.equal(quotedValue('requests_published'), LEAST)
  const isLeftOut = (name: string): unknown => named.get(name)?.['left_out']
  assert.deepEqual(['requests_total', 'requests_published', 'tokens_total', 'success_rate', 'models'].map(isLeftOut), [
    false,
    true,
    true,
    true,
    false,
  ])
  assert.equal(quotedValue('price_index'), '100')
  assert.equal(quotedValue('agents_active'), 0)
  assert.equal(quotedValue('uptime'), null)
})

test('/v1/network returns the configured parts of the network', async () => {
  const network = await read('/v1/network')
  assert.deepEqual([at(network, '/base_url'), at(network, '/chain')], [null, null])
  assert.equal(at(network, '/endpoints/mcp'), '/mcp')
  assert.match(String(at(network, '/log/key')), /^[^+]+\+[0-9a-f]{8}\+/)
  assert.equal(at(network, '/versions/price_sheet'), '1')

  const token = `address: "${TOKEN}", decimals: 6, name: USD, version: "1"`
  const file = parsePaymentsFile(
    'payments.yaml',
    `chain_id: 5\nstablecoin: { ${token}, usd: "1" }\nsettlement_anchor: "${TOKEN}"\n`,
  )
  const treasury = new Signer(`0x${'1'.repeat(64)}`)
  const payments = { ...file, rpcUrl: 'http://127.0.0.1:1', treasury, relayers: [treasury] as const }
  const parts = { publicUrl: new URL('https://gateway.example/'), payments }
  const { base_url: base, endpoints, chain, log } = await networkJson(pool, parts)
  assert.deepEqual([base, endpoints.mcp], ['https://gateway.example', 'https://gateway.example/mcp'])
  assert.deepEqual([chain?.network, chain?.treasury], ['eip155:5', getAddress(treasury.address)])
  assert.deepEqual(
    chain?.assets.map(({ id, address, usd }) => [id, address, usd]),
    [['stablecoin', getAddress(TOKEN), '1']],
  )
  assert.equal(chain?.contracts.settlement_anchor, getAddress(TOKEN))
  assert.equal(endpoints.settlements, 'https://gateway.example/v1/settlements')
  assert.equal(log, null)
})

/** The members of an answer, those of all entries of a list together. */
function membersOf(answer: unknown, path = ''): string[] {
  if (Array.isArray(answer)) return [...new Set(answer.flatMap((entry) => membersOf(entry, `${path}/*`)))]
  if (typeof answer !== 'object' || answer === null) return []
  return Object.entries(answer).flatMap(([name, value]) => [`${path}/${name}`, ...membersOf(value, `${path}/${name}`)])
}

test('the API reference lists exactly the returned members', async () => {
  const text = readFileSync(join(projectRoot, 'docs/reference/statistics.md'), 'utf8')
  const shown = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block]) => JSON.parse(block ?? '') as unknown)
  const paths = ['/v1/stats?days=7', '/v1/rankings', '/v1/index?days=2', '/v1/network', '/v1/ecosystem']
  assert.equal(shown.length, paths.length)
  for (const [i, path] of paths.entries()) {
    assert.deepEqual(membersOf(shown[i]).sort(), membersOf(await read(path)).sort(), path)
  }
})
