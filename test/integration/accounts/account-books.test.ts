// Goal: what an owner reads of balance, credits, usage, statement and receipts is what the ledger has, to the unit. Method:
// chat by several keys and models, grants that expire, and sums over every view.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseUsd } from '../../../contract/money/units.ts'
import { creditAccount } from '../../../control/identity/accounts/accounts.ts'
import { createPool, type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { awayFromMidnight } from '../../support/awayFromTheHour.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { readCsv, statementUnits } from '../../support/csv.ts'
import { limits } from '../../support/limits.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const MODELS = ['test/small', 'test/other']
const MONTH = () => new Date().toISOString().slice(0, 7)

let stack: Stack
let url: string
let pool: Pool

before(async () => {
  await awayFromMidnight()
  const catalog = {
    coinUsd: '0.5',
    models: [...MODELS.map((id) => ({ id })), { id: 'test/broken', upstream: 'x,status=500' }],
  }
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 }
  stack = await startStack({
    catalog,
    limits: { ...rates, statementPageMax: 7, grantSweepMs: 200, receiptsPageMax: 10 },
  })
  url = stack.baseUrl
  pool = createPool(stack.databaseUrl, limits)
})

after(async () => {
  await pool.end()
  await stack.finish()
})

interface Account extends Json {
  readonly balance: { coin: string; credits: string }
  readonly available: { coin: string; credits: string }
  readonly credits: { amount: string; source: string; expires_at: string }[]
}

interface Usage extends Json {
  readonly total: { requests: number; output_tokens: number; cost: { units: string } }
  readonly data: (Json & { requests: number; cost: { units: string } })[]
  readonly has_more: boolean
  readonly next: string | null
}

const get = <Body = Json>(owner: Owner, path: string): Promise<Body> =>
  apiOk<Body>(url, 'GET', path, { token: owner.token })
const units = (usd: string): number => parseUsd(usd) ?? assert.fail(usd)
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0)

async function newKey(owner: Owner): Promise<string> {
  return (await apiOk<{ api_key: string }>(url, 'POST', '/v1/account/keys', { token: owner.token, body: {} })).api_key
}

/** Every page of a list, in one. */
async function all<Entry>(owner: Owner, path: string, idOf: (entry: Entry) => string): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let after = ''; ; ) {
    const page = await get<{ data: Entry[]; has_more: boolean }>(owner, `${path}?limit=10${after}`)
    entries.push(...page.data)
    if (!page.has_more) return entries
    after = `&after=${idOf(page.data.at(-1) as Entry)}`
  }
}

test('usage, statement, receipts and ledger agree to the unit', async () => {
  const owner = await newOwner(stack, { credits: '0.0005', coin: '3' })
  const keys = [owner.apiKey, await newKey(owner), await newKey(owner)]
  const charged: Receipt[] = []
  for (let i = 0; i < 24; i++) {
    const model = MODELS[i % 2] ?? ''
    charged.push(completion(await chat(url, keys[i % 3] ?? '', { model, max_tokens: 5 + i })).receipt)
  }
  assertError(await chat(url, owner.apiKey, { model: 'test/broken' }), 502, 'upstream_unavailable')
  await stack.settled()
  const spent = sum(charged.map((receipt) => Number(receipt.cost.units)))

  const receipts = await all<Receipt>(owner, '/v1/receipts', (receipt) => receipt.request_id)
  assert.equal(receipts.length, 25)
  assert.equal(sum(receipts.map((receipt) => Number(receipt.cost.units))), spent)
  const ofKey = await apiOk<{ data: Receipt[] }>(url, 'GET', '/v1/receipts', { token: keys[1] ?? '' })
  assert.equal(ofKey.data.length, 8)

  const text = await (await fetch(`${url}/v1/statements/${MONTH()}.csv`, { headers: bearer(owner) })).text()
  const lines = readCsv(text)
  const charges = lines.filter((line) => line['type'] === 'charge')
  assert.deepEqual(
    charges.map((line) => line['reference']).sort(),
    charged.map((receipt) => receipt.request_id).sort(),
    'every charge once, over all parts of the answer',
  )
  assert.equal(sum(charges.map((line) => statementUnits(line['amount_usd']))), -spent)
  const ledger = await pool.query<{ nanos: number }>(
    "SELECT sum(balance) AS nanos FROM ledger_accounts WHERE owner = $1 AND kind = 'coin'",
    [owner.accountId],
  )
  assert.equal(sum(lines.map((line) => statementUnits(line['coin']))), ledger.rows[0]?.nanos)
  assert.deepEqual(
    lines
      .slice(0, 2)
      .map((line) => [line['type'], line['amount_usd']])
      .sort(),
    [
      ['credit_grant', '0.0005'],
      ['payment', '1.5'],
    ],
  )
  assert.equal(sum(charges.map((line) => statementUnits(line['credits_usd']))), -units('0.0005'), 'credits first')
  const times = lines.map((line) => String(line['time']))
  assert.ok(sum(times.map((time, i) => Number(i > 0 && time < (times[i - 1] ?? '')))) <= 1, 'in the order of time')

  const usage = await get<Usage>(owner, '/v1/account/usage?group_by=day,model,key')
  assert.deepEqual([usage.total.requests, usage.total.cost.units], [25, String(spent)])
  assert.equal(sum(usage.data.map((group) => Number(group.cost.units))), spent)
  assert.equal(sum(usage.data.map((group) => group.requests)), 25)
  assert.equal(usage.total.output_tokens, sum(charged.map((receipt) => receipt.usage.completion_tokens)))
  const account = await get<Account>(owner, '/v1/account')
  assert.deepEqual(account.balance, account.available)
  assert.deepEqual([account.balance.credits, account.credits], ['0', []])
  assert.equal(2 * (units('1.5') - (spent - units('0.0005'))), units(account.balance.coin), 'a coin is 0.5 USD')
  // The command line runs with --json in tests.
  const cli = await stack.cli('account', 'statement', owner.accountId, MONTH())
  const json = await fetch(`${url}/v1/statements/${MONTH()}.json`, { headers: bearer(owner) })
  assert.equal(cli.stdout, await json.text())
  assert.equal((JSON.parse(cli.stdout) as { data: unknown[] }).data.length, lines.length)
  const head = await fetch(`${url}/v1/statements/${MONTH()}.csv`, { method: 'HEAD', headers: bearer(owner) })
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, null], 'its length is not known yet')
})

const bearer = (owner: Owner) => ({ authorization: `Bearer ${owner.token}` })

test('usage is grouped, filtered and paged', async () => {
  const owner = await newOwner(stack)
  for (const model of [...MODELS, ...MODELS]) completion(await chat(url, owner.apiKey, { model, max_tokens: 1 }))
  await stack.settled()
  const byModel = await get<Usage>(owner, '/v1/account/usage?group_by=model')
  assert.deepEqual(
    byModel.data.map((group) => [group['model'], group.requests, group['day'], group['key_id']]),
    [...MODELS].sort().map((model) => [model, 2, undefined, undefined]),
  )
  const byMonth = await get<Usage>(owner, '/v1/account/usage?group_by=month,platform_key')
  assert.equal(sum(byMonth.data.map((group) => group.requests)), 4)
  for (const group of byMonth.data) {
    assert.match(String(group['month']), /^\d{4}-\d{2}$/)
    assert.deepEqual([group['day'], group['platform_key_id']], [undefined, null])
  }
  const one = await get<Usage>(owner, `/v1/account/usage?model=${MODELS[0]}`)
  assert.deepEqual([one.total.requests, one.data.length], [2, 1])
  const first = await get<Usage>(owner, '/v1/account/usage?group_by=model,day&limit=1')
  assert.deepEqual([first.data.length, first.has_more], [1, true])
  const query = `group_by=model,day&limit=1&after=${first.next}`
  const second = await get<Usage>(owner, `/v1/account/usage?${query}`)
  assert.deepEqual([second.data[0]?.['model'], second.has_more, second.next], [[...MODELS].sort()[1], false, null])
  const before = await get<Usage>(owner, '/v1/account/usage?from=2020-01-01&to=2020-02-01')
  assert.deepEqual([before.total.requests, before.data], [0, []])
  for (const [refused, param] of [
    ['from=2020-02-30', 'from'],
    ['from=2027-02-01&to=2027-01-01', 'to'],
    ['from=2020-01-01&to=2022-01-01', 'to'],
    ['group_by=hour', 'group_by'],
    ['after=nonsense', 'after'],
    [`group_by=day&after=${first.next}`, 'after'],
    [`after=${Buffer.from('[1e12]').toString('base64url')}`, 'after'],
    ['key=sk_1', 'key'],
  ]) {
    assertRefused(await api(url, 'GET', `/v1/account/usage?${refused}`, { token: owner.token }), 400, null, param)
  }
  const cli = await stack.cli('account', 'usage', owner.accountId, '--by', 'model')
  assert.deepEqual((cli.json as Usage).data, byModel.data)
})

test('a key reads its own usage, whichever key it asks for; a session that of the account', async () => {
  const owner = await newOwner(stack)
  const other = await apiOk<{ id: string; api_key: string }>(url, 'POST', '/v1/account/keys', {
    token: owner.token,
    body: { name: 'other' },
  })
  for (const key of [owner.apiKey, owner.apiKey, other.api_key]) {
    completion(await chat(url, key, { model: MODELS[0] ?? '', max_tokens: 1 }))
  }
  await stack.settled()
  const requests = async (token: string, query = '') =>
    (await apiOk<Usage>(url, 'GET', `/v1/usage?group_by=month,model${query}`, { token })).total.requests
  assert.equal(await requests(owner.token), 3)
  assert.equal(await requests(owner.token, `&key=${other.id}`), 1)
  assert.equal(await requests(owner.apiKey), 2)
  assert.equal(await requests(owner.apiKey, `&key=${other.id}`), 2)
  assert.equal(await requests(other.api_key), 1)
  for (const group of ['tag', 'outcome', 'hour'])
    assertRefused(await api(url, 'GET', `/v1/usage?group_by=${group}`, { token: owner.apiKey }), 400, null, 'group_by')
})

test('credits are spent soonest-expiring first, and the remainder expires in the ledger', async () => {
  const owner = await newOwner(stack, { credits: '0.002' })
  const expiresAtMs = Date.now() + 20_000
  const soon = new Date(expiresAtMs).toISOString()
  const grant = { creditUnits: units('1'), source: 'welcome', expiresAtMs }
  await withTransaction(pool, (client) => creditAccount(client, owner.accountId, grant, limits))
  await until('it can be spent', async () => {
    return (await get<Account>(owner, '/v1/account')).available.credits === '1.002'
  })
  const before = await get<Account>(owner, '/v1/account')
  assert.equal(before.balance.credits, '1.002')
  assert.deepEqual(
    [before.credits[0]?.source, before.credits[0]?.amount, before.credits[0]?.expires_at],
    ['welcome', '1', soon],
  )
  const { receipt } = completion(await chat(url, owner.apiKey, { model: MODELS[0] ?? '', max_tokens: 3 }))
  await stack.settled()
  const left = units('1') - Number(receipt.cost.units)
  assert.equal(units((await get<Account>(owner, '/v1/account')).credits[0]?.amount ?? ''), left)
  await until('the grant has expired', async () => {
    const { balance } = await get<Account>(owner, '/v1/account')
    return balance.credits === '0.002'
  })
  const expiries = () =>
    pool.query<{ units: number; credit: string }>(
      `SELECT t.units, t.credit FROM transfers t JOIN grants g ON t.debit = 'grant:' || g.id
       WHERE t.kind = 'expire' AND g.account_id = $1`,
      [owner.accountId],
    )
  await until('the job has booked it', async () => (await expiries()).rowCount === 1)
  assert.deepEqual((await expiries()).rows, [{ units: left, credit: 'house' }])
  const account = await get<Account>(owner, '/v1/account')
  assert.deepEqual([account.credits.length, account.available.credits], [1, '0.002'])
  const { data } = await get<{ data: Json[] }>(owner, '/v1/account/activity')
  const expired = data.find((entry) => entry['type'] === 'credits.expired')
  assert.deepEqual(expired?.['actor'], { type: 'gateway', id: null })
  const details = expired?.['details'] as { amount: string } | undefined
  assert.equal(units(details?.amount ?? ''), left)
  const text = await (await fetch(`${url}/v1/statements/${MONTH()}.csv`, { headers: bearer(owner) })).text()
  const line = readCsv(text).find((entry) => entry['type'] === 'credit_expiry')
  assert.equal(statementUnits(line?.['credits_usd']), -left)
  // Another pass must not take it again.
  await sleep(500)
  assert.equal((await expiries()).rowCount, 1)
})

test('every change is in the activity list with its actor, newest first', async () => {
  const owner = await newOwner(stack)
  const { token, accountId } = owner
  const made = await api<{ id: string }>(url, 'POST', '/v1/account/keys', { token, body: { name: 'app', budget: '1' } })
  const id = made.body.id
  await api(url, 'PATCH', `/v1/account/keys/${id}`, { token, body: { paused: true, budget: null } })
  await stack.cli('key', 'resume', id)
  await api(url, 'DELETE', `/v1/account/keys/${id}`, { token })
  await api(url, 'DELETE', `/v1/account/keys/${id}`, { token })
  await api(url, 'POST', '/v1/account/keys', { token, body: { name: 7 } })
  const entries = await all<Json>(owner, '/v1/account/activity', (entry) => String(entry['id']))
  const wallet = owner.wallet.address.toLowerCase()
  assert.deepEqual(
    entries.map((entry) => [entry['type'], entry['target'], Object.values(entry['actor'] as Json)]),
    [
      ['key.revoked', id, ['wallet', wallet]],
      ['key.updated', id, ['operator', null]],
      ['key.updated', id, ['wallet', wallet]],
      ['key.created', id, ['wallet', wallet]],
      ['session.created', entries[4]?.['target'], ['wallet', wallet]],
      ['key.created', entries[5]?.['target'], ['operator', null]],
      ['wallet.linked', wallet, ['operator', null]],
      ['credits.granted', entries[7]?.['target'], ['operator', null]],
      ['account.created', accountId, ['operator', null]],
    ],
  )
  assert.deepEqual(entries[2]?.['details'], { paused: true, budget: null })
  assert.equal(entries[3]?.['request_id'], made.headers.get('x-request-id'))
  assert.equal(entries[3]?.['client_address'], '127.0.0.1')
  const cli = await stack.cli('account', 'activity', accountId)
  assert.deepEqual((cli.json as { data: Json[] }).data, entries)
  await assert.rejects(pool.query('DELETE FROM activity'), /append only/)
})

test('statements of invalid or future months are rejected; a statement without movements has only the headings', async () => {
  const owner = await newOwner(stack)
  for (const month of ['2026-13', '2026-1', '2999-01', 'last', '2026-01-01']) {
    assertRefused(await api(url, 'GET', `/v1/statements/${month}.csv`, { token: owner.token }), 400, null, 'month')
  }
  assertRefused(await api(url, 'GET', `/v1/statements/${MONTH()}`, { token: owner.token }), 404, 'not_found')
  const empty = await api(url, 'GET', '/v1/statements/2020-01.csv', { token: owner.token })
  assert.equal(empty.text.split('\r\n').length, 2)
  assert.equal(empty.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(empty.headers.get('content-disposition'), 'attachment; filename="sluice-statement-2020-01.csv"')
  assert.equal(empty.headers.get('cache-control'), 'private, no-store')
})
