import { BUILD_INFO, buildLabels } from '../../contract/std/buildInfo.ts'
import { Exposition, emptyHistogram, type Histogram, observe } from '../../contract/std/exposition.ts'
import type { SettlementStats } from '../book/settlement/tally.ts'
import { beforeDeadline } from '../runtime/beforeDeadline.ts'
import type { RpcObserver } from '../runtime/bus/rpcServer.ts'
import { STATEMENT_SECONDS } from '../runtime/db/statementTimes.ts'
import type { GaugeGroup, LabelledGauge, LabelledTotal } from '../runtime/metrics/metricGroups.ts'
import { ProcessMetrics } from './processMetrics.ts'

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
  /** Shards that this control books. */
  shards(): number
  /** Of statements at PostgreSQL, by STATEMENT_SECONDS. */
  readonly statements: Histogram
  readonly gauges: readonly GaugeGroup[]
  /** The time of all their reads in a scrape, in milliseconds; what is not read then keeps its last values. */
  readonly readsMs: number
  readonly totals: readonly LabelledTotal[]
  readonly labelledGauges: readonly LabelledGauge[]
}

/** The calls of one operation. */
interface Calls {
  readonly byOutcome: Map<string, number>
  readonly seconds: Histogram
}

/** The totals of settlement, with what they count. */
const SETTLEMENT: readonly (readonly [name: string, help: string, field: keyof SettlementStats])[] = [
  ['batches', 'Batches committed to the book', 'batches'],
  ['receipts', 'Receipts booked', 'receipts'],
  ['duplicates', 'Entries that were booked before', 'duplicates'],
  ['rejects', 'Entries that could not be booked and wait for an operator', 'rejects'],
  ['retries', 'Batches and reads repeated after an error', 'retries'],
  ['shortfall_units', 'Units charged beyond what the book had', 'shortfallUnits'],
]

/** The metrics of control. Labels have fixed sets of values, or few values at a time. */
export class ControlMetrics {
  private readonly sources: MetricsSources
  private readonly calls = new Map<string, Calls>()
  private readonly process = new ProcessMetrics()
  /** The last values of each group, which stay while its server cannot be read. */
  private readonly gauges: Readonly<Record<string, number>>[]
  /** Groups whose read has not ended. */
  private readonly reading = new Set<GaugeGroup>()

  constructor(sources: MetricsSources) {
    this.sources = sources
    this.gauges = sources.gauges.map(() => ({}))
  }

  readonly observeRpc: RpcObserver = (operation, outcome, seconds) => {
    let calls = this.calls.get(operation)
    if (calls === undefined) {
      calls = { byOutcome: new Map(), seconds: emptyHistogram(RPC_SECONDS) }
      this.calls.set(operation, calls)
    }
    calls.byOutcome.set(outcome, (calls.byOutcome.get(outcome) ?? 0) + 1)
    observe(calls.seconds, RPC_SECONDS, seconds)
  }

  stop(): void {
    this.process.stop()
  }

  async write(): Promise<Exposition> {
    const out = new Exposition()
    await this.process.write(out, PREFIX)
    out.family(BUILD_INFO.name, BUILD_INFO.help, 'gauge', BUILD_INFO.labelNames).sample(1, buildLabels())
    this.writeCalls(out)
    for (const total of this.totals()) writeFamily(out, total, 'counter')
    for (const gauge of this.sources.labelledGauges) writeFamily(out, gauge, 'gauge')
    out.family(`${PREFIX}shards`, 'Shards of accounts that this control books', 'gauge').sample(this.sources.shards())
    out
      .family(`${PREFIX}postgres_statement_seconds`, 'Time of statements at PostgreSQL', 'histogram')
      .histogram(STATEMENT_SECONDS, this.sources.statements)
    const untilMs = performance.now() + this.sources.readsMs
    // One after the other, so that a scrape takes one connection to PostgreSQL at most.
    for (const [i, { help }] of this.sources.gauges.entries()) {
      const leftMs = untilMs - performance.now()
      if (leftMs > 0) await beforeDeadline(this.read(i), leftMs, () => undefined)
      for (const [name, text] of Object.entries(help)) {
        out.family(PREFIX + name, text, 'gauge').sample(this.gauges[i]?.[name] ?? 0)
      }
    }
    return out
  }

  /** Reads a group, unless it is being read: of a server that stands still, one read waits at a time. */
  private async read(place: number): Promise<void> {
    const group = this.sources.gauges[place]
    if (group === undefined || this.reading.has(group)) return
    this.reading.add(group)
    try {
      this.gauges[place] = await group.read()
    } catch {
      // The last values stay.
    } finally {
      this.reading.delete(group)
    }
  }

  private writeCalls(out: Exposition): void {
    out.family(`${PREFIX}rpc_total`, 'Calls of the proxies by operation and outcome', 'counter', [
      'operation',
      'outcome',
    ])
    for (const [operation, { byOutcome }] of this.calls) {
      for (const [outcome, count] of byOutcome) out.sample(count, { operation, outcome })
    }
    const help = 'Time from taking a call off the stream to its answer'
    out.family(`${PREFIX}rpc_seconds`, help, 'histogram', ['operation'])
    for (const [operation, { seconds }] of this.calls) out.histogram(RPC_SECONDS, seconds, { operation })
  }

  private totals(): readonly LabelledTotal[] {
    const { sources } = this
    const settlement = sources.settlement()
    const lists = sources.priceLists()
    return [
      ...SETTLEMENT.map(([name, help, field]) => total(`settlement_${name}`, help, settlement[field])),
      total('orphans_voided', 'Holds voided because their proxy was gone', sources.orphansVoided()),
      total('leases_taken_back_units', 'Units of leases whose proxy was gone', sources.takenBackUnits()),
      total('price_list_reads', "Readings of providers' price lists", lists.reads),
      total('price_list_failures', 'Of these, failed', lists.failures),
      ...sources.totals,
    ]
  }
}

/** A total without labels. */
function total(name: string, help: string, count: number): LabelledTotal {
  return { name, help, labels: [], read: () => [{ labels: {}, count }] }
}

function writeFamily(out: Exposition, family: LabelledTotal, type: 'counter' | 'gauge'): void {
  const { name, help, labels, read } = family
  out.family(`${PREFIX}${name}${type === 'counter' ? '_total' : ''}`, help, type, labels)
  for (const { labels: values, count } of read()) out.sample(count, values)
}
