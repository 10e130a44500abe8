import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NO_CAPS } from '../../../contract/money/windows.ts'
import { hashSecret } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { ReusedRefError } from '../../../control/book/ledger/reusedRefError.ts'
import {
  accountBalance,
  accountOf,
  creditAccount,
  listAccounts,
  openNewAccount,
  UnknownAccountError,
} from '../../../control/identity/accounts/accounts.ts'
import { createKey, listKeys, revokeKey, UnknownKeyError, updateKey } from '../../../control/identity/keys/keys.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { resolveKey } from '../../../control/service/keyRecords.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})
after(() => pool.end())

test('an account is opened with credits and coin, and admission is notified', async () => {
  const expiresAtMs = Date.now() + 1_000_000
  const id = await openNewAccount(pool, limits, {
    name: 'one',
    creditUnits: 10,
    coinNanos: 7,
    source: 'welcome',
    expiresAtMs,
  })
  assert.equal((await accountOf(pool, id))?.name, 'one')
  const balance = await accountBalance(pool, id)
  assert.equal(balance.coinNanos, 7)
  assert.deepEqual(
    balance.grants.map(({ units, source, expiresAtMs: end }) => ({ units, source, end })),
    [{ units: 10, source: 'welcome', end: expiresAtMs }],
  )
  const events = await pool.query('SELECT seq FROM admission_events WHERE account_id = $1 ORDER BY seq', [id])
  assert.deepEqual(
    events.rows.map((row) => row.seq),
    [1, 2, 3],
  )
})

test('a payment with a reference is credited once', async () => {
  const id = await openNewAccount(pool, limits)
  const credit = () =>
    withTransaction(pool, (client) => creditAccount(client, id, { coinNanos: 5, creditUnits: 3, ref: 'p1' }, limits))
  await credit()
  await credit()
  const balance = await accountBalance(pool, id)
  assert.deepEqual([balance.coinNanos, balance.grants.length, balance.grants[0]?.units], [5, 1, 3])
  const yearMs = 365 * 86_400_000
  assert.ok(Math.abs((balance.grants[0]?.expiresAtMs ?? 0) - Date.now() - yearMs) < 60_000)
})

test('a reference names a payment of one account, and its amounts never change', async () => {
  const [first, second] = [await openNewAccount(pool, limits), await openNewAccount(pool, limits)]
  const credit = (id: string, amounts: { coinNanos?: number; creditUnits?: number }) =>
    withTransaction(pool, (client) => creditAccount(client, id, { ...amounts, ref: 'shared' }, limits))
  for (const id of [first, second]) {
    assert.equal(await credit(id, { coinNanos: 5, creditUnits: 3 }), true)
    assert.equal(await credit(id, { coinNanos: 5, creditUnits: 3 }), false)
  }
  const others = [
    { coinNanos: 5 },
    { creditUnits: 3 },
    { coinNanos: 5, creditUnits: 4 },
    { coinNanos: 6, creditUnits: 3 },
  ]
  for (const amounts of others) await assert.rejects(credit(second, amounts), ReusedRefError)
  for (const id of [first, second]) {
    const balance = await accountBalance(pool, id)
    assert.deepEqual([balance.coinNanos, balance.grants.map(({ units }) => units)], [5, [3]])
  }
  const third = await openNewAccount(pool, limits)
  const atOnce = await Promise.all([1, 2, 3].map(() => credit(third, { creditUnits: 9 })))
  assert.equal(atOnce.filter(Boolean).length, 1)
})

test('an unknown account is named in the error', async () => {
  const credit = withTransaction(pool, (client) => creditAccount(client, 'acct_none', { coinNanos: 5 }, limits))
  await assert.rejects(credit, UnknownAccountError)
  await assert.rejects(accountBalance(pool, 'acct_none'), UnknownAccountError)
  assert.equal(await accountOf(pool, 'acct_none'), undefined)
})

test('accounts are listed in pages', async () => {
  const [first] = await listAccounts(pool, 1)
  const rest = await listAccounts(pool, 100, first?.id)
  assert.ok(first && !rest.some((account) => account.id === first.id))
})

test('a key resolves to its settings; its secret is stored nowhere', async () => {
  const accountId = await openNewAccount(pool, limits)
  const { key, secret } = await createKey(pool, accountId, {
    name: 'ci',
    caps: { hour: 0, day: 5 },
    models: ['test/small'],
    noLogs: true,
    requestsPerMinute: 30,
  })
  assert.match(secret, /^sk_[0-9A-Za-z]{43}$/)
  const stored = await pool.query<{ row: string }>('SELECT api_keys::text AS row FROM api_keys WHERE id = $1', [key.id])
  assert.ok(!stored.rows[0]?.row.includes(secret.slice(3)))
  const record = await resolveKey(pool, hashSecret(secret))
  assert.equal(record.keyId, key.id)
  assert.equal(record.accountId, accountId)
  assert.equal(record.shard, shardOf(accountId))
  assert.deepEqual(record.caps, [
    { span: 'hour', units: 0 },
    { span: 'day', units: 5 },
  ])
  assert.deepEqual([record.models, record.noLogs, record.privateTier], [['test/small'], true, false])
  assert.deepEqual([record.requestsPerMinute, record.expiresAtMs, record.paused], [30, 0, false])
})

test('an update changes only the fields that it names', async () => {
  const { key } = await createKey(pool, await openNewAccount(pool, limits), {
    caps: { hour: 9, life: 10 },
    models: ['a'],
    privateTier: true,
  })
  const changed = await updateKey(pool, key.id, { caps: { hour: null }, paused: true, models: [] })
  assert.deepEqual(changed, { ...key, caps: { ...NO_CAPS, life: 10 }, paused: true, models: [] })
  assert.deepEqual(await updateKey(pool, key.id, {}), changed)
})

test('revoked, expired and unknown keys do not resolve; a paused one does', async () => {
  const accountId = await openNewAccount(pool, limits)
  const paused = await createKey(pool, accountId, { paused: true })
  assert.equal((await resolveKey(pool, paused.key.hash)).paused, true)
  const expired = await createKey(pool, accountId, { expiresAtMs: Date.now() - 1_000 })
  await assert.rejects(resolveKey(pool, expired.key.hash), { code: 'invalid_api_key', status: 401 })
  const revoked = await createKey(pool, accountId)
  const first = await revokeKey(pool, revoked.key.id)
  assert.deepEqual(await revokeKey(pool, revoked.key.id), first)
  await assert.rejects(resolveKey(pool, revoked.key.hash), { code: 'invalid_api_key' })
  await assert.rejects(resolveKey(pool, hashSecret('sk_unknown')), { code: 'invalid_api_key' })
  await assert.rejects(updateKey(pool, revoked.key.id, { paused: true }), UnknownKeyError)
  await assert.rejects(updateKey(pool, 'key_none', { paused: true }), UnknownKeyError)
  assert.equal((await listKeys(pool, accountId)).length, 3)
})
