// Goal: whatever dies at whatever step, with two controls, and whatever the chain takes back, batches follow each other without a
// gap, each is on the chain once, and the audit is clean. Method: control's side of payments in this process, twice, over a
// real book and chain; random steps, and a connection that breaks at each statement of a batch in turn.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import fc from 'fast-check'
import { keccak256, parseAbi, toHex } from 'viem'
import { NoteKey } from '../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../control/book/checkpoint/signCheckpoint.ts'
import { deployBy } from '../../control/chain/deploy/deployBy.ts'
import { anchorInitCode } from '../../control/chain/deploy/initCodes.ts'
import { devAccount } from '../../control/launch/chain/deploy.ts'
import { ANCHOR_ABI } from '../../control/products/settlements/anchorContract.ts'
import { pageOfBatches } from '../../control/products/settlements/batchRow.ts'
import { limitsWith, paymentLimits } from '../support/limits.ts'
import { TEST_LOG_KEY } from '../support/logKey.ts'
import { watched } from '../support/parts/faultyPool.ts'
import { fundedAccount, scalar, until } from '../support/parts/ledger.ts'
import { type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'
import type { RunningPayments } from '../support/parts/runningPayments.ts'
import { rounds } from '../support/rounds.ts'

const KEY = NoteKey.of(TEST_LOG_KEY)
const CHARGE = 1_000
/** Runtime code that reverts whatever is called. */
const REVERTS = '0x5f5ffd'
const quick = { settlementCheckMs: 20, settlementRefusedMs: 50, settlementSumReceipts: 3, checkpointMs: 0 }
const limits = { ...paymentLimits, ...quick }
const signLimits = limitsWith({ checkpointMs: 0 })
let bench: PaymentBench
let account: string
/** The other control. */
let other: RunningPayments
const changes = { settlementIntervalSeconds: 0 }

before(async () => {
  const chain = { finalBlocks: 30 }
  bench = await startPaymentBench({ ...chain, ...changes }, limits)
  const settlementAnchor = (await bench.chain.provideAnchor()).toLowerCase() as `0x${string}`
  Object.assign(changes, { settlementAnchor })
  account = await fundedAccount(bench.book, 1_000_000_000)
  await bench.payments.stop(0)
  bench.payments = bench.startPayments(changes)
  other = bench.startPayments(changes)
  await bench.ready()
})
after(async () => {
  await other.stop(0)
  await bench.stop()
})

/** Serves requests and signs a checkpoint of them, so that a batch is due. */
async function serve(count: number): Promise<void> {
  const { pool } = bench.book
  const booked = () => scalar<number>(pool, 'SELECT count(*) FROM receipts')
  const before = await booked()
  for (let i = 0; i < count; i++) await bench.proxy.serve(account, CHARGE)
  await until('it is booked', async () => (await booked()) === before + count)
  await signCheckpoint(pool, KEY, signLimits)
}

async function anchoredAll(): Promise<void> {
  const { pool } = bench.book
  await until('the last checkpoint is anchored', async () => {
    const [last] = await pageOfBatches(pool, 1, Number.MAX_SAFE_INTEGER)
    const size = await scalar<number>(pool, 'SELECT max(size) FROM checkpoints')
    const pending = await scalar<number>(
      pool,
      `SELECT count(*) FROM settlement_batches b WHERE NOT EXISTS (SELECT FROM chain_transactions t
         WHERE t.purpose = 'settlement' AND split_part(t.ref, '#', 1) = b.number::text AND t.state = 'mined')`,
    )
    return last?.treeSize === size && pending === 0
  })
}

/** Every receipt is in one batch, each batch is one event of the contract, and the charges are those of all receipts. */
async function assertWhole(): Promise<void> {
  const { pool } = bench.book
  const batches = (await pageOfBatches(pool, 1_000, Number.MAX_SAFE_INTEGER)).toReversed()
  const address = [...new Set(batches.flatMap(({ anchored }) => anchored?.contract ?? []))]
  const events = await bench.chain.client.getContractEvents({ abi: ANCHOR_ABI, address, fromBlock: 0n })
  assert.deepEqual(
    events.map(({ args, transactionHash }) => [Number(args.number), args.root, args.chargedUnits, transactionHash]),
    batches.map((batch) => [batch.number, `0x${batch.root.toString('hex')}`, batch.chargedUnits, batch.anchored?.hash]),
  )
  assert.deepEqual(
    batches.map(({ number }) => number),
    batches.map((_, at) => at + 1),
  )
  assert.ok(batches.every(({ receiptsFrom }, at) => receiptsFrom === (batches[at - 1]?.receiptsUntil ?? 0)))
  const receipts = await scalar<number>(pool, 'SELECT count(*) FROM receipts')
  assert.equal(batches.at(-1)?.receiptsUntil, receipts)
  const charged = batches.reduce((sum, { chargedUnits }) => sum + chargedUnits, 0n)
  assert.equal(charged, BigInt(receipts * CHARGE))
}

async function mended(): Promise<void> {
  await bench.mended()
  await anchoredAll()
  await assertWhole()
  await bench.mended()
}

test('a connection that breaks at each statement of a batch in turn: the batch is created and anchored once', async () => {
  for (const service of [bench.payments, other]) await service.stop(0)
  let statements = 1
  for (let broken = 0; broken < statements; broken++) {
    await serve(1)
    let count = 0
    let didBreak = false
    const pool = watched(bench.book.pool, () => async (text) => {
      if (/settlement|chain_senders|chain_attempts|COMMIT/.test(text) && !didBreak && count++ === broken) {
        didBreak = true
        throw new Error('the connection broke')
      }
    })
    bench.payments = bench.startPayments(changes, { pool })
    await anchoredAll()
    await bench.payments.stop(0)
    // One statement fails in each round, until a round has none left to fail.
    if (didBreak) statements++
    assert.ok(broken < 60)
  }
  assert.ok(statements > 4, `${statements} statements`)
  bench.payments = bench.startPayments(changes)
  other = bench.startPayments(changes)
  await bench.ready()
  await mended()
})

type Step = (world: { snapshot: { id: `0x${string}`; block: number } | undefined }) => Promise<void>

const STEPS: Readonly<Record<string, Step>> = {
  serve: () => serve(1),
  serveMany: () => serve(7),
  mine: () => bench.chain.client.mine({ blocks: 2 }),
  crash: async () => {
    await bench.payments.stop(0)
    bench.payments = bench.startPayments(changes)
  },
  crashOther: async () => {
    await other.stop(0)
    other = bench.startPayments(changes)
  },
  noGas: async () => void bench.rpc.refused.add('eth_estimateGas'),
  noSending: async () => void bench.rpc.refused.add('eth_sendRawTransaction'),
  lostSending: async () => void bench.rpc.lost.add('eth_sendRawTransaction'),
  noReceipts: async () => void bench.rpc.refused.add('eth_getTransactionReceipt'),
  noBlocks: () => bench.chain.client.setAutomine(false),
  mend: async () => {
    bench.rpc.mend()
    await bench.chain.resume()
  },
  anchored: async () => {
    bench.rpc.mend()
    await bench.chain.resume()
    await anchoredAll()
  },
  snapshot: async (world) => {
    const id = await bench.chain.client.snapshot()
    world.snapshot = { id, block: Number(await bench.chain.client.getBlockNumber()) }
  },
  takeBack: async (world) => {
    const { snapshot } = world
    if (snapshot === undefined) return
    world.snapshot = undefined
    await bench.chain.client.revert({ id: snapshot.id })
    // What was read of the blocks that are gone is read again.
    await bench.book.pool.query('UPDATE chain_identity SET scanned_block = least(scanned_block, $1)', [snapshot.block])
    await bench.chain.client.mine({ blocks: 1 })
  },
}

test('random steps of two control instances and a reorganizing chain: no gap, no duplicate, and a clean audit', async () => {
  const steps = fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 4, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, async (names) => {
      const world = { snapshot: undefined }
      for (const name of names) await STEPS[name]?.(world)
      await serve(1)
      await mended()
    }),
    { numRuns: rounds({ short: 6, long: 30 }), endOnFailure: true },
  )
})

/** What the admin of the contract does. */
async function changeRole(functionName: 'grantRole' | 'revokeRole'): Promise<void> {
  const abi = parseAbi(['function grantRole(bytes32, address)', 'function revokeRole(bytes32, address)'])
  const args = [keccak256(toHex('ANCHORER_ROLE')), bench.chain.relayer.address] as const
  const address = await bench.chain.provideAnchor()
  const hash = await bench.chain.client.writeContract({ abi, address, functionName, args })
  await bench.chain.client.waitForTransactionReceipt({ hash })
}

test('a contract that rejects a batch: it waits, no transaction is sent, and it is anchored once accepted', async () => {
  const { pool } = bench.book
  await changeRole('revokeRole')
  const transactions = () => scalar<number>(pool, 'SELECT count(*) FROM chain_transactions')
  const before = await transactions()
  await serve(1)
  const pending = async () => (await pageOfBatches(pool, 1, Number.MAX_SAFE_INTEGER))[0]?.anchored === undefined
  await until('the batch is made', pending)
  const asked = bench.rpc.calls.filter((method) => method === 'eth_estimateGas').length
  await until('it is tried again and again', async () => {
    return bench.rpc.calls.filter((method) => method === 'eth_estimateGas').length > asked + 3
  })
  assert.deepEqual([await transactions(), await pending()], [before, true])
  await changeRole('grantRole')
  await mended()
})

test('a batch whose transaction reverts is sent again, and anchored once', async () => {
  const { pool } = bench.book
  const { client } = bench.chain
  await client.setAutomine(false)
  await serve(1)
  await until('it is sent', async () => (await bench.chain.pooled()).length === 1)
  const ofLast = `SELECT count(*) FROM chain_transactions WHERE purpose = 'settlement'
    AND split_part(ref, '#', 1) = (SELECT max(number)::text FROM settlement_batches)`
  const sent = () => bench.rpc.calls.filter((method) => method === 'eth_sendRawTransaction').length
  const before = sent()
  await until('it was offered to the node some times more', async () => sent() > before + 4)
  assert.equal(
    await scalar<number>(pool, ofLast),
    1,
    'while it may get into a block there is no other transaction of it',
  )
  const address = await bench.chain.provideAnchor()
  const code = (await client.getCode({ address })) ?? '0x'
  await client.setCode({ address, bytecode: REVERTS })
  await client.mine({ blocks: 1 })
  const failed = `SELECT count(*) FROM chain_transactions WHERE purpose = 'settlement' AND state = 'reverted'`
  await until('it has failed', async () => (await scalar<number>(pool, failed)) > 0)
  await client.setCode({ address, bytecode: code })
  await mended()
})

test('without a contract no batch is anchored, and with a new one the numbers continue', async () => {
  const { pool } = bench.book
  for (const service of [bench.payments, other]) await service.stop(0)
  bench.payments = bench.startPayments({ ...changes, settlementAnchor: `0x${'12'.repeat(20)}` })
  await serve(1)
  const asked = bench.rpc.calls.length
  await until('it is tried', async () => bench.rpc.calls.slice(asked).includes('eth_getCode'))
  const [last] = await pageOfBatches(pool, 1, Number.MAX_SAFE_INTEGER)
  assert.ok(last?.anchored === undefined)
  await bench.payments.stop(0)
  const roles = { admin: devAccount(0).address, anchorer: bench.chain.relayer.address }
  const { address } = await deployBy(bench.chain.rpcUrl, devAccount(4), anchorInitCode(roles), 20)
  const settlementAnchor = address.toLowerCase() as `0x${string}`
  Object.assign(changes, { settlementAnchor })
  bench.payments = bench.startPayments(changes)
  other = bench.startPayments(changes)
  await bench.ready()
  await mended()
  assert.equal((await pageOfBatches(pool, 1, Number.MAX_SAFE_INTEGER))[0]?.anchored?.contract, settlementAnchor)
})
