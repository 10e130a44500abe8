// Goal: a paid request that nobody serves is given up although the outcome of another payment cannot be found out, as long as that
// lasts. Method: the closer runs over a book of the test; the chain is a function that fails.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Address } from '../../../contract/payments/address.ts'
import { payerAccountId } from '../../../contract/payments/payerAccount.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { openAccount } from '../../../control/book/ledger/openAccount.ts'
import { PaymentCloser } from '../../../control/products/payments/x402/closer.ts'
import { PAID } from '../../../control/products/payments/x402/paymentOutcome.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { paymentLimits } from '../../support/limits.ts'
import {
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  log,
  scalar,
  startBook,
  until,
} from '../../support/parts/ledger.ts'

const UNITS = 4_200_000
const TOKEN = `0x${'a'.repeat(40)}`
const limits = { ...paymentLimits, paymentCloseMs: 20 }

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

/** @param digit of the payer's address */
async function payment(state: 'settling' | 'paid', digit: string): Promise<string> {
  const payer = `0x${digit.repeat(40)}` as Address
  const [id, accountId] = [newId('req'), payerAccountId(payer)]
  await withTransaction(book.pool, async (client) => {
    await client.query(
      `INSERT INTO payments (id, replay_key, protocol, payer, account_id, asset, token, amount, units, hold_units, state, owner,
         model, endpoint, sheet_version, streamed, serve_by_ms)
       VALUES ($1, $1, 'x402', $2, $3, 'stablecoin', $4, 4200, $5, $5, $6, 'own_gone', 'acme/chat-small', 'chat', 1, false, 1)`,
      [id, payer, accountId, TOKEN, UNITS, state],
    )
    await openAccount(client, accountId)
    if (state === 'paid') await creditCoin(client, { accountId, nanos: UNITS, units: UNITS, ref: id, kind: PAID })
  })
  return id
}

const stateOf = (id: string) => scalar<string>(book.pool, 'SELECT state FROM payments WHERE id = $1', [id])

test('an unserved payment is given up while the chain cannot say what became of another one', async () => {
  const unknown = await payment('settling', '1')
  await book.pool.query(
    `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount, state)
     VALUES ('payment', $1, $2, $2, $2, 4200, 'displaced')`,
    [unknown, TOKEN],
  )
  const unserved = await payment('paid', '2')
  await ensureOpen(book)
  await dispatchEvents(book)
  const asked = new Set<string>()
  const closer = new PaymentCloser({
    pool: book.pool,
    redis: book.redis,
    log,
    limits,
    assets: [],
    coinUsdUnits: async () => 1_000_000_000,
    refundMinUnits: 1,
    resolveUnmoved: async ({ id }) => {
      asked.add(id)
      throw new Error('the node has pruned these blocks')
    },
    onClosed: () => undefined,
  })
  try {
    await until('the unserved payment is closed', async () => {
      await drainAll(book)
      return (await stateOf(unserved)) === 'closed'
    })
    await until('the chain was asked', async () => asked.has(unknown))
    assert.equal(await stateOf(unknown), 'settling')
    const back = 'SELECT back_units FROM payments WHERE id = $1'
    assert.equal(await scalar<number>(book.pool, back, [unserved]), UNITS)
  } finally {
    await closer.stop()
  }
})
