// Goal: transfers are read once each, only when they are deep enough, and again where the chain took their blocks back; what was
// shared out already is never shared out otherwise. Method: a real chain that takes blocks back, and a real database.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { parseEther } from 'viem'
import { type Address, parseAddress } from '../../../../../../contract/payments/address.ts'
import { createChainClient } from '../../../../../../control/chain/chainClient.ts'
import { HolderScanner } from '../../../../../../control/products/holders/rewards/holderScanner.ts'
import { createPool, type Pool } from '../../../../../../control/runtime/db/pool.ts'
import { type Payer, startChain, type TestChain } from '../../../../../support/chain.ts'
import { limitsWith } from '../../../../../support/limits.ts'
import { freshDatabase } from '../../../../../support/services.ts'

const COIN = parseEther('1')
const limits = limitsWith({ chainScanBlocksMax: 3, chainTimeoutMs: 8_000 })
let chain: TestChain
let pool: Pool
let [alice, bob]: Payer[] = []

before(async () => {
  chain = await startChain()
  pool = createPool(await freshDatabase(), limits)
  alice = await chain.newPayer({ coin: 10n * COIN })
  bob = await chain.newPayer({ coin: 10n * COIN })
})
after(async () => {
  await pool.end()
  await chain.stop()
})

const lower = (address: string): Address => parseAddress(address) as Address

function newScanner(token = lower(chain.contracts.coin), confirmations = 2): HolderScanner {
  const client = createChainClient(chain.rpcUrl, limits)
  const distributor = lower(chain.contracts.registry)
  return new HolderScanner({ pool, chain: client, token, distributor, fromBlock: 0, confirmations, limits })
}

async function readAll(): Promise<void> {
  const scanner = newScanner()
  let hasMore = true
  while (hasMore) hasMore = await scanner.next()
}

async function balanceOf(payer: Payer | undefined): Promise<bigint> {
  const found = await pool.query<{ sum: string }>(
    `SELECT sum(CASE WHEN receiver = $1 THEN amount ELSE -amount END)::text AS sum FROM reward_transfers
     WHERE $1 IN (receiver, sender)`,
    [lower(payer?.address ?? '')],
  )
  return BigInt(found.rows[0]?.sum ?? 0)
}

test('ranges are read in order, up to blocks with enough confirmations', async () => {
  assert.ok(alice !== undefined && bob !== undefined)
  await readAll()
  assert.deepEqual([await balanceOf(alice), await balanceOf(bob)], [10n * COIN, 10n * COIN])
  await chain.transfer('coin', alice, bob.address, COIN)
  await readAll()
  assert.equal(await balanceOf(alice), 10n * COIN, 'its block is the newest')
  await chain.client.mine({ blocks: 1 })
  await readAll()
  await readAll()
  assert.deepEqual([await balanceOf(alice), await balanceOf(bob)], [9n * COIN, 11n * COIN])
})

test('blocks removed by a reorg no longer count, and their replacements do', async () => {
  assert.ok(alice !== undefined && bob !== undefined)
  await pool.query('UPDATE reward_scan SET base_block = block, base_hash = hash, base_time = block_time')
  const id = await chain.client.snapshot()
  await chain.transfer('coin', alice, bob.address, 5n * COIN)
  await chain.client.mine({ blocks: 4 })
  await readAll()
  assert.equal(await balanceOf(alice), 4n * COIN)
  await chain.client.revert({ id })
  await chain.transfer('coin', alice, bob.address, 2n * COIN)
  await chain.client.mine({ blocks: 6 })
  await readAll()
  assert.deepEqual([await balanceOf(alice), await balanceOf(bob)], [7n * COIN, 13n * COIN])
})

test('after a reorg of a block that rewards were based on, the scanner stops', async () => {
  const id = await chain.client.snapshot()
  await chain.client.mine({ blocks: 3 })
  await readAll()
  await pool.query('UPDATE reward_scan SET base_block = block, base_hash = hash, base_time = block_time')
  await chain.client.revert({ id })
  await chain.client.setNextBlockTimestamp({ timestamp: (await chain.client.getBlock()).timestamp + 77n })
  await chain.client.mine({ blocks: 6 })
  await assert.rejects(newScanner().next(), /took back block/)
  await assert.rejects(newScanner(lower(chain.contracts.stablecoin)).next(), /follows holders of/)
})
