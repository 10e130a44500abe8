import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { BUILD_INFO, buildLabels } from '../../contract/std/buildInfo.ts'
import type { SettlementStats } from '../book/settlement/consumer.ts'
import type { RpcObserver } from '../runtime/bus/rpcServer.ts'
import type { GaugeGroup, LabelledTotal } from '../runtime/metrics/metricGroups.ts'

const RPC_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const PREFIX = 'sluice_control_'

/** Sources of the values of a scrape. */
export interface MetricsSources {
  settlement(): SettlementStats
  /** Holds voided because their proxy was dead. */
  orphansVoided(): number
  /** Units taken back from leases because their proxy was dead. */
  takenBackUnits(): number
  /** Of price lists, since the process began. */
  priceLists(): { readonly reads: number; readonly failures: number }
  readonly gauges: readonly GaugeGroup[]
  readonly totals: readonly LabelledTotal[]
}

/** The metrics of control, served only on 127.0.0.1. Labels have fixed sets of values. */
export class ControlMetrics {
  /** All metrics, with their names, types and labels. */
  readonly registry = new Registry()
  private readonly rpcCount: Counter<'operation' | 'outcome'>
  private readonly rpcSeconds: Histogram<'operation'>
  private readonly server: Server
  private readonly refreshes: Array<() => Promise<void>> = []

  constructor(sources: MetricsSources) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry, prefix: PREFIX })
    // Gauges that are named like counters; those without _total say the same, by type.
    for (const what of ['handles', 'requests', 'resources']) {
      this.registry.removeSingleMetric(`${PREFIX}nodejs_active_${what}_total`)
    }
    new Gauge({ ...BUILD_INFO, registers }).set(buildLabels(), 1)
    this.rpcCount = new Counter({
      name: `${PREFIX}rpc_total`,
      help: 'Calls of the proxies by operation and outcome',
      labelNames: ['operation', 'outcome'],
      registers,
    })
    this.rpcSeconds = new Histogram({
      name: `${PREFIX}rpc_seconds`,
      help: 'Time from taking a call off the stream to its answer',
      labelNames: ['operation'],
      buckets: RPC_SECONDS,
      registers,
    })
    this.addTotals(sources)
    for (const group of sources.gauges) this.addGauges(group)
    for (const total of sources.totals) this.addLabelled(total)
    this.server = createServer((request, response) => {
      // A rare scrape over keep-alive could race with the idle timeout of its connection.
      response.setHeader('connection', 'close')
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end()
        return
      }
      void this.text().then(
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

  private async text(): Promise<string> {
    // One after the other, so that a scrape takes one connection to PostgreSQL at most.
    for (const refresh of this.refreshes) await refresh()
    return this.registry.metrics()
  }

  private addTotals(sources: MetricsSources): void {
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
    this.addTotal('price_list_reads', "Readings of providers' price lists", () => sources.priceLists().reads)
    this.addTotal('price_list_failures', 'Of these, failed', () => sources.priceLists().failures)
  }

  /** A total that its owner counts and that only grows; it is read out when asked for. */
  private addTotal(name: string, help: string, value: () => number): void {
    this.addLabelled({ name, help, labels: [], read: () => [{ labels: {}, count: value() }] })
  }

  private addLabelled({ name, help, labels, read }: LabelledTotal): void {
    new Counter({
      name: `${PREFIX}${name}_total`,
      help,
      labelNames: [...labels],
      registers: [this.registry],
      collect() {
        this.reset()
        for (const { labels: values, count } of read()) this.inc(values, count)
      },
    })
  }

  private addGauges({ help, read }: GaugeGroup): void {
    const registers = [this.registry]
    const gauges = Object.entries(help).map(
      ([name, text]) => [name, new Gauge({ name: PREFIX + name, help: text, registers })] as const,
    )
    this.refreshes.push(async () => {
      const values = await read().catch(() => undefined)
      if (values === undefined) return
      for (const [name, gauge] of gauges) gauge.set(values[name] ?? 0)
    })
  }
}
