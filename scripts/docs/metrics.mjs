import { readdirSync } from 'node:fs'
import { RejectedEvidence } from '../../dist/control/catalog/attestation/rejectedEvidence.js'
import { RefusalCounts } from '../../dist/control/products/payments/x402/refusalCounts.js'
import { ControlMetrics } from '../../dist/control/service/metrics.js'
import { COUNTERS, newCounters } from '../../dist/proxy/metrics/requestMetrics.js'
import { renderMetrics } from '../../dist/proxy/supervisor/renderMetrics.js'
import { code, page, sentence, table } from './markdown.mjs'

const RUNTIME = /^sluice_control_(process|nodejs)_/

/** The metrics of the proxy, each label with one value, so that the text names all labels. */
async function proxyMetrics() {
  const retired = newCounters()
  for (const [name, { label }] of Object.entries(COUNTERS)) if (label !== undefined) retired[name].any = 1
  const { text } = await renderMetrics([], { retired, restarts: 0, requestsBySlot: [0] })
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n(.*)$/gm)].map(([, name, help, type, sample]) => {
    const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label)
    return { name, help, type, labels: labels.filter((label) => label !== 'le') }
  })
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
    gauges: await gaugeGroups(),
    totals: [new RejectedEvidence().total, new RefusalCounts().total],
  })
  const described = metrics.registry.getMetricsAsArray()
  return described.map((metric) => {
    const { name, help, labelNames: labels = [] } = metric
    return { name, help, type: metric.constructor.name.toLowerCase(), labels }
  })
}

function rows(metrics) {
  return metrics.map(({ name, help, type, labels }) => [code(name), type, labels.map(code).join(', '), sentence(help)])
}

const HEAD = ['name', 'type', 'labels', 'meaning']

/** docs/reference/metrics.md: the metrics for Prometheus. */
export async function metricsPage() {
  const [proxy, control] = [await proxyMetrics(), await controlMetrics()]
  const own = control.filter(({ name }) => !RUNTIME.test(name))
  return page(
    'Metrics',
    '`proxy/supervisor/renderMetrics.ts`, `control/service/metrics.ts` and the files of control named `*Gauges.ts`',
    [
      'Both programs serve Prometheus metrics at `/metrics` on 127.0.0.1: the proxy on the port `SLUICE_METRICS_PORT`, summed over its workers, control on `SLUICE_CONTROL_METRICS_PORT`. The values of labels come from closed sets, so that their number is bounded. Names ending in `_units` count 1e-9 USD.',
      '## Metrics of the proxy',
      table(HEAD, rows(proxy)),
      '## Metrics of control',
      table(HEAD, rows(own)),
      '## Metrics of the Node.js process of control',
      'CPU time, memory, event-loop lag and garbage collection of control are the default metrics of [prom-client](https://github.com/siimon/prom-client#default-metrics) with the prefix `sluice_control_`; which there are depends on the operating system.',
    ],
  )
}
