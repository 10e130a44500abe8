import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type BatchSample, NO_BATCHES } from '../batch/batchSample.ts'
import { type CheckpointSample, NO_CHECKPOINTS } from '../book/checkpoint/checkpointSample.ts'
import type { SettlementStats } from '../book/settlement/consumer.ts'
import type { RejectedEvidence } from '../catalog/attestation/rejectedEvidence.ts'
import { NO_PROVIDERS, type ProviderSample } from '../products/marketplace/serving/providerSample.ts'
import { NO_OPEN_MONEY, type OpenMoney } from '../products/payments/x402/openMoney.ts'
import { NO_RESERVE, type ReserveSample } from '../products/reserve/reserveSample.ts'
import type { RpcObserver } from '../runtime/bus/rpcServer.ts'
import { type BacklogSample, EMPTY_BACKLOG } from './backlog.ts'
import { type LeaseSample, NO_LEASES } from './leaseSample.ts'

const RPC_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** Sources of the values of a scrape. */
export interface MetricsSources {
  settlement(): SettlementStats
  /** Holds voided because their proxy was dead. */
  orphansVoided(): number
  /** Units taken back from leases because their proxy was dead. */
  takenBackUnits(): number
  /** Reads Redis; a rejection leaves the last numbers. */
  leases(): Promise<LeaseSample>
  /** Reads Redis; a rejection leaves the last numbers. */
  backlog(): Promise<BacklogSample>
  /** Reads the book; absent when no payments are taken. A rejection leaves the last numbers. */
  openMoney?(): Promise<OpenMoney>
  /** Refused payments by code; absent when no payments are taken. */
  paymentsRefused?(): ReadonlyMap<string, number>
  /** Reads the book; absent when no checkpoints are signed. A rejection leaves the last numbers. */
  checkpoints?(): Promise<CheckpointSample>
  /** Reads the book; a rejection leaves the last numbers. */
  reserve(): Promise<ReserveSample>
  /** Reads the book; a rejection leaves the last numbers. */
  batches(): Promise<BatchSample>
  /** Since the process began. */
  priceLists(): { readonly reads: number; readonly failures: number }
  /** Reads the book; a rejection leaves the last number. */
  pricesAboveSold(): Promise<number>
  /** Reads the book; a rejection leaves the last numbers. */
  providers(): Promise<ProviderSample>
  /** Of the private tier, since the process began. */
  rejectedEvidence(): ReturnType<RejectedEvidence['totals']>
}

/** The metrics of control, served only on 127.0.0.1. Labels have fixed sets of values. */
export class ControlMetrics {
  /** All metrics, with their names, types and labels. */
  readonly registry = new Registry()
  private readonly rpcCount: Counter<'operation' | 'outcome'>
  private readonly rpcSeconds: Histogram<'operation'>
  private readonly server: Server
  private backlog = EMPTY_BACKLOG
  private leases = NO_LEASES
  private openMoney = NO_OPEN_MONEY
  private batches = NO_BATCHES
  private checkpoints = NO_CHECKPOINTS
  private pricesAboveSold = 0
  private providers = NO_PROVIDERS
  private reserve = NO_RESERVE

  constructor(sources: MetricsSources) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry, prefix: 'sluice_control_' })
    this.rpcCount = new Counter({
      name: 'sluice_control_rpc_total',
      help: 'Calls of the proxies by operation and outcome',
      labelNames: ['operation', 'outcome'],
      registers,
    })
    this.rpcSeconds = new Histogram({
      name: 'sluice_control_rpc_seconds',
      help: 'Time from taking a call off the stream to its answer',
      labelNames: ['operation'],
      buckets: RPC_SECONDS,
      registers,
    })
    this.addSettlement(sources)
    this.addBacklog()
    this.addLeases()
    if (sources.openMoney !== undefined) this.addOpenMoney()
    if (sources.paymentsRefused !== undefined) this.addRefusals(sources.paymentsRefused)
    this.addBatches()
    this.addReserve()
    this.addPriceLists(sources)
    this.addProviders()
    this.addEvidence(sources)
    if (sources.checkpoints !== undefined) this.addCheckpoints()
    this.server = createServer((request, response) => {
      // A rare scrape over keep-alive could race with the idle timeout of its connection.
      response.setHeader('connection', 'close')
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end()
        return
      }
      void this.text(sources).then(
        (text) => response.writeHead(200, { 'content-type': this.registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      )
    })
  }

  readonly observeRpc: RpcObserver = (operation, outcome, seconds) => {
    this.rpcCount.inc({ operation, outcome })
    this.rpcSeconds.observe({ operation }, seconds)
  }

  /** @param port zero takes any free one. @returns the port taken */
  async listen(port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, '127.0.0.1', resolve)
    })
    return (this.server.address() as AddressInfo).port
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  private async text(sources: MetricsSources): Promise<string> {
    this.backlog = await sources.backlog().catch(() => this.backlog)
    this.leases = await sources.leases().catch(() => this.leases)
    this.openMoney = (await sources.openMoney?.().catch(() => undefined)) ?? this.openMoney
    this.reserve = await sources.reserve().catch(() => this.reserve)
    this.batches = await sources.batches().catch(() => this.batches)
    this.checkpoints = (await sources.checkpoints?.().catch(() => undefined)) ?? this.checkpoints
    this.providers = await sources.providers().catch(() => this.providers)
    this.pricesAboveSold = await sources.pricesAboveSold().catch(() => this.pricesAboveSold)
    return this.registry.metrics()
  }

  private addSettlement(sources: MetricsSources): void {
    const add = (name: string, help: string, field: keyof SettlementStats) => {
      this.addTotal(`settlement_${name}`, help, () => sources.settlement()[field])
    }
    add('batches', 'Batches committed to the book', 'batches')
    add('receipts', 'Receipts booked', 'receipts')
    add('duplicates', 'Entries that were booked before', 'duplicates')
    add('rejects', 'Entries that could not be booked and wait for an operator', 'rejects')
    add('retries', 'Batches and reads repeated after an error', 'retries')
    add('shortfall_units', 'Units charged beyond what the book had', 'shortfallUnits')
    this.addTotal('orphans_voided', 'Holds voided because their proxy was gone', sources.orphansVoided)
    this.addTotal('leases_taken_back_units', 'Units of leases whose proxy was gone', sources.takenBackUnits)
  }

  /** A total that its owner counts and that only grows; it is read out when asked for. */
  private addTotal(name: string, help: string, value: () => number): void {
    new Counter({
      name: `sluice_control_${name}_total`,
      help,
      registers: [this.registry],
      collect() {
        this.reset()
        this.inc(value())
      },
    })
  }

  private addRefusals(refused: () => ReadonlyMap<string, number>): void {
    new Counter({
      name: 'sluice_control_payments_refused_total',
      help: 'Refused payments by code',
      labelNames: ['code'],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const [code, count] of refused()) this.inc({ code }, count)
      },
    })
  }

  /** A number that is read out when asked for. */
  private addGauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `sluice_control_${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }

  private addBatches(): void {
    this.addGauge('batch_jobs_open', 'Batch jobs not ended yet, counted up to 100,000', () => this.batches.jobsOpen)
    this.addGauge('batch_job_oldest_seconds', 'Age of the oldest of these', () => this.batches.oldestMs / 1_000)
    this.addGauge('webhooks_waiting', 'Webhooks not delivered yet', () => this.batches.webhooksWaiting)
  }

  private addPriceLists({ priceLists }: MetricsSources): void {
    this.addTotal('price_list_reads', "Readings of providers' price lists", () => priceLists().reads)
    this.addTotal('price_list_failures', 'Of these, failed', () => priceLists().failures)
    this.addGauge('prices_above_sold', 'Models whose list price is above what is sold', () => this.pricesAboveSold)
  }

  private addReserve(): void {
    const add = (name: string, help: string, value: (sample: ReserveSample) => number) =>
      this.addGauge(name, help, () => value(this.reserve))
    add('reserve_held_units', 'What is held on the chain against what is owed', ({ heldUnits }) => heldUnits)
    add('reserve_owed_units', 'What is owed to accounts and payers', ({ owedUnits }) => owedUnits)
    add('reserve_short', '1 while less is held than owed', ({ isShort }) => Number(isShort))
    add('reserve_reading_age_seconds', 'Age of the last reading of the reserve', ({ ageSeconds }) => ageSeconds)
    add('withdrawals_paused', '1 while withdrawals are not taken', ({ isPaused }) => Number(isPaused))
    add('attestation_age_seconds', 'Age of the last attestation; 0 for none', (sample) => sample.attestationAgeSeconds)
  }

  private addProviders(): void {
    this.addGauge('providers_probation', 'Registered providers on probation, by model', () => this.providers.probation)
    this.addGauge('providers_serving', 'Registered providers in full service, by model', () => this.providers.serving)
    this.addGauge('providers_suspended', 'Registered providers suspended, by model', () => this.providers.suspended)
  }

  private addEvidence({ rejectedEvidence }: MetricsSources): void {
    new Counter({
      name: 'sluice_control_evidence_rejected_total',
      help: 'Evidence of hardware for the private tier that was rejected or did not arrive, by provider and reason',
      labelNames: ['provider', 'reason'],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const { provider, reason, count } of rejectedEvidence()) this.inc({ provider, reason }, count)
      },
    })
  }

  private addCheckpoints(): void {
    const add = (name: string, help: string, field: keyof CheckpointSample) =>
      this.addGauge(name, help, () => this.checkpoints[field])
    add('checkpoint_age_seconds', 'Age of the last checkpoint of the usage logs', 'ageSeconds')
    add('checkpoint_heads', 'Heads of usage logs that it signs', 'heads')
    add('receipts_unsigned', 'Receipts that are booked and in no checkpoint yet', 'receiptsUnsigned')
    add('logs_rewound', 'Usage logs that are not what was signed of them, and are signed no more', 'logsRewound')
    add(
      'cosigned_age_seconds',
      'Age of the last checkpoint that a witness has cosigned; 0 for none',
      'cosignedAgeSeconds',
    )
  }

  private addBacklog(): void {
    const add = (name: string, help: string, value: (sample: BacklogSample) => number) =>
      this.addGauge(name, help, () => value(this.backlog))
    add(
      'ledger_stream_entries',
      'Entries of the ledger streams, each of one ended request or of many',
      (sample) => sample.ledgerEntries,
    )
    add('ledger_stream_pending', 'Of these, given to a consumer', (sample) => sample.ledgerPending)
    add('settlement_lag_seconds', 'Age of the oldest of these', (sample) => sample.ledgerLagMs / 1_000)
    add('rpc_stream_entries', 'Calls waiting or under way', (sample) => sample.rpcEntries)
    add('holds_open', 'Holds not ended yet', (sample) => sample.holdsOpen)
    add('hold_oldest_seconds', 'Age of the oldest hold', (sample) => sample.holdOldestMs / 1_000)
  }

  private addLeases(): void {
    this.addGauge('lease_owners', 'Proxy processes that have something leased', () => this.leases.owners)
    this.addGauge('leases', 'Leases of which something is out', () => this.leases.leases)
    this.addGauge('leases_out_units', 'Units out in leases: free, held, or charged and not delivered', () => {
      return this.leases.units
    })
  }

  private addOpenMoney(): void {
    const add = (name: string, help: string, field: keyof OpenMoney) =>
      this.addGauge(name, help, () => this.openMoney[field])
    add('payments_settling', 'Payments whose transfer is in no block yet', 'paymentsSettling')
    add('payments_serving', 'Payments made whose requests are being served', 'paymentsServing')
    add('refunds_sending', 'Refunds not sent yet', 'refundsSending')
    add('refunds_stuck', 'Refunds that failed too often and wait for an operator', 'refundsStuck')
    add('deposits_settling', 'Gasless deposits not credited yet', 'depositsSettling')
    add('withdrawals_sending', 'Withdrawals not sent yet', 'withdrawalsSending')
    add('withdrawal_oldest_seconds', 'Age of the oldest of these', 'withdrawalOldestSeconds')
    add('settlements_pending', 'Settlement batches not anchored yet', 'settlementsPending')
    add('settlement_oldest_seconds', 'Age of the oldest of these', 'settlementOldestSeconds')
    add('transactions_pending', 'Transactions of the gateway in no block', 'transactionsPending')
    add(
      'transactions_stuck',
      'Transactions whose outcome is not known and that wait for an operator',
      'transactionsStuck',
    )
    add('transaction_oldest_seconds', 'Age of the oldest of these', 'transactionOldestSeconds')
  }
}
