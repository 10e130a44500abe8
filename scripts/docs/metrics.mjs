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

async function controlMetrics() {
  const none = () => 0
  const metrics = new ControlMetrics({
    settlement: () => ({}),
    orphansVoided: none,
    takenBackUnits: none,
    leases: none,
    backlog: none,
    openMoney: none,
    paymentsRefused: () => new Map(),
    checkpoints: none,
    batches: none,
    priceLists: () => ({ reads: 0, failures: 0 }),
    pricesAboveSold: none,
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

/** docs/reference/metrics.md: what Prometheus is told. */
export async function metricsPage() {
  const [proxy, control] = [await proxyMetrics(), await controlMetrics()]
  const own = control.filter(({ name }) => !RUNTIME.test(name))
  return page('Metrics', '`proxy/supervisor/renderMetrics.ts` and `control/service/metrics.ts`', [
    'Both programs serve Prometheus metrics at `/metrics` on 127.0.0.1: the proxy on the port `SLUICE_METRICS_PORT`, summed over its workers, control on `SLUICE_CONTROL_METRICS_PORT`. The values of labels come from closed sets, so that their number is bounded. Names ending in `_units` count 1e-9 USD.',
    '## Metrics of the proxy',
    table(HEAD, rows(proxy)),
    '## Metrics of control',
    table(HEAD, rows(own)),
    '## Metrics of the Node.js process of control',
    'CPU time, memory, event-loop lag and garbage collection of control are the default metrics of [prom-client](https://github.com/siimon/prom-client#default-metrics) with the prefix `sluice_control_`; which there are depends on the operating system.',
  ])
}
