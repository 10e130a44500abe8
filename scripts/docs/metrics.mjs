import { readdirSync } from 'node:fs'
import { emptyHistogram } from '../../dist/contract/std/exposition.js'
import { Contradictions } from '../../dist/control/batch/contradictions.js'
import { TopSpenders } from '../../dist/control/book/settlement/topSpenders.js'
import { RejectedEvidence } from '../../dist/control/catalog/attestation/rejectedEvidence.js'
import { RefusalCounts } from '../../dist/control/products/payments/x402/refusalCounts.js'
import { StatementTimes } from '../../dist/control/runtime/db/statementTimes.js'
import { RedisChanges } from '../../dist/control/runtime/servers/redisGauges.js'
import { ControlMetrics } from '../../dist/control/service/metrics.js'
import { newCounters } from '../../dist/proxy/metrics/requestMetrics.js'
import { renderMetrics } from '../../dist/proxy/supervisor/renderMetrics.js'
import { code, page, sentence, table } from './markdown.mjs'

const RUNTIME = /^sluice_control_(process|nodejs)_/

/** The metrics of the proxy. */
function proxyMetrics() {
  const fleet = { retired: newCounters(), retiredModels: {}, restarts: 0, requestsBySlot: [] }
  return renderMetrics([], fleet, { metricSeriesMax: 1 }).families
}

/** The groups of gauges of control: each is made by its own function, in a file that is named for it. */
async function gaugeGroups() {
  const control = new URL('../../dist/control/', import.meta.url)
  const paths = readdirSync(control, { recursive: true }).filter((path) => path.endsWith('Gauges.js'))
  const modules = await Promise.all(paths.toSorted().map((path) => import(new URL(path, control))))
  const makers = modules.flatMap((module) => Object.entries(module).filter(([name]) => name.endsWith('Gauges')))
  return makers.map(([, make]) => make())
}

async function controlMetrics() {
  const none = () => 0
  const metrics = new ControlMetrics({
    settlement: () => ({}),
    orphansVoided: none,
    takenBackUnits: none,
    priceLists: () => ({ reads: 0, failures: 0 }),
    shards: none,
    statements: emptyHistogram([]),
    readsMs: 1_000,
    gauges: await gaugeGroups(),
    totals: [
      new StatementTimes().total,
      new RedisChanges().total,
      new RejectedEvidence().total,
      new Contradictions().total,
      new RefusalCounts().total,
    ],
    labelledGauges: [new TopSpenders({}).gauge],
  })
  const { families } = await metrics.write()
  metrics.stop()
  return families
}

function rows(metrics) {
  return metrics.map(({ name, help, type, labels }) => [code(name), type, labels.map(code).join(', '), sentence(help)])
}

/** The names of all metrics, those of the runtime among them. */
export async function metricNames() {
  return [...proxyMetrics(), ...(await controlMetrics())].map(({ name }) => name)
}

const HEAD = ['name', 'type', 'labels', 'meaning']

/** docs/reference/metrics.md: the metrics for Prometheus. */
export async function metricsPage() {
  const [proxy, control] = [proxyMetrics(), await controlMetrics()]
  const own = control.filter(({ name }) => !RUNTIME.test(name))
  return page(
    'Metrics',
    '`proxy/supervisor/renderMetrics.ts`, `control/service/metrics.ts` and the files of control named `*Gauges.ts`',
    [
      'Both programs serve Prometheus metrics at `/metrics` on `SLUICE_METRICS_HOST`: the proxy on the port `SLUICE_METRICS_PORT`, summed over its workers, control on `SLUICE_CONTROL_METRICS_PORT`. With `SLUICE_METRICS_TOKEN`, scrapes need it as a bearer token. The values of labels come from closed sets, so that their number is bounded: models are those of the catalog, and what is beyond `metricSeriesMax` series is counted as `other`. Names ending in `_units` count 1e-9 USD. The metrics `gen_ai_*` are those of the OpenTelemetry semantic conventions for generative AI, version 1.37.0, with their buckets.',
      '## Metrics of the proxy',
      table(HEAD, rows(proxy)),
      '## Metrics of control',
      table(HEAD, rows(own)),
      '## Metrics of the Node.js process of control',
      table(HEAD, rows(control.filter(({ name }) => RUNTIME.test(name)))),
    ],
  )
}
