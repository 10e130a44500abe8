// Goal: control tells of the chain as it is: there, behind, away, or none. Method: a real node behind a proxy that goes wrong.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { ChainState } from '../../../control/chain/chainState.ts'
import { paymentLimits } from '../../support/limits.ts'
import { log, until } from '../../support/parts/ledger.ts'
import { type PaymentBench, startPaymentBench } from '../../support/parts/payments.ts'

const limits = { ...paymentLimits, chainCheckMs: 20, chainUnreadBlocksMax: 10, chainWaitingMs: 300 }
let bench: PaymentBench
let state: ChainState

const newState = (chainId: number, rpcUrl: string | undefined = bench.rpc.url): ChainState =>
  new ChainState({
    rpcUrl,
    payments: { chainId, depositConfirmations: 1 },
    service: undefined,
    pool: bench.book.pool,
    log,
    limits,
  })

before(async () => {
  bench = await startPaymentBench()
  state = newState(bench.chain.chainId)
  await state.known
})
after(async () => {
  await state.stop()
  await bench.stop()
})

const becomes = (wanted: string) => until(`the chain is ${wanted}`, async () => state.state === wanted)

test('a missing chain is not configured, and one with another chain id is unavailable', async () => {
  const none = new ChainState({
    rpcUrl: undefined,
    payments: undefined,
    service: undefined,
    pool: bench.book.pool,
    log,
    limits,
  })
  const wrong = newState(bench.chain.chainId + 1)
  const any = new ChainState({
    rpcUrl: bench.rpc.url,
    payments: undefined,
    service: undefined,
    pool: bench.book.pool,
    log,
    limits,
  })
  await Promise.all([none.known, wrong.known, any.known])
  assert.deepEqual([none.state, wrong.state, any.state, state.state], ['not_configured', 'unavailable', 'ok', 'ok'])
  await Promise.all([none, wrong, any].map((one) => one.stop()))
})

test('a node that is down is unavailable, a node that syncs blocks is behind', async () => {
  bench.rpc.down = true
  await becomes('unavailable')
  bench.rpc.mend()
  await becomes('ok')
  bench.rpc.altered = ({ id, method }, answer) =>
    method === 'eth_syncing'
      ? { id, result: { startingBlock: '0x0', currentBlock: '0x1', highestBlock: '0x9' } }
      : answer
  await becomes('behind')
  bench.rpc.mend()
  await becomes('ok')
})

test('the chain is behind while blocks are unread', async () => {
  await bench.payments.stop(0)
  await bench.chain.client.mine({ blocks: 10 })
  await bench.chain.client.mine({ blocks: 1 })
  await becomes('behind')
  bench.payments = bench.startPayments()
  await becomes('ok')
})

test('the chain is behind while a transaction waits too long for a block', async () => {
  await bench.ready()
  const [, order] = await bench.newOrder()
  await bench.chain.client.setAutomine(false)
  const settled = bench.settle(order)
  await becomes('behind')
  await bench.chain.resume()
  await settled
  await becomes('ok')
  await bench.serve(order, 1_000)
  await bench.mended()
})
