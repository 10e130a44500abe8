// Goal: money that leaves the treasury is paid at most once whatever the chain's nodes say, and exactly once when they are honest
// in the end. Method: random schedules over the real parts and PostgreSQL, with a simulated chain behind the client: receipts late,
// missing or pruned, blocks taken back, two nodes that disagree, nonces used by a stranger, gas that gets dear.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import fc from 'fast-check'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import type { Address } from '../../../contract/payments/address.ts'
import { MOVEMENT_INVARIANTS } from '../../../control/audit/movementChecks.ts'
import { PAYMENT_INVARIANTS } from '../../../control/audit/paymentChecks.ts'
import { REWARD_INVARIANTS } from '../../../control/audit/rewardChecks.ts'
import { FeeOracle } from '../../../control/chain/fees.ts'
import { openSender } from '../../../control/chain/outbox.ts'
import { Signer } from '../../../control/chain/signer.ts'
import { releaseStuck } from '../../../control/chain/stuckTransactions.ts'
import { TransactionSweeper } from '../../../control/chain/sweeper.ts'
import { stuckTransactions } from '../../../control/chain/transactionRow.ts'
import { TransactionWatcher } from '../../../control/chain/watcher.ts'
import { PayoutSender } from '../../../control/products/holders/rewards/payoutSender.ts'
import { DepositScanner } from '../../../control/products/payments/deposits/depositScanner.ts'
import { Refunder } from '../../../control/products/payments/refunds/refunds.ts'
import { Withdrawer } from '../../../control/products/payments/withdrawals/withdrawals.ts'
import { Loop } from '../../../control/runtime/loop.ts'
import { outcomesOf, PRODUCTS } from '../../../control/service/products.ts'
import { limitsWith } from '../../support/limits.ts'
import { type Book, log, scalar, startBook, until } from '../../support/parts/ledger.ts'
import { HONEST, type Lies, LyingChain } from '../../support/parts/lyingChain.ts'
import { type Outgoing, orderPayout, orderRefund, orderWithdrawal } from '../../support/parts/outgoingMoney.ts'
import { rounds } from '../../support/rounds.ts'

const CHAIN_ID = 31_337
const FINAL_BLOCKS = 4
const TOKEN: Address = `0x${'70'.repeat(20)}`
const GWEI = 1_000_000_000n
const CHECKS = new Set([
  'every withdrawal is in escrow, sent once or returned',
  'every refund is sent once',
  'every share of the revenue is sent once',
  'every transaction moves what it is for',
  'every nonce went to its own transaction',
])
const INVARIANTS = [...MOVEMENT_INVARIANTS, ...PAYMENT_INVARIANTS, ...REWARD_INVARIANTS].filter(({ name }) =>
  CHECKS.has(name),
)

const limits = limitsWith({
  chainSweepMs: 3,
  chainScanMs: 3,
  chainPollMs: 3,
  withdrawalCheckMs: 3,
  refundCheckMs: 3,
  replaceAfterMs: 25,
  replacementsMax: 40,
  gasPriceKeptMs: 1,
})

interface Step {
  readonly lies: Lies
  readonly gasGwei: number
  readonly blocks: number
  readonly happens: 'nothing' | 'stranger' | 'reorg' | 'reorgForgets'
  readonly depth: number
}

const step: fc.Arbitrary<Step> = fc.record({
  lies: fc.record({
    lagBlocks: fc.integer({ min: 0, max: 8 }),
    receiptsLateBlocks: fc.constantFrom(0, 0, 2, 1_000_000),
    receiptsKeptBlocks: fc.constantFrom(1_000_000, 1_000_000, 2, 0),
    receiptsMissingEvery: fc.constantFrom(0, 0, 1, 2),
    answering: fc.constantFrom<Lies['answering'][]>('first', 'second', 'turns'),
  }),
  gasGwei: fc.constantFrom(1, 1, 5, 30),
  blocks: fc.integer({ min: 0, max: 8 }),
  happens: fc.constantFrom<Step['happens'][]>('nothing', 'nothing', 'stranger', 'reorg', 'reorgForgets'),
  depth: fc.integer({ min: 1, max: FINAL_BLOCKS - 1 }),
})

let book: Book
let chain: LyingChain
const parts: Array<{ stop(): Promise<void> }> = []
let periods = 0

before(async () => {
  book = await startBook()
  const { pool } = book
  const treasury = new Signer(generatePrivateKey())
  chain = new LyingChain(treasury.address, CHAIN_ID)
  const { client } = chain
  await pool.query(
    `INSERT INTO chain_identity (chain_id, genesis_hash, treasury, quote_secret, scanned_block) VALUES ($1, '', $2, '', 0)`,
    [CHAIN_ID, treasury.address],
  )
  await openSender(pool, treasury.address, 0)
  const fees = new FeeOracle(client, limits)
  const confirmations = { confirmations: 1, depositConfirmations: 1 }
  const handlers = outcomesOf(PRODUCTS)
  const watcher = new TransactionWatcher({ pool, chain: client, log, handlers, confirmations, limits })
  const common = { pool, chain: client, chainId: CHAIN_ID, treasury, fees, watcher, log, limits }
  const payouts = new PayoutSender({ ...common, publisher: treasury })
  parts.push(
    new Withdrawer(common),
    new Refunder(common),
    new Loop('payouts', 3, log, () => payouts.sendDue()),
    new TransactionSweeper({ ...common, finalBlocks: FINAL_BLOCKS, signers: new Map([[treasury.address, treasury]]) }),
    new DepositScanner({
      ...common,
      treasury: treasury.address,
      assets: [
        {
          id: 'stablecoin',
          address: TOKEN,
          decimals: 6,
          name: '',
          version: '',
          method: 'eip3009',
          usdUnits: 1_000_000_000,
        },
      ],
      confirmations: 1,
      finalBlocks: FINAL_BLOCKS,
      accountOfWallet: async () => undefined,
      coinUsdUnits: async () => 1_000_000_000,
    }),
    watcher,
  )
})

after(async () => {
  for (const part of parts) await part.stop()
  await book.stop()
})

const newWallet = (): Address => privateKeyToAddress(generatePrivateKey()).toLowerCase() as Address
const stateOf = ({ state, id }: Outgoing): Promise<string> => scalar<string>(book.pool, state, [id])

/** Waits until the gateway has looked at the chain some times. */
async function looked(times: number): Promise<void> {
  const before = chain.calls
  await until('the gateway looks at the chain', async () => chain.calls >= before + times)
}

async function play({ lies, gasGwei, blocks, happens, depth }: Step): Promise<void> {
  chain.lies = lies
  chain.baseFee = BigInt(gasGwei) * GWEI
  chain.mine(blocks)
  if (happens === 'stranger') chain.strangerSends()
  if (happens === 'reorg' || happens === 'reorgForgets') chain.reorganize(depth, happens === 'reorg')
  await looked(15)
}

/** The operator releases what the chain does not have; control itself books what it has. */
async function decideStuck(): Promise<void> {
  for (const row of await stuckTransactions(book.pool, 10)) {
    const isMade = row.attempts.some(({ hash }) => chain.has(hash))
    if (isMade) continue
    const next = await chain.client.getTransactionCount({ address: row.sender ?? '0x' })
    await releaseStuck(book.pool, outcomesOf(PRODUCTS), row, next, 'a stranger used its nonce')
  }
}

/** Everything is told honestly from here on. */
async function settle(outgoing: Outgoing): Promise<void> {
  chain.lies = HONEST
  chain.baseFee = GWEI
  await until(
    'it is sent and final',
    async () => {
      chain.mine(1)
      if (chain.head % (FINAL_BLOCKS * 2) === 0) await decideStuck()
      const open = await scalar<number>(book.pool, 'SELECT count(*) FROM chain_transactions WHERE state IN ($1, $2)', [
        'pending',
        'stuck',
      ])
      return (await stateOf(outgoing)) === 'sent' && open === 0
    },
    60_000,
  )
}

async function checkMoney(): Promise<void> {
  for (const { name, faults } of INVARIANTS) {
    const found = await book.pool.query({ text: faults, rowMode: 'array' })
    assert.deepEqual(found.rows, [], name)
  }
}

async function check(order: () => Promise<Outgoing>, count: { short: number; long: number }): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const outgoing = await order()
      for (const one of steps) {
        await play(one)
        assert.ok(chain.paidTo(outgoing.wallet) <= 1, `${outgoing.purpose} was paid more than once`)
      }
      await settle(outgoing)
      assert.equal(chain.paidTo(outgoing.wallet), 1, `${outgoing.purpose} was not paid once`)
      await checkMoney()
    }),
    { numRuns: rounds(count), endOnFailure: true },
  )
}

test('the checks of the audit are those that are meant', () => {
  assert.equal(INVARIANTS.length, CHECKS.size)
})

test('a withdrawal is paid once, whatever the nodes say meanwhile', async () => {
  await check(() => orderWithdrawal(book.pool, TOKEN, newWallet()), { short: 10, long: 1_000 })
})

test('so is a refund', async () => {
  await check(() => orderRefund(book.pool, TOKEN, newWallet()), { short: 4, long: 200 })
})

test('so is a share of revenue', async () => {
  await check(() => orderPayout(book.pool, TOKEN, newWallet(), ++periods), { short: 4, long: 200 })
})
