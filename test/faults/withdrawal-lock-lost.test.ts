// Goal: a control whose connection with the lock of withdrawals breaks while it gives coin back does not give back what another
// control sends meanwhile. Method: control's side of payments in this process, twice; the node refuses the wallet for the first.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import type { Address } from '../../contract/payments/address.ts'
import { paymentLimits } from '../support/limits.ts'
import { watched } from '../support/parts/faultyPool.ts'
import { fundedAccount, until } from '../support/parts/ledger.ts'
import { bookWithdrawal } from '../support/parts/outgoingMoney.ts'
import { type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'
import type { RunningPayments } from '../support/parts/runningPayments.ts'

/** The number of the lock under which one control sends withdrawals. */
const WITHDRAWALS_LOCK = 7_204_043
const NANOS = 4_000_000_000
/** The transfer is simulated twice before coin goes back. */
const SIMULATIONS = 2
const REFUSAL = { code: 3, message: 'execution reverted' }

let bench: PaymentBench
let other: RunningPayments | undefined
before(async () => {
  bench = await startPaymentBench({}, { ...paymentLimits, withdrawalCheckMs: 20 })
})
after(async () => {
  await other?.stop(0)
  await bench.stop()
})

/** Books a withdrawal of coin. @returns its id */
function withdraw(accountId: string, wallet: Address): Promise<string> {
  const token = bench.chain.contracts.coin.toLowerCase() as Address
  const amount = BigInt(NANOS) * 1_000_000_000n
  const row = { accountId, wallet, asset: 'coin', token, amount, nanos: NANOS, units: NANOS / 2 } as const
  return bookWithdrawal(bench.book.pool, row)
}

test('coin that another control sends is not given back as well', async () => {
  const { pool } = bench.book
  const accountId = await fundedAccount(bench.book, 10_000_000_000)
  await bench.chain.fillTreasury()
  const wallet = await bench.chain.newPayer({ coin: 0n, stablecoin: 0n, approve: false })
  await bench.payments.stop(0)
  let simulated = 0
  bench.rpc.altered = ({ id, method }, answer) =>
    method === 'eth_estimateGas' && simulated++ < SIMULATIONS ? { id, error: REFUSAL } : answer
  let isPaused = false
  const paused = watched(pool, () => async (text) => {
    if (isPaused || !/UPDATE withdrawals SET state/.test(text)) return
    isPaused = true
    await bench.chain.client.setAutomine(false)
    await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = ${WITHDRAWALS_LOCK} AND granted`,
    )
    other = bench.startPayments()
    await until('the other control has sent it', async () => (await bench.chain.pooled()).length > 0)
  })
  const id = await withdraw(accountId, wallet.address.toLowerCase() as Address)
  bench.payments = bench.startPayments({}, { pool: paused })
  await until('it was refused', async () => isPaused)
  await until('it is in the pool', async () => (await bench.chain.pooled()).length > 0)
  bench.rpc.mend()
  await bench.chain.resume()
  await until('it is sent', async () => {
    return (await bench.scalar<string>('SELECT state FROM withdrawals WHERE id = $1', id)) !== 'sending'
  })
  assert.equal(await bench.scalar<string>('SELECT state FROM withdrawals WHERE id = $1', id), 'sent')
  assert.equal(await bench.chain.balanceOf('coin', wallet.address), BigInt(NANOS) * 1_000_000_000n)
  await bench.mended()
})
