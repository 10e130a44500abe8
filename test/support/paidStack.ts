import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from 'viem'
import { createPool, type Pool } from '../../control/runtime/db/pool.ts'
import { type Payer, startChain, type TestChain } from './chain.ts'
import { limits } from './limits.ts'
import { RpcProxy } from './rpcProxy.ts'
import { type Stack, type StackOptions, startStack, until } from './stack.ts'
import { makeTempDir, removeTempDir } from './tempDir.ts'

/** A coin of the catalogs of tests that pay is worth half a dollar. */
const COIN_USD = '0.5'

export interface PaidStackOptions extends StackOptions {
  /** More members of the payments file, or what makes them on the chain. */
  readonly payments?: Record<string, unknown> | ((chain: TestChain) => Promise<Record<string, unknown>>)
  /** From one settlement batch to the next; there are none without it. */
  readonly settlementSeconds?: number
  /** The node can be stopped and started, and goes on where it was. */
  readonly keepChain?: boolean
}

/** A stack that takes payments on a chain of its own. */
export interface PaidStack {
  readonly stack: Stack
  readonly chain: TestChain
  /** The way of control to the chain. */
  readonly rpc: RpcProxy
  readonly pool: Pool
  /** The contract that settlement batches are anchored in. */
  readonly anchor: Address | undefined
  /** With /x402. */
  readonly url: (path: string) => string
  /** Waits until every payment is decided and everything that goes back has gone; then audits, the chain included. */
  audited(): Promise<void>
  /** Ends a test: the node is reached and makes blocks again, then as `audited`. */
  mended(): Promise<void>
  /** What a payer has of a token. */
  has(asset: 'coin' | 'stablecoin', payer: Payer): Promise<bigint>
  stop(): Promise<void>
}

/** Limits under which a test need not wait long; more often, stacks that run at once take the processor from each other. */
const QUICK = {
  chainSweepMs: 200,
  chainScanMs: 200,
  chainPollMs: 100,
  paymentMarginMs: 500,
  paymentCloseMs: 100,
  refundCheckMs: 100,
  replaceAfterMs: 2_000,
} as const

export async function startPaidStack(options: PaidStackOptions = {}): Promise<PaidStack> {
  const chain = await startChain({ keepState: options.keepChain === true })
  const rpc = await RpcProxy.start(chain.rpcUrl)
  const dir = makeTempDir('payments')
  const file = join(dir, 'payments.yaml')
  const anchor = options.settlementSeconds === undefined ? undefined : await chain.provideAnchor()
  const settlements = { settlement_anchor: anchor, settlement_interval_seconds: options.settlementSeconds }
  const more = typeof options.payments === 'function' ? await options.payments(chain) : options.payments
  writeFileSync(file, paymentsFile(chain, { ...settlements, ...more }))
  const catalog =
    typeof options.catalog === 'object' ? { coinUsd: COIN_USD, ...options.catalog } : { coinUsd: COIN_USD }
  const stack = await startStack({
    ...options,
    catalog: typeof options.catalog === 'function' ? options.catalog : catalog,
    limits: { ...QUICK, ...options.limits },
    env: {
      CHAIN_RPC_URL: rpc.url,
      SLUICE_PAYMENTS: file,
      SLUICE_TREASURY_KEY: chain.treasuryKey,
      SLUICE_RELAYER_KEYS: chain.relayerKey,
      ...options.env,
    },
  })
  const pool = createPool(stack.databaseUrl, limits)
  const paid: PaidStack = {
    stack,
    chain,
    rpc,
    pool,
    anchor,
    url: (path) => `${stack.baseUrl}/x402${path}`,
    has: (asset, payer) => chain.balanceOf(asset, payer.address),
    audited: async () => {
      await stack.settled()
      await until('every payment is decided and refunded', () => isSettled(pool, chain))
      await stack.audit()
    },
    mended: async () => {
      rpc.mend()
      await chain.resume()
      await paid.audited()
    },
    stop: async () => {
      await pool.end()
      await stack.stop()
      await rpc.stop()
      await chain.stop()
      removeTempDir(dir)
    },
  }
  await until('payments are taken', async () => (await fetch(paid.url('/v1/chat/completions'), probe())).status !== 503)
  return paid
}

function probe(): RequestInit {
  const body = JSON.stringify({ model: 'test/small', messages: [{ role: 'user', content: 'hello' }] })
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

/** The payments file for a test's chain: JSON is YAML. */
export function paymentsFile(chain: TestChain, changes: Record<string, unknown> = {}): string {
  const { coin, stablecoin, registry } = chain.contracts
  return JSON.stringify({
    chain_id: chain.chainId,
    final_blocks: 5,
    deposit_confirmations: 1,
    coin: { address: coin, decimals: 18, name: 'Demo Coin' },
    stablecoin: { address: stablecoin, decimals: 6, name: 'USD Coin', version: '2', usd: '1' },
    agent_registry: registry,
    refund_min_usd: '0.000000001',
    min_charge_usd: '0',
    gas_fee_usd: '0',
    settlement_accounts_min: 1,
    block_seconds: 1,
    ...changes,
  })
}

async function isSettled(pool: Pool, chain: TestChain): Promise<boolean> {
  const head = Number(await chain.client.getBlockNumber())
  const open = await pool.query<{ count: number; scanned: number }>(
    `SELECT (SELECT count(*) FROM payments WHERE state IN ('settling', 'paid')
             OR (state = 'closed' AND back_amount > 0 AND refund_id IS NULL))
       + (SELECT count(*) FROM refunds WHERE state = 'sending')
       + (SELECT count(*) FROM deposits WHERE state = 'settling')
       + (SELECT count(*) FROM withdrawals WHERE state = 'sending')
       + (SELECT count(*) FROM lock_withdrawals WHERE state = 'sending')
       + (SELECT count(*) FROM lock_scans WHERE scanned_block < $1)
       + (SELECT count(*) FROM chain_transactions WHERE state = 'pending')
       + (SELECT count(*) FROM admission_events) AS count,
       (SELECT scanned_block FROM chain_identity) AS scanned`,
    [head],
  )
  const row = open.rows[0]
  return row?.count === 0 && row.scanned >= head
}
