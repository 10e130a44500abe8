import assert from 'node:assert/strict'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload } from '@x402/core/types'
import { parseAbiItem } from 'viem'
import { type Address, parseAddress } from '../../../contract/payments/address.ts'
import { unitsOf } from '../../../contract/payments/conversion.ts'
import { payerAccountId } from '../../../contract/payments/payerAccount.ts'
import { replayKey } from '../../../contract/payments/signedPayment.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import { readPaymentHeader } from '../../../contract/payments/x402.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { EventDispatcher } from '../../../control/admission/dispatcher.ts'
import { AdmissionKeeper } from '../../../control/admission/keeper.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import type { ChainServiceOptions } from '../../../control/chain/chainService.ts'
import type { PaymentsConfig } from '../../../control/chain/paymentsConfig.ts'
import { Signer } from '../../../control/chain/signer.ts'
import type { PaymentOrder } from '../../../control/products/payments/x402/paymentOrder.ts'
import type { Settled } from '../../../control/products/payments/x402/settler.ts'
import { run as verifyPayments } from '../../../workers/verifyPayments.ts'
import { type Payer, startChain, type TestChain } from '../chain.ts'
import { requirementsFor, signPayment } from '../clients/payloads.ts'
import { paymentLimits } from '../limits.ts'
import { RpcProxy } from '../rpcProxy.ts'
import { type Book, ensureOpen, log, scalar, startBook, TestProxy, until } from './ledger.ts'
import { RunningPayments } from './runningPayments.ts'

const USD = 1_000_000_000
const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
const SERVE_MS = 30_000

/** What `newOrder` pays, in atomic units of the stablecoin. */
export const AMOUNT = 2_000n

/** The assets of a test's chain as control knows them; a coin is worth half a dollar. */
export function assetsOf(chain: TestChain): { stablecoin: PaymentAsset; coin: PaymentAsset } {
  const [coin, stablecoin] = [chain.contracts.coin, chain.contracts.stablecoin].map(
    (address) => parseAddress(address) as Address,
  ) as [Address, Address]
  const dollar = { name: 'USD Coin', version: '2', method: 'eip3009', usdUnits: USD } as const
  const permit = { name: 'Demo Coin', version: '1', method: 'permit2', usdUnits: 0 } as const
  return {
    stablecoin: { id: 'stablecoin', address: stablecoin, decimals: 6, ...dollar },
    coin: { id: 'coin', address: coin, decimals: 18, ...permit },
  }
}

/** Control's side of payments in this process, over a real book, Redis and chain. */
export class PaymentBench {
  readonly book: Book
  readonly chain: TestChain
  /** The way to the chain. */
  readonly rpc: RpcProxy
  readonly proxy: TestProxy
  /** Who is linked to which account, for deposits. */
  readonly wallets = new Map<string, string>()
  payments: RunningPayments
  private readonly parts: Array<{ stop(): Promise<void> }>
  private readonly changes: Partial<PaymentsConfig>
  private readonly limits: typeof paymentLimits

  constructor({
    book,
    chain,
    rpc,
    changes,
    limits,
  }: {
    book: Book
    chain: TestChain
    rpc: RpcProxy
    changes: Partial<PaymentsConfig>
    limits: typeof paymentLimits
  }) {
    this.book = book
    this.chain = chain
    this.rpc = rpc
    this.changes = changes
    this.limits = limits
    this.proxy = new TestProxy(book.redis)
    const { pool, redis } = book
    this.parts = [
      new SettlementConsumer({
        redisUrl: book.redisServer.url,
        pool,
        log,
        consumer: newId('own'),
        onBooked: () => this.payments.onBooked(),
        limits,
      }),
      new EventDispatcher({ pool, redis, log, limits }),
      new AdmissionKeeper({ pool, redis, log, limits }),
    ]
    this.payments = this.startPayments()
  }

  /** Another control's payments over the same book, as after a restart. */
  startPayments(changes: Partial<PaymentsConfig> = {}, options: Partial<ChainServiceOptions> = {}): RunningPayments {
    const { pool, redis } = this.book
    const config: PaymentsConfig = {
      chainId: this.chain.chainId,
      rpcUrl: this.rpc.url,
      confirmations: 1,
      finalBlocks: 30,
      depositConfirmations: 1,
      assets: Object.values(assetsOf(this.chain)),
      agentRegistry: null,
      refundMinUnits: 1,
      depositMinUnits: USD,
      withdrawalMinUnits: USD,
      minChargeUnits: 0,
      gasFeeUnits: 0,
      blockSeconds: 1,
      settlementAnchor: null,
      reserveVault: null,
      lockTokens: null,
      settlementIntervalSeconds: 3_600,
      settlementAccountsMin: 1,
      holders: null,
      treasury: new Signer(this.chain.treasuryKey),
      relayers: [new Signer(this.chain.relayerKey)],
      ...this.changes,
      ...changes,
    }
    return new RunningPayments({
      config,
      pool,
      redis,
      log,
      accountOfWallet: async (_client, address) => this.wallets.get(address),
      accountsOfWallets: async (_client, addresses) =>
        new Map(
          addresses
            .flatMap((address) => [[address, this.wallets.get(address) ?? ''] as const])
            .filter(([, id]) => id !== ''),
        ),
      coinUsdUnits: async () => USD / 2,
      limits: this.limits,
      ...options,
    })
  }

  /** Waits until payments are taken. */
  ready(): Promise<void> {
    return until('payments are taken', async () => this.payments.service.isReady)
  }

  /** A request whose payment the reference client has signed, as the proxy hands it to control. */
  async order(payer: Payer, asset: 'coin' | 'stablecoin', amount: bigint): Promise<PaymentOrder> {
    return this.orderOf(await signPayment(payer, requirementsFor(this.chain, asset, amount)), asset)
  }

  orderOf(payload: PaymentPayload, asset: 'coin' | 'stablecoin'): PaymentOrder {
    const found = readPaymentHeader(encodePaymentSignatureHeader(payload), 100_000)
    assert.ok(found)
    const [verdict] = verifyPayments([found])
    assert.ok(verdict !== undefined && verdict.kind !== 'refused', JSON.stringify(verdict))
    const payment = { ...found.payment, signature: verdict.signature }
    const { decimals, usdUnits } = assetsOf(this.chain)[asset]
    const units = unitsOf(payment.value, decimals, usdUnits === 0 ? USD / 2 : usdUnits)
    return {
      requestId: newId('req'),
      protocol: 'x402',
      payer: payment.from,
      replayKey: replayKey(payment),
      asset,
      transfer: { token: payment.token, from: payment.from, to: payment.to, amount: payment.value },
      units,
      holdUnits: Math.floor(units * 0.9),
      minUnits: 0,
      owner: this.proxy.owner,
      model: 'acme/chat-small',
      endpoint: 'chat',
      sheetVersion: 1,
      streamed: false,
      challengeId: '',
      agent: '',
      serveByMs: Date.now() + SERVE_MS,
      payment,
      contractDigest: verdict.kind === 'contract' ? verdict.digest : undefined,
      transaction: undefined,
      clientNetwork: '127.0.0.1',
    }
  }

  /** A new payer, and a request for which it has signed. */
  async newOrder(serveMs = SERVE_MS): Promise<[Payer, PaymentOrder]> {
    const payer = await this.chain.newPayer()
    return [payer, { ...(await this.order(payer, 'stablecoin', AMOUNT)), serveByMs: Date.now() + serveMs }]
  }

  /** The one value that the book answers. */
  scalar<T>(sql: string, ...values: unknown[]): Promise<T> {
    return scalar<T>(this.book.pool, sql, values)
  }

  /** How far a payment is. */
  stateOf(order: PaymentOrder): Promise<string> {
    return this.scalar('SELECT state FROM payments WHERE id = $1', order.requestId)
  }

  /** What became of a transaction. @param ref the request id, for that of a payment */
  transactionState(ref: string): Promise<string> {
    return this.scalar('SELECT state FROM chain_transactions WHERE ref = $1', ref)
  }

  settle(order: PaymentOrder, waitMs = SERVE_MS): Promise<Settled> {
    return this.payments.settle(order, waitMs)
  }

  /** What the proxy does when a paid request has ended. @param charge units, or -1 when nothing was served */
  async serve(order: PaymentOrder, charge: number): Promise<void> {
    const account = payerAccountId(order.payer)
    const { code } = await this.proxy.settle(account, order.requestId, charge, order.holdUnits)
    assert.equal(code, 0, `settle.lua answered ${code}`)
  }

  /** Waits until every payment is decided and everything that goes back has gone. */
  async settled(): Promise<void> {
    await until(
      'payments are closed and refunded',
      async () =>
        (await this.scalar<number>(
          `SELECT (SELECT count(*) FROM payments WHERE state IN ('settling', 'paid')
                   OR (state = 'closed' AND back_amount > 0 AND refund_id IS NULL))
             + (SELECT count(*) FROM refunds WHERE state = 'sending')
             + (SELECT count(*) FROM chain_transactions WHERE state = 'pending')
             + (SELECT count(*) FROM admission_events)`,
        )) === 0,
      30_000,
    )
    const head = Number(await this.chain.client.getBlockNumber())
    await until('transfers are read', async () => {
      return (await this.scalar<number>('SELECT scanned_block FROM chain_identity')) >= head
    })
  }

  /** Fails with what is wrong unless every check of the audit holds, those of the chain included. */
  async audit(apart = ''): Promise<void> {
    const checks = await runAudit(this.book.pool, this.book.redis, this.limits, { rpcUrl: this.chain.rpcUrl })
    const failed = checks.filter(({ ok, name }) => !ok && name !== apart)
    assert.deepEqual(failed, [])
  }

  /** Ends a test: the node is reached and makes blocks again, everything is decided, and the audit is clean. */
  async mended(): Promise<void> {
    this.rpc.mend()
    await this.chain.resume()
    await this.settled()
    await this.audit()
  }

  /** Ends control's side of payments as a crash would, and starts another one. */
  async restart(): Promise<void> {
    await this.payments.stop(0)
    this.payments = this.startPayments()
    await this.ready()
  }

  /** Gives a payment that was refused a new request, as a client that sends it again. */
  again(order: PaymentOrder): PaymentOrder {
    return { ...order, requestId: newId('req'), serveByMs: Date.now() + SERVE_MS }
  }

  /** Transfers that the treasury got from a payer. */
  async arrived(asset: 'coin' | 'stablecoin', payer: Payer): Promise<number> {
    const logs = await this.chain.client.getLogs({
      address: this.chain.contracts[asset],
      event: TRANSFER,
      args: { from: payer.address, to: this.chain.treasury.address },
      fromBlock: 0n,
    })
    return logs.length
  }

  /** Ends all that works on the book, which stays as it is then. */
  async standStill(): Promise<void> {
    await this.payments.stop(1_000)
    await Promise.all(this.parts.splice(0).map((part) => part.stop()))
  }

  async stop(): Promise<void> {
    await this.standStill()
    await this.book.stop()
    await this.rpc.stop()
    await this.chain.stop()
  }
}

/** Starts chain, database, Redis and control's side of payments. */
export async function startPaymentBench(
  changes: Partial<PaymentsConfig> = {},
  limits = paymentLimits,
): Promise<PaymentBench> {
  const [book, chain] = await Promise.all([startBook(), startChain()])
  await ensureOpen(book)
  const rpc = await RpcProxy.start(chain.rpcUrl)
  const bench = new PaymentBench({ book, chain, rpc, changes, limits })
  await bench.proxy.beat()
  await bench.ready()
  return bench
}
