// Goal: a payment or a deposit whose outcome cannot be found out or booked, as long as that lasts, keeps no other waiting. Method:
// the parts that look for outcomes run over a book of the test; the chain is a function that answers, or fails.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPublicClient, custom, type Hex, pad, toHex } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { MAX_UNITS } from '../../../contract/money/units.ts'
import type { Address } from '../../../contract/payments/address.ts'
import { payerAccountId } from '../../../contract/payments/payerAccount.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { MOVEMENT_INVARIANTS } from '../../../control/audit/movementChecks.ts'
import { coinAccount, REVENUE } from '../../../control/book/ledger/accounts.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { openAccount } from '../../../control/book/ledger/openAccount.ts'
import { postTransfers } from '../../../control/book/ledger/postTransfers.ts'
import { ContractWallets } from '../../../control/chain/contractSignature.ts'
import { FeeOracle } from '../../../control/chain/fees.ts'
import { Signer } from '../../../control/chain/signer.ts'
import { transactionOf } from '../../../control/chain/transactionRow.ts'
import { TRANSFER_TOPIC } from '../../../control/chain/transferLog.ts'
import { TransactionWatcher } from '../../../control/chain/watcher.ts'
import { depositOutcome } from '../../../control/products/payments/deposits/depositOutcome.ts'
import { insertDeposit } from '../../../control/products/payments/deposits/depositRow.ts'
import { DepositScanner } from '../../../control/products/payments/deposits/depositScanner.ts'
import { Deposits } from '../../../control/products/payments/deposits/deposits.ts'
import { PaymentCloser } from '../../../control/products/payments/x402/closer.ts'
import { PAID } from '../../../control/products/payments/x402/paymentOutcome.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { limitsWith, paymentLimits } from '../../support/limits.ts'
import {
  type Book,
  dispatchEvents,
  drainAll,
  ensureOpen,
  fundedAccount,
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

const TREASURY: Address = `0x${'b'.repeat(40)}`
const DEPOSIT_NANOS = 1_000_000_000

type Request = { readonly method: string; readonly params?: readonly unknown[] }

const chainOf = (answer: (request: Request) => unknown) =>
  createPublicClient({ cacheTime: 0, transport: custom({ request: async (asked: Request) => answer(asked) }) })

const watcherOf = (chain: ReturnType<typeof chainOf>, chainSweepMs: number) =>
  new TransactionWatcher({
    pool: book.pool,
    chain,
    log,
    handlers: { deposit: depositOutcome },
    confirmations: { confirmations: 1, depositConfirmations: 1 },
    limits: limitsWith({ chainSweepMs, chainPollMs: 20 }),
  })

/** A deposit that a wallet has signed for. @param digit of the address of the wallet */
async function deposit(digit: string, accountId = 'acct_of_nobody') {
  const [id, wallet] = [newId('dep'), `0x${digit.repeat(40)}` as Address]
  const replayKey = `eip3009:${wallet}:${pad(wallet)}`
  const amounts = { amount: 1_000_000n, nanos: DEPOSIT_NANOS, units: DEPOSIT_NANOS }
  const row = { id, accountId, replayKey, wallet, asset: 'stablecoin', token: TOKEN as Address, ...amounts }
  await withTransaction(book.pool, (client) =>
    insertDeposit(client, { ...row, source: 'authorization', state: 'settling' }),
  )
  return { id, wallet }
}

const depositState = (id: string) => scalar<string>(book.pool, 'SELECT state FROM deposits WHERE id = $1', [id])

function depositsOver(chain: ReturnType<typeof chainOf>, watcher: TransactionWatcher): Deposits {
  const some = limitsWith({ depositCheckMs: 20 })
  const contracts = new ContractWallets('http://127.0.0.1:1', some)
  const [fees, relayer] = [new FeeOracle(chain, some), new Signer(generatePrivateKey())]
  const parts = { pool: book.pool, chain, chainId: 1, contracts, fees, watcher, log, limits: some }
  return new Deposits({ ...parts, relayers: [relayer], treasury: TREASURY })
}

test('a deposit without a transfer has failed while the chain cannot say what became of another one', async () => {
  const [unknown, unmade] = [await deposit('1'), await deposit('2')]
  const chain = chainOf(({ method, params }) => {
    if (method !== 'eth_getLogs') return '0x10'
    if (JSON.stringify(params).includes(pad(unknown.wallet))) throw new Error('the node has pruned these blocks')
    return []
  })
  const watcher = watcherOf(chain, 20)
  const deposits = depositsOver(chain, watcher)
  try {
    await until('the other one has failed', async () => (await depositState(unmade.id)) === 'failed')
    assert.equal(await depositState(unknown.id), 'settling')
  } finally {
    await deposits.stop()
    await watcher.stop()
  }
})

/** A transaction of the book that makes a deposit. */
async function transactionOfDeposit({ id, wallet }: Awaited<ReturnType<typeof deposit>>, hash: Hex) {
  const stored = await scalar<number>(
    book.pool,
    `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount)
     VALUES ('deposit', $1, $2, $3, $4, 1000000) RETURNING id`,
    [id, TOKEN, wallet, TREASURY],
  )
  const attempt = 'INSERT INTO chain_attempts (hash, transaction_id, max_fee, priority_fee) VALUES ($1, $2, 0, 0)'
  await book.pool.query(attempt, [hash, stored])
  const row = await transactionOf(book.pool, stored)
  assert.ok(row)
  return row
}

/** As the node answers. */
function receiptOf(hash: Hex, from: Address) {
  const place = { blockHash: pad('0x1'), blockNumber: '0x5', transactionHash: hash, transactionIndex: '0x0' }
  const topics = [TRANSFER_TOPIC, pad(from), pad(TREASURY)]
  const transfer = { ...place, address: TOKEN, topics, data: pad(toHex(1_000_000)), logIndex: '0x0', removed: false }
  const gas = { cumulativeGasUsed: '0x1', gasUsed: '0x1', effectiveGasPrice: '0x1', type: '0x2' }
  return { ...place, ...gas, from, to: TOKEN, contractAddress: null, logs: [transfer], logsBloom: '0x', status: '0x1' }
}

test('a deposit is found as fast beside one whose account is too full for it, which gets it once there is room', async () => {
  const [full, other] = [await fundedAccount(book, 1), await fundedAccount(book, 1)]
  const most = { accountId: full, nanos: MAX_UNITS - 1, units: MAX_UNITS - 1, ref: newId('evt') }
  await withTransaction(book.pool, (client) => creditCoin(client, most))
  const [stuck, behind] = [await deposit('3', full), await deposit('4', other)]
  const [first, second] = [pad('0xa1'), pad('0xa2')]
  let asked = 0
  const chain = chainOf(({ params }) => {
    if (params?.[0] === first) return receiptOf(first, stuck.wallet)
    // In a block from the second question on.
    return ++asked > 1 ? receiptOf(second, behind.wallet) : null
  })
  const rows = [await transactionOfDeposit(stuck, first), await transactionOfDeposit(behind, second)]
  const watcher = watcherOf(chain, 600_000)
  try {
    for (const row of rows) watcher.watch(row)
    await until('the other one is credited', async () => (await depositState(behind.id)) === 'credited')
    assert.equal(await depositState(stuck.id), 'settling')
  } finally {
    await watcher.stop()
  }
  const spent = { kind: 'fee', ref: newId('evt'), debit: coinAccount(full), credit: REVENUE, units: DEPOSIT_NANOS }
  await postTransfers(book.pool, [spent])
  const later = watcherOf(chain, 20)
  try {
    for (const row of rows.slice(0, 1)) later.watch(row)
    await until('it is credited once there is room', async () => (await depositState(stuck.id)) === 'credited')
  } finally {
    await later.stop()
  }
})

test('a transfer that a reorganization has changed is a deposit of its own, and holds up no other', async () => {
  const [one, other] = [await fundedAccount(book, 1), await fundedAccount(book, 1)]
  const accounts = new Map<Address, string>([
    [`0x${'5'.repeat(40)}`, one],
    [`0x${'6'.repeat(40)}`, other],
  ])
  const logOf = (transactionHash: Hex, digit: string, amount: number, blockNumber: Hex) => {
    const topics = [TRANSFER_TOPIC, pad(`0x${digit.repeat(40)}`), pad(TREASURY)]
    return { address: TOKEN, topics, data: pad(toHex(amount)), logIndex: '0x0', transactionHash, blockNumber }
  }
  let [head, logs] = ['0x5', [logOf(pad('0xb1'), '5', 1_000_000, '0x5')]]
  const chain = chainOf(({ method, params }) => {
    if (method === 'eth_blockNumber') return head
    if (method === 'eth_getBlockByNumber') return { number: head, hash: pad('0x1'), timestamp: '0x1', transactions: [] }
    // Those that the treasury gets.
    return JSON.stringify(params).includes(`null,"${pad(TREASURY)}"`) ? logs : []
  })
  await book.pool.query(
    `INSERT INTO chain_identity (chain_id, genesis_hash, treasury, quote_secret, scanned_block) VALUES (1, '', $1, '', 0)`,
    [TREASURY],
  )
  const asset = { id: 'stablecoin', address: TOKEN as Address, decimals: 6, name: '', version: '' } as const
  const scanner = new DepositScanner({
    pool: book.pool,
    chain,
    treasury: TREASURY,
    assets: [{ ...asset, method: 'eip3009', usdUnits: DEPOSIT_NANOS }],
    confirmations: 1,
    finalBlocks: 4,
    accountOfWallet: async (_client, wallet) => accounts.get(wallet),
    coinUsdUnits: async () => DEPOSIT_NANOS,
    log,
    limits: limitsWith({ chainScanMs: 20 }),
  })
  const has = (accountId: string, nanos: number) => async () =>
    (await scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [coinAccount(accountId)])) ===
    nanos + 1
  try {
    await until('the first transfer is credited', has(one, DEPOSIT_NANOS))
    // Its transaction moves more in the block that it is in now, at the same place.
    logs = [logOf(pad('0xb1'), '5', 2_000_000, '0x6'), logOf(pad('0xb2'), '6', 1_000_000, '0x6')]
    head = '0x6'
    await until('that of another wallet is credited', has(other, DEPOSIT_NANOS))
    assert.equal(await has(one, 3 * DEPOSIT_NANOS)(), true)
  } finally {
    await scanner.stop()
  }
  const onChain = MOVEMENT_INVARIANTS.find(({ name }) => name === 'every credited deposit is on the chain')
  assert.ok(onChain)
  const found = await book.pool.query<{ fault: string }>(`SELECT fault FROM (${onChain.faults}) AS f (fault)`)
  assert.deepEqual(
    found.rows.filter(({ fault }) => fault.includes('was not seen')),
    [],
  )
})

test('a deposit that a third party submitted long ago is credited, whatever became of its own transaction since', async () => {
  const accountId = await fundedAccount(book, 1)
  const made = await deposit('7', accountId)
  const [own, third] = [pad('0xc1'), pad('0xc2')]
  const { id } = await transactionOfDeposit(made, own)
  const reverted = `UPDATE chain_transactions SET state = 'reverted', final = true, hash = $2, block_number = 5, block_hash = '',
    since_block = 4 WHERE id = $1`
  await book.pool.query(reverted, [id, own])
  const { logs, ...receipt } = receiptOf(third, made.wallet)
  const chain = chainOf(({ method, params }) => {
    if (method === 'eth_blockNumber') return toHex(5_000)
    if (method === 'eth_getTransactionByHash') return { hash: third, input: pad(made.wallet), blockNumber: '0x5' }
    if (method !== 'eth_getLogs') return { ...receipt, logs }
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: Hex; toBlock: Hex }]
    return Number(fromBlock) <= 5 && Number(toBlock) >= 5 ? logs : []
  })
  const watcher = watcherOf(chain, 20)
  const deposits = depositsOver(chain, watcher)
  try {
    await until('the deposit is decided', async () => (await depositState(made.id)) !== 'settling')
    assert.equal(await depositState(made.id), 'credited')
  } finally {
    await deposits.stop()
    await watcher.stop()
  }
})
