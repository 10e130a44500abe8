import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { code, page, table } from './markdown.mjs'
import { metricNames } from './metrics.mjs'

const RULES = 'deploy/prometheus/rules.yml'
const SEVERITIES = new Set(['critical', 'warning'])
/** The metrics that Prometheus itself records of each scrape. */
const OF_PROMETHEUS = ['up']
/** The series that Prometheus keeps of one histogram. */
const OF_HISTOGRAM = /_(bucket|sum|count)$/

/** docs/reference/alerts.md: the alert rules for Prometheus. */
export async function alertsPage(root) {
  const { groups } = parse(readFileSync(join(root, RULES), 'utf8'))
  const faults = alertFaults(groups, new Set([...(await metricNames()), ...OF_PROMETHEUS]))
  if (faults.length > 0) throw new Error(`${RULES}: ${faults.join('; ')}`)
  return page('Alerts', `\`${RULES}\``, [
    `Rules for Prometheus, in [${RULES}](../../${RULES}). Critical: somebody has to look now. Warning: within the working day.`,
    groups.flatMap(({ name, rules }) => [
      `## ${name}`,
      table(['alert', 'severity', 'fires when', 'meaning', 'see'], rules.map(row)),
    ]),
  ])
}

/**
 * The faults of alert rules: a metric that no part serves, a missing severity, summary or runbook.
 * @param {readonly { rules: readonly object[] }[]} groups the groups of a rules file
 * @param {ReadonlySet<string>} metrics the names of the metrics that exist
 */
export function alertFaults(groups, metrics) {
  return groups
    .flatMap(({ rules }) => rules)
    .flatMap(({ alert, expr, labels = {}, annotations = {} }) => [
      ...unservedMetrics(expr, metrics).map((name) => `${alert} reads ${name}, which no part serves`),
      ...(SEVERITIES.has(labels.severity) ? [] : [`${alert} has no severity`]),
      ...['summary', 'runbook'].filter((name) => !annotations[name]).map((name) => `${alert} has no ${name}`),
    ])
}

/** The metrics that an expression reads and no part serves. @param {ReadonlySet<string>} metrics the names of those that exist */
export function unservedMetrics(expr, metrics) {
  return metricsOf(expr).filter((name) => !metrics.has(name) && !metrics.has(name.replace(OF_HISTOGRAM, '')))
}

/** The metrics that an expression reads: the words that are not in quotes, braces' label names, functions or operators. */
function metricsOf(expr) {
  const bare = expr.replace(/\{[^}]*\}|\b(by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\]/g, ' ')
  const words = bare.match(/\b[a-z_]\w*\b(?!\s*\()/g) ?? []
  return words.filter((word) => !['and', 'or', 'unless'].includes(word))
}

function row({ alert, expr, for: forTime, labels, annotations }) {
  const when = forTime === undefined ? code(expr) : `${code(expr)} for ${forTime}`
  const { summary, runbook } = annotations
  return [
    alert,
    labels.severity,
    when,
    summary,
    `[${runbook.replace(/^docs\/|#.*$/g, '')}](../${runbook.replace(/^docs\//, '')})`,
  ]
}
