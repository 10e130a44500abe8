import { UNITS_PER_USD } from '../contract/money/units.ts'
import { hashSecret, newId, newSecret } from '../contract/wire/ids.ts'
import { shardOf } from '../contract/wire/redisKeys.ts'
import { coinAccount, PAYMENTS_IN } from '../control/book/ledger/accounts.ts'
import { postTransfers } from '../control/book/ledger/postTransfers.ts'
import { OPERATOR, recordActivity } from '../control/runtime/activity/activity.ts'
import { intArray, textArray } from '../control/runtime/db/arrays.ts'
import type { Client, Pool } from '../control/runtime/db/pool.ts'
import { withTransaction } from '../control/runtime/db/pool.ts'

const BATCH = 5_000
const COIN_UNITS = 1_000 * UNITS_PER_USD
/** Opening an account and crediting it are its first two events, and both are in the balances that control loads. */
const EVENTS = 2

interface NewAccount {
  readonly id: string
  readonly secrets: readonly string[]
}

/**
 * Opens many accounts with coin and API keys. It has to run before control starts for the first time: control then
 * brings all of them to Redis together, as it does after a loss of Redis, instead of event by event.
 * @returns the keys, the first of every account first, so that as many requests as there are accounts reach them all
 */
export async function openAccounts(pool: Pool, accounts: number, keysPerAccount: number): Promise<string[]> {
  const opened: NewAccount[] = []
  for (let from = 0; from < accounts; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, accounts - from) }, () => newAccount(keysPerAccount))
    await withTransaction(pool, (client) => openBatch(client, batch))
    opened.push(...batch)
  }
  return Array.from({ length: keysPerAccount }, (_, i) => opened.map(({ secrets }) => secrets[i] ?? '')).flat()
}

function newAccount(keys: number): NewAccount {
  return { id: newId('acct'), secrets: Array.from({ length: keys }, () => newSecret('sk')) }
}

async function openBatch(client: Client, batch: readonly NewAccount[]): Promise<void> {
  const ids = textArray(batch.map(({ id }) => id))
  await client.query(`INSERT INTO accounts (id, name) SELECT id, 'bench' FROM unnest($1::text[]) AS id`, [ids])
  await client.query(
    `INSERT INTO ledger_accounts (id, kind, owner, currency)
     SELECT coin, 'coin', owner, 'coin' FROM unnest($1::text[], $2::text[]) AS opened (coin, owner)`,
    [textArray(batch.map(({ id }) => coinAccount(id))), ids],
  )
  await client.query(
    `INSERT INTO admission_accounts (account_id, shard, seq)
     SELECT id, shard, $3 FROM unnest($1::text[], $2::int[]) AS opened (id, shard)`,
    [ids, intArray(batch.map(({ id }) => shardOf(id))), EVENTS],
  )
  const keys = batch.flatMap(({ id, secrets }) => secrets.map((secret) => ({ id, secret })))
  await client.query(
    `INSERT INTO api_keys (id, account_id, hash, last4) SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])`,
    [
      textArray(keys.map(() => newId('key'))),
      textArray(keys.map(({ id }) => id)),
      textArray(keys.map(({ secret }) => hashSecret(secret))),
      textArray(keys.map(({ secret }) => secret.slice(-4))),
    ],
  )
  const credits = batch.map(({ id }) => ({ accountId: id, ref: newId('evt') }))
  await postTransfers(
    client,
    credits.map(({ accountId, ref }) => {
      return { kind: 'payment', ref, debit: PAYMENTS_IN, credit: coinAccount(accountId), units: COIN_UNITS }
    }),
  )
  await recordActivity(
    client,
    OPERATOR,
    credits.map(({ accountId, ref }) => ({ accountId, type: 'coin.credited', target: accountId, details: { ref } })),
  )
}
