// Goal: tokens that a linked wallet sends are credited once, whatever block they are in at last and whatever node is asked.
// Method: control's side of payments on a real chain that takes blocks back, and a node that lags.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { type Hex, parseGwei } from 'viem'
import { MAX_UNITS } from '../../contract/money/units.ts'
import { DEMO_TOKEN_ABI } from '../../control/launch/chain/deploy.ts'
import type { Payer } from '../support/chain.ts'
import { paymentRaceLimits as limits } from '../support/limits.ts'
import { newAccount, until } from '../support/parts/ledger.ts'
import { type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'

/** What 5 USD buy where a coin is half a dollar. */
const COIN_NANOS = 10_000_000_000

let bench: PaymentBench

before(async () => {
  bench = await startPaymentBench({ finalBlocks: 5 }, limits)
})
afterEach(() => bench.mended())
after(() => bench.stop())

/** An account, and its linked wallet with tokens. */
async function newHolder(): Promise<{ wallet: Payer; coin: () => Promise<number> }> {
  const wallet = await bench.chain.newPayer()
  const accountId = await newAccount(bench.book.pool, 0)
  bench.wallets.set(wallet.address.toLowerCase(), accountId)
  const coin = () => bench.scalar<number>('SELECT balance FROM ledger_accounts WHERE id = $1', `coin:${accountId}`)
  return { wallet, coin }
}

test('a node that lags has no transfers of the newest blocks: they are read later', async () => {
  const { wallet, coin } = await newHolder()
  await bench.settled()
  const old = Number(await bench.chain.client.getBlockNumber())
  let isLagging = true
  bench.rpc.altered = ({ method, params }, answer) => {
    if (isLagging && method === 'eth_getLogs') return { ...answer, result: [] }
    const isBeyond = method === 'eth_getBlockByNumber' && Number(params?.[0]) > old
    return isLagging && isBeyond ? { ...answer, result: null } : answer
  }
  await bench.chain.transfer('stablecoin', wallet, bench.chain.treasury.address, 5_000_000n)
  const seen = bench.rpc.calls.length
  await until('it has looked', async () => {
    return bench.rpc.calls.slice(seen).filter((method) => method === 'eth_getLogs').length >= 2
  })
  isLagging = false
  await bench.chain.client.mine({ blocks: 1 })
  await until('it is credited', async () => (await coin()) === COIN_NANOS)
})

test('a deposit included in another block, at another index, is credited once', async () => {
  const { wallet, coin } = await newHolder()
  const other = await bench.chain.newPayer()
  await bench.settled()
  const snapshot = await bench.chain.client.snapshot()
  const { treasury } = bench.chain
  const write = (account: Payer, value: bigint) =>
    bench.chain.client.writeContract({
      account,
      address: bench.chain.contracts.stablecoin,
      abi: DEMO_TOKEN_ABI,
      functionName: 'transfer',
      args: [treasury.address, value],
      gas: 100_000n,
      maxPriorityFeePerGas: parseGwei('2'),
      maxFeePerGas: parseGwei('50'),
    })
  const hash = await write(wallet, 5_000_000n)
  const raw = (await bench.chain.client.request({
    method: 'eth_getRawTransactionByHash',
    params: [hash],
  } as never)) as Hex
  await until('it is credited', async () => (await coin()) === COIN_NANOS)
  await bench.settled()
  bench.rpc.down = true
  await bench.chain.client.revert({ id: snapshot })
  await bench.chain.client.mine({ blocks: 2 })
  await bench.chain.client.setAutomine(false)
  await bench.chain.client.writeContract({
    account: other,
    address: bench.chain.contracts.stablecoin,
    abi: DEMO_TOKEN_ABI,
    functionName: 'transfer',
    args: [treasury.address, 7n],
    gas: 100_000n,
    maxPriorityFeePerGas: parseGwei('9'),
    maxFeePerGas: parseGwei('50'),
  })
  await bench.chain.client.sendRawTransaction({ serializedTransaction: raw })
  await bench.chain.client.mine({ blocks: 1 })
  const { logs } = await bench.chain.client.getTransactionReceipt({ hash })
  assert.equal(logs[0]?.logIndex, 1)
  await bench.chain.client.setAutomine(true)
  bench.rpc.down = false
  await bench.settled()
  assert.equal(await coin(), COIN_NANOS)
})

test('a deposit that its account cannot hold in addition to what it has is credited to none, and those of others are', async () => {
  const { wallet, coin } = await newHolder()
  const full = await bench.chain.newPayer()
  bench.wallets.set(full.address.toLowerCase(), await newAccount(bench.book.pool, MAX_UNITS))
  await bench.settled()
  const { treasury } = bench.chain
  await bench.chain.transfer('stablecoin', full, treasury.address, 5_000_000n)
  await bench.chain.transfer('stablecoin', wallet, treasury.address, 5_000_000n)
  await until('it is credited', async () => (await coin()) === COIN_NANOS)
  const purpose = 'SELECT purpose FROM chain_transfers WHERE transfer_from = $1'
  assert.equal(await bench.scalar<string>(purpose, full.address.toLowerCase()), 'other')
})

test("a stranger's transfer that the chain takes back is not counted until it is included again", async () => {
  const stranger = await bench.chain.newPayer()
  await bench.settled()
  const snapshot = await bench.chain.client.snapshot()
  const { treasury, contracts } = bench.chain
  const hash = await bench.chain.client.writeContract({
    account: stranger,
    address: contracts.stablecoin,
    abi: DEMO_TOKEN_ABI,
    functionName: 'transfer',
    args: [treasury.address, 9n],
    gas: 100_000n,
    maxFeePerGas: parseGwei('50'),
  })
  const raw = (await bench.chain.client.request({
    method: 'eth_getRawTransactionByHash',
    params: [hash],
  } as never)) as Hex
  await until('it is recorded', async () => (await rowsOf(stranger)).length === 1)
  const counted = 'SELECT equals FROM chain_transfers WHERE transfer_from = $1'
  const equals = () => bench.scalar<number>(counted, stranger.address.toLowerCase())
  assert.equal(await equals(), 1)
  bench.rpc.down = true
  await bench.chain.client.revert({ id: snapshot })
  await bench.chain.client.mine({ blocks: 3 })
  bench.rpc.down = false
  await until('it is gone', async () => (await equals()) === 0)
  await bench.settled()
  await bench.audit()
  await bench.chain.client.sendRawTransaction({ serializedTransaction: raw })
  await until('it is there again', async () => (await equals()) === 1)
  await bench.settled()
  const { blockNumber } = await bench.chain.client.getTransactionReceipt({ hash })
  assert.deepEqual(await rowsOf(stranger), [{ block_number: Number(blockNumber), purpose: 'other' }])
})

async function rowsOf(wallet: Payer): Promise<unknown[]> {
  const rows = 'SELECT block_number, purpose FROM chain_transfers WHERE transfer_from = $1'
  return (await bench.book.pool.query(rows, [wallet.address.toLowerCase()])).rows
}
