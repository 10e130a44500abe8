// Goal: a settlement batch is anchored once, whatever dies or is taken back. Method: a whole stack on a real chain that anchors
// every second.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { ANCHOR_ABI } from '../../control/products/settlements/anchorContract.ts'
import { AnchoringStack, type WholeBatch } from '../support/clients/anchoringStack.ts'
import type { PaidStack } from '../support/paidStack.ts'
import { until } from '../support/stack.ts'

let world: AnchoringStack
let paid: PaidStack

before(async () => {
  world = await AnchoringStack.start()
  paid = world.paid
})
afterEach(() => paid.mended())
after(() => paid.stop())

test('after a reorg a batch is pending again, and anchored once in the end', async () => {
  await world.anchored()
  const snapshot = await paid.chain.client.snapshot()
  const block = Number(await paid.chain.client.getBlockNumber())
  const { batch } = await world.anchored()
  await world.anchored()
  const flowsBefore = await world.flows('kind=settlement&')
  paid.rpc.refused.add('eth_sendRawTransaction')
  await paid.chain.client.revert({ id: snapshot })
  // What was read of the blocks that are gone is read again.
  await paid.pool.query('UPDATE chain_identity SET scanned_block = $1', [block])
  await paid.chain.client.mine({ blocks: 1 })
  const shown = () => world.get<WholeBatch>(`/v1/settlements/${batch.number}`)
  await until('it is pending again', async () => (await shown()).state === 'pending')
  const metrics = await (await fetch(paid.stack.controlMetricsUrl)).text()
  assert.match(metrics, /^sluice_control_settlements_pending [12]$/m)
  const { transaction, contract: where, confirmations, root } = await shown()
  assert.deepEqual([transaction, where, confirmations, root], [null, null, 0, batch.root])
  const gone = flowsBefore.filter(({ transaction: hash }) => hash === batch.transaction)
  assert.equal(gone.length, 1)
  const isGone = async () =>
    (await world.flows('kind=settlement&')).every(({ transaction: hash }) => hash !== batch.transaction)
  await until('the kept answer without its flow is shown', isGone)
  paid.rpc.refused.clear()
  await world.anchoredAll()
  await world.assertOnce()
})

test('control dies at every step of a batch: it is anchored once', async () => {
  for (const method of ['eth_estimateGas', 'eth_sendRawTransaction', 'eth_getTransactionReceipt']) {
    await world.anchoredAll()
    paid.rpc.refused.add(method)
    await world.serve()
    await until(`it stops at ${method}`, async () => (await world.batches())[0]?.state === 'pending')
    if (method === 'eth_getTransactionReceipt') {
      await until('it is on the chain', async () => (await lastNumber()) === (await world.batches())[0]?.number)
    }
    await paid.stack.control.kill9()
    paid.rpc.refused.clear()
    await paid.stack.control.start()
    await world.anchoredAll()
    await world.assertOnce()
  }
})

async function lastNumber(): Promise<number> {
  const address = world.contract
  return Number(await paid.chain.client.readContract({ abi: ANCHOR_ABI, address, functionName: 'lastNumber' }))
}
