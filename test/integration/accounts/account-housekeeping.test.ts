// Goal: what has expired is forgotten, and nothing else. Method: rows of each kind in the book, on both sides of their end.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { removeExpired } from '../../../control/api/housekeeper.ts'
import { fingerprintOf, keepFirstAnswer, takeIdempotencyKey } from '../../../control/api/idempotency.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { useNonce } from '../../../control/identity/sessions/nonces.ts'
import { beginSession } from '../../../control/identity/sessions/sessions.ts'
import { newLinkCode, takeLinkCode } from '../../../control/identity/wallets/linkCodes.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { type Book, scalar, startBook } from '../../support/parts/ledger.ts'

const TABLES = ['sessions', 'used_nonces', 'link_codes', 'idempotency_keys']
const REQUEST = { caller: 'acct_1', key: 'once', fingerprint: fingerprintOf('POST', '/v1/x', '', {}) }

let book: Book
let accountId: string

before(async () => {
  book = await startBook()
  accountId = await openNewAccount(book.pool, limits)
})

after(() => book.stop())

/** A row in each table. @returns the one-time code */
function fill(round: string): Promise<string> {
  return withTransaction(book.pool, async (client) => {
    await beginSession(client, OPERATOR, `0x${round.repeat(40)}`, limits)
    assert.equal(await useNonce(client, round, Date.now() + 60_000), true)
    assert.equal(await takeIdempotencyKey(client, { ...REQUEST, key: round }, limits), undefined)
    await keepFirstAnswer(client, { ...REQUEST, key: round }, { status: 200, body: '{}' })
    return (await newLinkCode(client, OPERATOR, accountId, limits)).code
  })
}

const counts = async () => {
  const all = await Promise.all(TABLES.map((table) => scalar<number>(book.pool, `SELECT count(*) FROM ${table}`)))
  return all.join()
}

async function letExpire(): Promise<void> {
  for (const table of TABLES.slice(0, 3)) await book.pool.query(`UPDATE ${table} SET expires_at = now()`)
  await book.pool.query(`UPDATE idempotency_keys SET created_at = now() - interval '25 hours'`)
}

test('expired rows are removed, the others stay', async () => {
  const old = await fill('a')
  await letExpire()
  const young = await fill('b')
  assert.equal(await counts(), '2,2,2,2')
  assert.equal(await withTransaction(book.pool, (client) => takeLinkCode(client, old)), undefined)
  assert.equal(await removeExpired(book.pool, limits), false)
  assert.equal(await counts(), '1,1,1,1')
  assert.equal(await withTransaction(book.pool, (client) => takeLinkCode(client, young)), accountId)
})

test('an expired Idempotency-Key may be reused for another request, even before it is removed', async () => {
  const take = (fingerprint: string) =>
    withTransaction(book.pool, (client) => takeIdempotencyKey(client, { ...REQUEST, key: 'b', fingerprint }, limits))
  assert.deepEqual((await take(REQUEST.fingerprint))?.status, 200)
  await assert.rejects(take('other'), { code: 'idempotency_conflict', status: 409 })
  await letExpire()
  assert.equal(await take('other'), undefined)
  await assert.rejects(take(REQUEST.fingerprint), { code: 'idempotency_conflict' })
})
