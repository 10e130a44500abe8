// Goal: an alert rule on a metric that no part serves can never fire, so it is refused; so is one without severity or runbook.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels?: { readonly severity?: string }
  readonly annotations?: { readonly summary?: string; readonly runbook?: string }
}
type Groups = readonly { readonly rules: readonly Rule[] }[]

const { alertFaults } = (await import(new URL('../../../../scripts/docs/alerts.mjs', import.meta.url).href)) as {
  alertFaults(groups: Groups, metrics: ReadonlySet<string>): string[]
}
const { metricNames } = (await import(new URL('../../../../scripts/docs/metrics.mjs', import.meta.url).href)) as {
  metricNames(): Promise<string[]>
}

function faultsOf(expr: string, rule: Partial<Rule> = {}): string[] {
  const whole = {
    alert: 'A',
    expr,
    labels: { severity: 'warning' },
    annotations: { summary: 's', runbook: 'r' },
    ...rule,
  }
  return alertFaults([{ rules: [whole] }], new Set(['up', 'a_total', 'b_seconds']))
}

test('metrics of an expression are found among functions, labels, ranges and operators', () => {
  for (const expr of [
    'up{job="x"} == 0',
    'sum by (le) (rate(b_seconds_bucket{le="1", gone="z"}[5m])) > 0.05',
    'abs(b_seconds) > 2 or abs(a_total) > 2e3',
    'increase(a_total[1h]) > 0.01 * increase(b_seconds_count[1h]) and up > 0',
    'histogram_quantile(0.99, sum without (a) (rate(b_seconds_bucket[5m])))',
  ])
    assert.deepEqual(faultsOf(expr), [], expr)
  for (const expr of [
    'gone_total > 0',
    'rate(gone_total[5m]) > 0',
    'up == 0 and gone_total > 0',
    'sum by (up) (gone_total{up="1"})',
    'a_total / gone_total',
  ])
    assert.deepEqual(faultsOf(expr), ['A reads gone_total, which no part serves'], expr)
})

test('a rule has a severity, a summary and a runbook', () => {
  assert.deepEqual(faultsOf('up', { labels: {} }), ['A has no severity'])
  assert.deepEqual(faultsOf('up', { labels: { severity: 'page' } }), ['A has no severity'])
  assert.deepEqual(faultsOf('up', { annotations: {} }), ['A has no summary', 'A has no runbook'])
})

test('the rules that are shipped read metrics that exist, and every counter of faults has one', async () => {
  const text = readFileSync(new URL('../../../../deploy/prometheus/rules.yml', import.meta.url), 'utf8')
  const { groups } = parse(text) as { groups: Groups }
  const names = await metricNames()
  assert.deepEqual(alertFaults(groups, new Set([...names, 'up'])), [])
  const rules = groups.flatMap((group) => group.rules).map(({ alert }) => alert)
  assert.equal(new Set(rules).size, rules.length, 'two rules of one name')
  const faults = /_(rejects|faults|contradictions|rejected|shortfall_units|restarts)_total$/
  for (const name of names.filter((metric) => faults.test(metric)))
    assert.ok(text.includes(name), `no rule reads ${name}`)
})
