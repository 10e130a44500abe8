// Goal: an attestation is there whole or not at all, wherever control is killed at it, and the next one is made. Method: a
// stack with accounts enough for many steps; control is killed by SIGKILL while it reads them.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { requestAttestation } from '../../control/products/reserve/attestationStore.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { limits } from '../support/limits.ts'
import { newAccount } from '../support/parts/ledger.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const ACCOUNTS = 600
let stack: Stack
let pool: Pool

before(async () => {
  stack = await startStack({ limits: { attestationRowsMax: 1, attestationCheckMs: 50 } })
  pool = createPool(stack.databaseUrl, limits)
  for (let at = 0; at < ACCOUNTS; at++) await newAccount(pool, at)
})
after(async () => {
  await pool.end()
  await stack.stop()
})

async function count(query: string): Promise<number> {
  return (await pool.query<{ count: number }>(`SELECT count(*) AS count FROM ${query}`)).rows[0]?.count ?? 0
}
const attestations = () => count('reserve_attestations')

test('control dies repeatedly during an attestation: it is completed in the end, and once', async () => {
  await until('the first is made', async () => (await attestations()) > 0)
  for (let round = 0; round < 4; round++) {
    const before = await attestations()
    await requestAttestation(pool)
    await until('it is being made', async () => {
      const working = `query LIKE 'FETCH%' OR query LIKE 'INSERT INTO liability_tiles%'`
      return (await count(`pg_stat_activity WHERE datname = current_database() AND (${working})`)) > 0
    })
    await stack.control.kill9()
    const left = await attestations()
    assert.ok(left === before || left === before + 1)
    assert.equal(
      await count(`liability_tiles t WHERE NOT EXISTS
      (SELECT FROM reserve_attestations a WHERE a.number = t.attestation)`),
      0,
    )
    await stack.control.start()
    await until('it is made', async () => (await attestations()) === before + 1)
  }
  await stack.settled()
  await stack.audit()
})
