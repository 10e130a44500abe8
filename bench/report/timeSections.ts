import type { TargetName } from '../cases.ts'
import { LATENCY, PACE_MS, PACED_CONNECTIONS, paced, STREAM_TOKENS, TARGET_TITLES } from '../cases.ts'
import type { BenchResults } from '../results.ts'
import { byRound, median, paired, type Value } from './figures.ts'
import { NOTHING, section, spread, table, whole } from './text.ts'

const MICROS = 1_000
const ADDING: readonly TargetName[] = ['nginx', 'haproxy', 'bare', 'proxy-only', 'sluice']

/** The latency that each gateway adds to sequential requests. */
export function latencySection(results: BenchResults): string {
  const quantiles = ['p50', 'p99', 'p999'] as const
  const rows = quantiles.map((quantile) => {
    const at = (target: TargetName) =>
      byRound(results, LATENCY, target, ({ load }) => load.latencyMs[quantile] * MICROS)
    const direct = at('direct')
    const added = ADDING.map((target) => spread(paired(at(target), direct, (with_, without) => with_ - without)))
    return [quantile.replace('p999', 'p99.9'), spread([...direct.values()]), ...added]
  })
  if (rows.every((cells) => cells.slice(1).every((cell) => cell === NOTHING))) return ''
  return section(
    'Added latency, one request at a time',
    table(['us', TARGET_TITLES.direct, ...ADDING.map((target) => `${TARGET_TITLES[target]} adds`)], rows),
    'Of each round what the gateway adds to the latency without one; then the median of the rounds.',
  )
}

/** The times of `sluice load`, as users can measure them themselves. */
export function loadTestSection({ loadTests = [] }: BenchResults): string {
  const rows = loadTests.flatMap(({ title, sluice, direct }) =>
    (
      [
        ['sluice', sluice],
        ['direct', direct],
      ] as const
    ).map(([name, report]) => [
      `${title}, ${TARGET_TITLES[name]}`,
      whole(report.requests),
      whole(report.failed),
      ...[report.first_token_ms, report.between_chunks_ms, report.total_ms].flatMap(({ count, p50, p99 }) =>
        count === 0 ? [NOTHING, NOTHING] : [p50.toFixed(2), p99.toFixed(2)],
      ),
      report.receipts.seen === 0 ? NOTHING : whole(report.receipts.seen),
    ]),
  )
  if (rows.length === 0) return ''
  const times = ['first token', 'between chunks', 'whole answer'].flatMap((what) => [`${what} p50`, 'p99'])
  return section(
    'What a client sees',
    table(['', 'requests', 'failed', ...times, 'receipts'], rows),
    `Measured by \`sluice load\`, through Sluice and at the provider by turns; in ms. Every receipt is compared with what the client
saw, and a sample with the book.`,
  )
}

/** Paced streams: lost frames, stalls, and the delay of the first token. */
export function pacedSection(results: BenchResults): string {
  const rows = PACED_CONNECTIONS.flatMap((connections) =>
    (['nginx', 'sluice', 'direct'] as const).flatMap((target) => pacedRow(results, connections, target)),
  )
  if (rows.length === 0) return ''
  const head = [
    '',
    'lost frames',
    'stalls',
    'longest pause',
    'chunks a second',
    'first token p50',
    'p99',
    'CPU us a chunk',
  ]
  return section(
    `Streams at the pace of a model (a chunk every ${PACE_MS} ms)`,
    table(head, rows),
    `Lost frames, stalls over 100 ms and the longest pause (ms) are those of the worst round; the times to the first token
(ms) are what the gateway adds to those without one, for "${TARGET_TITLES.direct}" the times themselves. One worker takes
all streams. Where even "${TARGET_TITLES.direct}" stalls, the core that provider and load generator share is too slow for so many.`,
  )
}

function pacedRow(results: BenchResults, connections: number, target: TargetName): string[][] {
  const of = (value: Value) => byRound(results, paced(connections), target, value)
  const values = (value: Value) => [...of(value).values()]
  if (of(({ round }) => round).size === 0) return []
  const worst = (value: Value) => Math.max(...values(value))
  const firstByte = (quantile: 'p50' | 'p99') => {
    const value: Value = ({ load }) => load.firstByteMs[quantile]
    if (target === 'direct') return median(values(value)).toFixed(2)
    const direct = byRound(results, paced(connections), 'direct', value)
    const added = paired(of(value), direct, (with_, without) => with_ - without)
    return added.length === 0 ? NOTHING : `+${median(added).toFixed(2)}`.replace('+-', '-')
  }
  // Less than the pace of all streams together: they do not all begin and end together.
  const chunks = median(values(({ load }) => (load.requests * STREAM_TOKENS) / load.seconds))
  return [
    [
      `${whole(connections)} streams, ${TARGET_TITLES[target]}`,
      whole(worst(({ load }) => load.lostEvents)),
      whole(worst(({ load }) => load.stalls)),
      worst(({ load }) => load.longestGapMs).toFixed(1),
      whole(chunks),
      firstByte('p50'),
      firstByte('p99'),
      target === 'direct' ? NOTHING : spread(values(({ cpuMicros, load }) => cpuMicros / load.events)),
    ],
  ]
}
