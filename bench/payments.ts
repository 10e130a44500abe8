// How many payments control settles on a chain: checked, booked, sent, in a block, credited and held, each once.
// node dist/bench/payments.js [payments] [--json]

import { join } from 'node:path'
import { pino } from 'pino'
import type { Address } from 'viem'
import { parseAddress } from '../contract/payments/address.ts'
import { type Eip3009Payment, replayKey } from '../contract/payments/signedPayment.ts'
import type { PaymentAsset } from '../contract/payments/terms.ts'
import { paymentDigest } from '../contract/payments/typedData.ts'
import { newId } from '../contract/wire/ids.ts'
import { OWNERS_KEY } from '../contract/wire/redisKeys.ts'
import { ensureAdmission } from '../control/admission/keeper.ts'
import { ChainService } from '../control/chain/chainService.ts'
import { Signer } from '../control/chain/signer.ts'
import { DEV_CHAIN_ID, startAnvil } from '../control/launch/chain/anvil.ts'
import {
  DEMO_TOKEN_ABI,
  type DevClient,
  deployContracts,
  devClient,
  devPrivateKey,
} from '../control/launch/chain/deploy.ts'
import { startPayments } from '../control/products/payments/onChain.ts'
import { Payments } from '../control/products/payments/payments.ts'
import type { PaymentOrder } from '../control/products/payments/x402/paymentOrder.ts'
import { RefusalCounts } from '../control/products/payments/x402/refusalCounts.ts'
import { migrate } from '../control/runtime/db/migrate.ts'
import type { Pool } from '../control/runtime/db/pool.ts'
import { outcomesOf, PRODUCTS } from '../control/service/products.ts'
import { limits } from './limits.ts'
import { startBookServers } from './parts/bookServers.ts'
import { newPayers, type Wallet } from './payers.ts'

const AT_ONCE = [1, 32] as const
const AMOUNT = 4_200n
const UNITS = 4_200_000
const WAIT_MS = 30_000
const READY_MS = 20_000

interface Figure {
  readonly atOnce: number
  readonly payments: number
  readonly perSecond: number
  /** From the order to the hold. */
  readonly medianMs: number
  readonly p99Ms: number
}

interface Ground {
  readonly pool: Pool
  readonly payments: Payments
  readonly client: DevClient
  readonly asset: PaymentAsset
  readonly treasury: Signer
  /** The proxy that serves the requests. */
  readonly owner: string
}

/** A request whose payment is signed and checked, as a proxy hands it over. */
async function newOrder({ asset, treasury, owner }: Ground, payer: Wallet, nonce: number): Promise<PaymentOrder> {
  const { address: token, name, version } = asset
  const from = payer.address.toLowerCase() as Address
  const unsigned: Eip3009Payment = {
    method: 'eip3009',
    chainId: DEV_CHAIN_ID,
    token,
    name,
    version,
    from,
    to: treasury.address,
    value: AMOUNT,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1_000) + 3_600),
    signature: '0x',
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  }
  const payment = { ...unsigned, signature: await payer.sign({ hash: paymentDigest(unsigned) }) }
  return {
    requestId: newId('req'),
    protocol: 'x402',
    payer: from,
    replayKey: replayKey(payment),
    asset: asset.id,
    transfer: { token, from, to: treasury.address, amount: AMOUNT },
    units: UNITS,
    holdUnits: UNITS,
    minUnits: 0,
    owner,
    model: 'acme/chat-small',
    endpoint: 'chat',
    sheetVersion: 1,
    streamed: false,
    challengeId: '',
    agent: '',
    serveByMs: Date.now() + WAIT_MS,
    payment,
    contractDigest: undefined,
    transaction: undefined,
    clientNetwork: '',
  }
}

/** Payers run concurrently; each pays sequentially. */
async function measure(ground: Ground, atOnce: number, count: number): Promise<Figure> {
  const payers = await newPayers(ground.client, ground.asset.address, atOnce)
  const each = Math.ceil(count / atOnce)
  const orders = await Promise.all(
    payers.map((payer) => Promise.all(Array.from({ length: each }, (_, nonce) => newOrder(ground, payer, nonce)))),
  )
  const times: number[] = []
  const begin = performance.now()
  await Promise.all(
    orders.map(async (own) => {
      for (const order of own) {
        const at = performance.now()
        await ground.payments.settle({ ...order, serveByMs: Date.now() + WAIT_MS }, WAIT_MS)
        times.push(performance.now() - at)
      }
    }),
  )
  const elapsedMs = performance.now() - begin
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  const perSecond = (times.length / elapsedMs) * 1_000
  return { atOnce, payments: times.length, perSecond, medianMs: at(0.5), p99Ms: at(0.99) }
}

/** Checks that the treasury's balance on the chain equals the payments in the book. */
async function verify({ pool, client, asset, treasury }: Ground, count: number): Promise<void> {
  const args = [treasury.address] as const
  const token = { address: asset.address, abi: DEMO_TOKEN_ABI } as const
  const has = await client.readContract({ ...token, functionName: 'balanceOf', args })
  const booked = await pool.query<{ units: number }>(`SELECT sum(units) AS units FROM transfers WHERE kind = 'pay_in'`)
  const isRight = has === AMOUNT * BigInt(count) && booked.rows[0]?.units === UNITS * count
  if (!isRight) throw new Error(`${count} payments: ${has} on the chain, ${booked.rows[0]?.units} units in the book`)
}

async function ready(chain: ChainService): Promise<void> {
  const deadlineMs = performance.now() + READY_MS
  while (!chain.isReady) {
    if (performance.now() > deadlineMs) throw new Error('payments are not taken')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function main(): Promise<void> {
  const [count = 320] = process.argv
    .slice(2)
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
  const log = pino({ level: process.env['LOG_LEVEL'] ?? 'error' })
  const servers = await startBookServers('payments')
  const { dir, pool, redis } = servers
  const node = await startAnvil({ dir: join(dir, 'chain'), logFile: join(dir, 'chain.log'), limits })
  const client = devClient(node.rpcUrl)
  await migrate(pool)
  await ensureAdmission({ pool, redis, log, limits })
  const { stablecoin } = await deployContracts(client)
  const asset: PaymentAsset = {
    id: 'stablecoin',
    address: parseAddress(stablecoin) ?? stablecoin,
    decimals: 6,
    name: 'USD Coin',
    version: '2',
    method: 'eip3009',
    usdUnits: 1_000_000_000,
  }
  const [treasury, relayer] = [new Signer(devPrivateKey(1)), new Signer(devPrivateKey(2))]
  const chain = new ChainService({
    config: {
      chainId: DEV_CHAIN_ID,
      rpcUrl: node.rpcUrl,
      confirmations: 1,
      finalBlocks: 30,
      depositConfirmations: 1,
      assets: [asset],
      agentRegistry: null,
      refundMinUnits: 1,
      depositMinUnits: 1,
      withdrawalMinUnits: 1,
      minChargeUnits: 0,
      gasFeeUnits: 0,
      blockSeconds: 1,
      settlementAnchor: null,
      reserveVault: null,
      lockTokens: null,
      settlementIntervalSeconds: 3_600,
      settlementAccountsMin: 1,
      holders: null,
      treasury,
      relayers: [relayer],
    },
    pool,
    redis,
    log,
    accountsOfWallets: async () => new Map(),
    accountOfWallet: async () => undefined,
    coinUsdUnits: async () => 1_000_000_000,
    starts: [startPayments],
    handlers: outcomesOf(PRODUCTS),
    limits,
  })
  const payments = new Payments(chain, new RefusalCounts(log, limits))
  try {
    await ready(chain)
    const ground: Ground = { pool, payments, client, asset, treasury, owner: newId('own') }
    await redis.zadd(OWNERS_KEY, Date.now(), ground.owner)
    const figures: Figure[] = []
    for (const atOnce of AT_ONCE) figures.push(await measure(ground, atOnce, count))
    await verify(
      ground,
      figures.reduce((sum, { payments: made }) => sum + made, 0),
    )
    const isJson = process.argv.includes('--json')
    console.log(isJson ? JSON.stringify(figures) : figures.map(sentence).join('\n'))
  } finally {
    await chain.stop(0)
    await node.process.stop()
    await servers.stop()
  }
}

function sentence({ atOnce, payments, perSecond, medianMs, p99Ms }: Figure): string {
  const times = `median ${medianMs.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`
  return `payments, ${atOnce} concurrent: ${perSecond.toFixed(0)} a second to the hold (${payments} made; ${times})`
}

await main()
