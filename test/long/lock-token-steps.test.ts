// Goal: whatever dies at whatever step, with two controls, and whatever the chain takes back before a redemption is confirmed,
// withdrawn tokens are minted once or go back once, redeemed ones are credited once, and the audit is clean.
// Method: control's side of the chain in this process, twice, over a real book and chain; a connection that breaks at each
// statement in turn, and random steps.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import fc from 'fast-check'
import type { Hex } from 'viem'
import type { Address } from '../../contract/payments/address.ts'
import type { PaymentsConfig } from '../../control/chain/paymentsConfig.ts'
import { mintCall } from '../../control/products/locks/tokens/lockTokensContract.ts'
import { paymentLimits } from '../support/limits.ts'
import { watched } from '../support/parts/faultyPool.ts'
import { until } from '../support/parts/ledger.ts'
import { LockTokenBench } from '../support/parts/lockTokenBench.ts'
import { type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'
import type { RunningPayments } from '../support/parts/runningPayments.ts'
import { rounds } from '../support/rounds.ts'

const TOKEN = 1_000_000
const CONFIRMATIONS = 3
/** The number of the lock under which one control mints. */
const MINT_LOCK = 7_204_048
const limits = { ...paymentLimits, withdrawalCheckMs: 20, chainScanMs: 20, lockMintRefusedMs: 50 }
const changes: Partial<PaymentsConfig> = { finalBlocks: 20, depositConfirmations: CONFIRMATIONS }

let bench: PaymentBench
let tokens: LockTokenBench
/** The other control. */
let other: RunningPayments

before(async () => {
  bench = await startPaymentBench(changes, limits)
  tokens = await LockTokenBench.start(bench, changes)
  await restart()
})
after(async () => {
  await other.stop(0)
  await bench.stop()
})

async function restart(): Promise<void> {
  await Promise.all([bench.payments.stop(0), other?.stop(0)])
  bench.payments = bench.startPayments(changes)
  other = bench.startPayments(changes)
  await bench.ready()
}

async function mended(): Promise<void> {
  bench.rpc.mend()
  await bench.chain.resume()
  await tokens.settled()
  await tokens.assertWhole()
}

/** Withdraws a token, and redeems half of it once it is there. */
async function thereAndBack(): Promise<void> {
  await tokens.withdraw(TOKEN)
  await tokens.settled()
  await tokens.redeem(BigInt(TOKEN / 2))
  await tokens.settled()
}

test('a connection that breaks at each statement of a mint and a redemption in turn: both are booked once', async () => {
  for (const service of [bench.payments, other]) await service.stop(0)
  let statements = 1
  for (let broken = 0; broken < statements; broken++) {
    let count = 0
    let didBreak = false
    const pool = watched(bench.book.pool, () => {
      let isWatched = false
      return async (text) => {
        isWatched ||= /lock_|chain_senders|chain_transactions/.test(text)
        if (!isWatched || text === 'ROLLBACK' || didBreak || count++ !== broken) return
        didBreak = true
        throw new Error('the connection broke')
      }
    })
    bench.payments = bench.startPayments(changes, { pool })
    await thereAndBack()
    await bench.payments.stop(0)
    // One statement fails in each round, until a round has none left to fail.
    if (didBreak) statements++
    assert.ok(broken < 80)
  }
  assert.ok(statements > 15, `${statements} statements`)
  await tokens.assertWhole()
  await restart()
})

interface World {
  snapshot: { readonly id: Hex; readonly block: bigint } | undefined
}

/** A contract that takes no tokens; so long as it has its code. */
const refusing = () => bench.chain.contracts.registry

const STEPS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  withdraw: () => tokens.withdraw(TOKEN),
  withdrawMany: () => Promise.all([1, 2, 3].map((count) => tokens.withdraw(count * TOKEN))),
  withdrawRefused: () => tokens.withdraw(TOKEN, refusing()),
  redeem: async () => {
    const has = await tokens.onChain()
    if (has > 0n) await tokens.redeem(has / 2n + 1n)
  },
  mine: () => bench.chain.client.mine({ blocks: 1 }),
  mineMany: () => bench.chain.client.mine({ blocks: CONFIRMATIONS }),
  crash: async () => {
    await bench.payments.stop(0)
    bench.payments = bench.startPayments(changes)
  },
  crashOther: async () => {
    await other.stop(0)
    other = bench.startPayments(changes)
  },
  noGas: async () => bench.rpc.refused.add('eth_estimateGas'),
  noSending: async () => bench.rpc.refused.add('eth_sendRawTransaction'),
  lostSending: async () => bench.rpc.lost.add('eth_sendRawTransaction'),
  noReceipts: async () => bench.rpc.refused.add('eth_getTransactionReceipt'),
  noLogs: async () => bench.rpc.refused.add('eth_getLogs'),
  noBlocks: () => bench.chain.client.setAutomine(false),
  mend: async () => {
    bench.rpc.mend()
    await bench.chain.resume()
  },
  snapshot: async (world) => {
    const id = await bench.chain.client.snapshot()
    world.snapshot = { id, block: await bench.chain.client.getBlockNumber() }
  },
  takeBack: async (world) => {
    const { snapshot } = world
    world.snapshot = undefined
    // Never so deep that a redemption was confirmed.
    if (snapshot === undefined) return
    if ((await bench.chain.client.getBlockNumber()) - snapshot.block >= BigInt(CONFIRMATIONS)) return
    await bench.chain.client.revert({ id: snapshot.id })
    await bench.chain.client.mine({ blocks: 1 })
  },
}

test('random steps of two controls and a reorganizing chain: tokens are minted, returned and credited once', async () => {
  const steps = fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 4, maxLength: 16 })
  await fc.assert(
    fc.asyncProperty(steps, async (names) => {
      const world: World = { snapshot: undefined }
      for (const name of names) await STEPS[name]?.(world)
      await tokens.withdraw(TOKEN)
      await mended()
    }),
    { numRuns: rounds({ short: 6, long: 40 }), endOnFailure: true },
  )
})

/** Waits until a transaction of the last withdrawal has a state. */
const mintIs = (state: string) =>
  until(`the mint is ${state}`, async () => {
    const last = `SELECT state FROM chain_transactions WHERE purpose = 'lock_mint' ORDER BY id DESC LIMIT 1`
    return (await bench.scalar<string>(last)) === state
  })

test('a block with a confirmed mint is taken back: the mint gets into another block, and the withdrawal stays sent', async () => {
  await mended()
  const id = await bench.chain.client.snapshot()
  await tokens.withdraw(TOKEN)
  await tokens.settled()
  await bench.chain.client.setAutomine(false)
  await bench.chain.client.revert({ id })
  await bench.chain.client.mine({ blocks: 8 })
  await mintIs('pending')
  await mended()
})

const redemptions = () => bench.scalar<number>('SELECT count(*) FROM lock_redemptions')

test('a redemption whose block is gone before it is confirmed is not booked; in another block it is credited once', async () => {
  await mended()
  if ((await tokens.onChain()) < 2n) await thereAndBack()
  const { client } = bench.chain
  const [held, known] = [await tokens.held(), await redemptions()]
  const id = await client.snapshot()
  const hash = await tokens.redeem(1n)
  await client.waitForTransactionReceipt({ hash })
  // One block fewer than it needs.
  await client.mine({ blocks: CONFIRMATIONS - 2 })
  const reads = () => bench.rpc.calls.filter((method) => method === 'eth_blockNumber').length
  const before = reads()
  await until('the chain was read some times', async () => reads() > before + 8)
  assert.equal(await redemptions(), known)
  await client.revert({ id })
  await client.mine({ blocks: 2 * CONFIRMATIONS })
  await tokens.settled()
  assert.deepEqual([await tokens.held(), await redemptions()], [held, known])
  await tokens.redeem(1n)
  await tokens.settled()
  assert.deepEqual([await tokens.held(), await redemptions()], [held + 1, known + 1])
  await tokens.assertWhole()
})

test('a mint whose transaction was given up, because the node did not show it, counts as sent and as minted', async () => {
  await mended()
  bench.rpc.altered = ({ id, method }, answer) =>
    ['eth_getTransactionReceipt', 'eth_getTransactionByHash'].includes(method) ? { id, result: null } : answer
  const id = await tokens.withdraw(TOKEN)
  await until('it is minted', () => tokens.isMinted(id))
  await bench.chain.client.mine({ blocks: 30 })
  await mintIs('displaced')
  await mended()
})

test('a mint that the book does not know, as one that was restored from a backup, is not made again and counts as sent', async () => {
  await mended()
  for (const service of [bench.payments, other]) await service.stop(0)
  const { series, contract } = tokens
  const id = await tokens.withdraw(TOKEN)
  const wallet = tokens.wallet.address.toLowerCase() as Address
  const call = mintCall({ ...series, id, seriesId: series.id, wallet, contract: contract as Address, micros: TOKEN })
  const hash = await bench.chain.client.sendTransaction({ ...call, account: bench.chain.treasury })
  await bench.chain.client.waitForTransactionReceipt({ hash })
  await restart()
  await mended()
})

test('a control that lost its lock while it gave tokens back: they are minted or returned, not both', async () => {
  await mended()
  for (const service of [bench.payments, other]) await service.stop(0)
  const { pool } = bench.book
  const address = refusing()
  const code = (await bench.chain.client.getCode({ address })) ?? '0x'
  let id = ''
  let isPaused = false
  const paused = watched(pool, () => async (text) => {
    if (isPaused || !/FROM lock_series/.test(text)) return
    isPaused = true
    // The wallet takes tokens now, and the connection that has the lock breaks.
    await bench.chain.client.setCode({ address, bytecode: '0x' })
    await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = ${MINT_LOCK} AND granted`,
    )
    other = bench.startPayments(changes)
    await until('the other control has minted them', () => tokens.isMinted(id))
  })
  id = await tokens.withdraw(TOKEN, address)
  bench.payments = bench.startPayments(changes, { pool: paused })
  await until('it was refused', async () => isPaused)
  await mended()
  assert.equal((await tokens.withdrawals()).at(-1)?.state, 'sent')
  await bench.chain.client.setCode({ address, bytecode: code })
})
