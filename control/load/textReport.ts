import type { Quantiles } from './histogram.ts'
import type { LoadReport, TargetReport } from './report.ts'

const TIMES = ['first_token_ms', 'between_chunks_ms', 'total_ms'] as const
const TITLES = { first_token_ms: 'first token', between_chunks_ms: 'between chunks', total_ms: 'total' }
const COLUMNS = ['p50', 'p90', 'p99', 'p99_9', 'max'] as const

/** A report for people. */
export function textReport({ mode, ok, gateways }: LoadReport): string {
  const parts = gateways.map(gatewayText)
  const [one, other] = gateways
  if (one !== undefined && other !== undefined) parts.push(comparisonText(one, other))
  return `${mode}\n\n${parts.join('\n\n')}\n\n${ok ? 'OK' : 'NOT OK'}`
}

function gatewayText(report: TargetReport): string {
  const { url, requests, good, failed, seconds, receipts } = report
  const lines = [
    url,
    `${requests} requests in ${seconds} s: ${good} good, ${failed} failed; ${report.good_per_second} good answers a second`,
    `${report.prompt_tokens} prompt tokens, ${report.completion_tokens} completion tokens`,
    ...(receipts.seen === 0 ? ['the answers have no receipts'] : [receiptsText(report)]),
    '',
    [''.padEnd(16), ...COLUMNS.map((name) => name.replace('_', '.').padStart(10))].join(''),
    ...TIMES.filter((name) => report[name].count > 0).map((name) => timeLine(TITLES[name], report[name])),
    ...Object.entries(report.errors).map(([code, count]) => `failed with ${code}: ${count}`),
    ...climbLines(report),
    ...report.findings.map(({ name, count, examples }) => `FOUND ${name} ${count}: ${examples[0] ?? ''}`),
    ...report.bars.map(({ bar, limit, measured, unit, met }) => {
      return `${met ? 'met' : 'MISSED'} --${bar} ${limit}${unit}: measured ${Number(measured.toFixed(3))}${unit}`
    }),
    ...(report.stopped === null ? [] : [`STOPPED: ${report.stopped}`]),
  ]
  return lines.join('\n')
}

function receiptsText({ receipts }: TargetReport): string {
  const { seen, compared_with_book: compared, charged_units: units, charged_usd: usd } = receipts
  return `${seen} receipts charge ${units} units (USD ${usd}); ${compared} were compared with the book`
}

function timeLine(title: string, times: Quantiles): string {
  const cells = COLUMNS.map((name) => `${times[name] < 100 ? times[name].toFixed(2) : Math.round(times[name])} ms`)
  return [title.padEnd(16), ...cells.map((cell) => cell.padStart(10))].join('')
}

function climbLines({ climb }: TargetReport): string[] {
  if (climb === null) return []
  const steps = climb.steps.map(({ rate, good_per_second: good, failed, p99_first_token_ms: first }) => {
    return `${String(rate).padStart(8)} a second: ${good} good, ${failed} failed, p99 until the first token ${first} ms`
  })
  const carried = climb.carried_rate === null ? 'no rate' : `${climb.carried_rate} requests a second`
  return ['', ...steps, `it carries ${carried}${climb.bend === null ? '; the p99 did not bend' : ''}`]
}

function comparisonText(one: TargetReport, other: TargetReport): string {
  const ratio = (a: number, b: number): string => (b === 0 ? '-' : (a / b).toFixed(2))
  const cells = TIMES.filter((name) => other[name].count > 0).map((name) => {
    const [p50, p99] = [ratio(one[name].p50, other[name].p50), ratio(one[name].p99, other[name].p99)]
    return `${TITLES[name].padEnd(16)} p50 ${p50}, p99 ${p99}`
  })
  const rate = `good a second    ${ratio(one.good_per_second, other.good_per_second)}`
  return [`${one.url} divided by ${other.url}`, ...cells, rate].join('\n')
}
