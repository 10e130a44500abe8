// Goal: a long statement flows through the gateway as fast as its reader takes it, holding little at a time, and one that
// cannot be finished does not look finished. Method: a stack with tens of thousands of long receipts, a reader that stops,
// and a control that is killed.

import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sluice } from '../../contract/wire/generated/messages.js'
import { newId } from '../../contract/wire/ids.ts'
import { ledgerStream, shardOf } from '../../contract/wire/redisKeys.ts'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { newOwner, type Owner } from '../support/clients/apiClient.ts'
import { readCsv, statementUnits } from '../support/csv.ts'
import { limits } from '../support/limits.ts'
import { settlementOf } from '../support/parts/ledger.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const RECEIPTS = 60_000
const UNITS = 1_000
const LONG_MODEL = `test/${'x'.repeat(120)}`

let stack: Stack
let pool: Pool
let owner: Owner

before(async () => {
  stack = await startStack({
    limits: { apiRequestBurst: 10, apiRequestsPerMinute: 10, apiTimeoutMs: 8_000 },
    catalog: { models: [{ id: LONG_MODEL }] },
  })
  pool = createPool(stack.databaseUrl, limits)
  owner = await newOwner(stack, { credits: '1', coin: '1' })
  await stack.withRedis(async (redis) => {
    const stream = ledgerStream(shardOf(owner.accountId))
    const [keyId, nowMs] = [newId('key'), Date.now()]
    for (let done = 0; done < RECEIPTS; ) {
      const pipeline = redis.pipeline()
      for (let i = 0; i < 1_000; i++, done++) {
        const heldMs = nowMs - RECEIPTS + done
        const requestId = newId('req', heldMs)
        const ids = { requestId, accountId: owner.accountId, keyId, provider: 'mock' }
        const settlement = settlementOf({ ...ids, model: LONG_MODEL, status: sluice.Status.OK, chargeUnits: UNITS })
        pipeline.xadd(stream, '*', 'e', settlement, 'c', UNITS, 't', heldMs, 's', `coin=${UNITS}`)
      }
      await pipeline.exec()
    }
  })
  await stack.settled()
  // These charges never were in the admission state; it is loaded from the book again.
  await pool.query(`INSERT INTO admission_dirty (shard, reason) VALUES ($1, 'test')`, [shardOf(owner.accountId)])
  await until('the shard is loaded', async () => (await pool.query('SELECT 1 FROM admission_dirty')).rowCount === 0)
})

after(async () => {
  await pool.end()
  await stack.finish()
})

/** The statement of the month, as it begins to come. */
function download(): Promise<IncomingMessage> {
  const month = new Date(Date.now() - RECEIPTS).toISOString().slice(0, 7)
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${owner.token}` }
    get(`${stack.baseUrl}/v1/statements/${month}.csv`, { headers }, resolve).on('error', reject)
  })
}

async function partsAsked(): Promise<number> {
  const text = await (await fetch(stack.controlMetricsUrl)).text()
  const line = /^sluice_control_rpc_seconds_count\{[^}]*operation="account_api"[^}]*\} (\d+)$/m.exec(text)
  return Number(line?.[1] ?? 0)
}

test('a reader that pauses pauses the ledger query, and gets the whole statement after resuming', async () => {
  const before = await partsAsked()
  const response = await download()
  response.pause()
  let asked = await partsAsked()
  await until('no more is read', async () => {
    const last = asked
    await sleep(500)
    asked = await partsAsked()
    return asked === last
  })
  assert.ok(asked - before < 30, `${asked - before} of 41 parts were read for nobody`)
  let text = ''
  response.setEncoding('utf8')
  for await (const piece of response) text += piece
  const charges = readCsv(text).filter((line) => line['type'] === 'charge')
  assert.equal(new Set(charges.map((line) => line['reference'])).size, RECEIPTS)
  const total = charges.reduce((sum, line) => sum + statementUnits(line['amount_usd']), 0)
  assert.equal(total, -RECEIPTS * UNITS)
  assert.ok((await partsAsked()) - before >= 41)
})

test('a client disconnect ends the ledger query', async () => {
  const response = await download()
  response.destroy()
  let asked = await partsAsked()
  await until('no more is read', async () => {
    const last = asked
    await sleep(300)
    asked = await partsAsked()
    return asked === last
  })
})

test('a statement that cannot be completed is aborted', async () => {
  const response = await download()
  response.pause()
  await stack.control.kill9()
  await assert.rejects(
    async () => {
      for await (const _piece of response);
    },
    { code: 'ECONNRESET' },
  )
  await stack.control.start()
  await until('the gateway is whole again', async () => (await download()).statusCode === 200)
})
