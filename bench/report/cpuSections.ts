import type { BenchCase, TargetName } from '../cases.ts'
import { CASES, LATENCY, LONG_TOKENS, SHORT_TOKENS, TARGET_NAMES, TARGET_TITLES } from '../cases.ts'
import type { BenchResults } from '../results.ts'
import { byRound, cpuRatios, marginalChunk, median, paired, perRequest } from './figures.ts'
import { digits, mebibytes, NOTHING, section, spread, table, times, whole } from './text.ts'

const COMPARED: readonly TargetName[] = ['haproxy', 'bare', 'portkey', 'proxy-only', 'sluice']

/** CPU time of a request by case and gateway, and the cost of each further chunk. */
export function cpuSection(results: BenchResults): string {
  const cases = CASES.filter(({ name }) => name !== LATENCY && byRound(results, name, 'nginx', perRequest).size > 0)
  if (cases.length === 0) return ''
  const rows = cases.map((kind) => cpuRow(results, kind))
  return section(
    'CPU time of a request',
    table(['', 'nginx', ...COMPARED.map((target) => TARGET_TITLES[target])], rows),
    `Microseconds of CPU time, user and kernel together, that the gateway's processes use for one request or one whole
stream, and in brackets how many times as much as nginx that is. Streams without a pace come as fast as they are read.`,
    chunkTable(results),
  )
}

function cpuRow(results: BenchResults, kind: BenchCase): string[] {
  const micros = (target: TargetName) => [...byRound(results, kind.name, target, perRequest).values()]
  const cells = COMPARED.map((target) => {
    const values = micros(target)
    return values.length === 0
      ? NOTHING
      : `${digits(median(values))} (${times(cpuRatios(results, kind.name, target, 'nginx'))})`
  })
  return [kind.title, spread(micros('nginx')), ...cells]
}

function chunkTable(results: BenchResults): string {
  const nginx = marginalChunk(results, 'nginx')
  if (nginx.size === 0) return ''
  const row = (target: TargetName) => {
    const chunk = marginalChunk(results, target)
    const ratios = paired(chunk, nginx, (a, b) => a / b)
    return [TARGET_TITLES[target], spread([...chunk.values()]), target === 'nginx' ? '1x' : times(ratios)]
  }
  return `One more chunk in a stream costs, by the difference between streams of ${LONG_TOKENS} and of ${SHORT_TOKENS} chunks, which arrive many to a
read:

${table(['', 'us a chunk', 'against nginx'], (['nginx', 'proxy-only', 'sluice'] as const).map(row))}`
}

/** Requests a second of every case and target, and the memory of the targets. */
export function rateSection(results: BenchResults): string {
  const kinds = CASES.filter(({ name, paceMs }) => name !== LATENCY && paceMs === undefined)
  const cell = (kind: BenchCase, target: TargetName) => {
    const rates = [...byRound(results, kind.name, target, ({ load }) => load.requestsPerSecond).values()]
    return rates.length === 0 ? NOTHING : whole(median(rates))
  }
  const rows = kinds
    .map((kind) => [
      `${kind.title}, ${kind.connections} connections`,
      ...TARGET_NAMES.map((target) => cell(kind, target)),
    ])
    .filter((cells) => cells.slice(1).some((text) => text !== NOTHING))
  if (rows.length === 0) return ''
  const memory = TARGET_NAMES.map((target) => {
    const bytes = results.measurements.filter((one) => one.target === target).map((one) => one.residentBytes)
    return bytes.length === 0 ? NOTHING : mebibytes(Math.max(...bytes))
  })
  return section(
    'Requests a second',
    table(['', ...TARGET_NAMES.map((target) => TARGET_TITLES[target])], [...rows, ['most memory', ...memory]]),
    `"${TARGET_TITLES.direct}" is the mock provider with nothing in front. Load generator and provider share a core here, and so they
and not a gateway may set the pace; the CPU times above do not depend on that.`,
  )
}
