import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { projectRoot } from '../control/launch/paths.ts'
import type { TargetName } from './cases.ts'
import {
  CASES,
  LATENCY,
  LONG_TOKENS,
  PACED,
  SHORT_TOKENS,
  SMALL,
  STREAM,
  STREAM_LONG,
  STREAM_SHORT,
  TARGET_NAMES,
} from './cases.ts'
import type { BenchResults, Measurement } from './results.ts'

type Value = (measurement: Measurement) => number

const perRequest: Value = ({ cpuMicros, load }) => cpuMicros / load.requests
const perEvent: Value = ({ cpuMicros, load }) => cpuMicros / load.events

/** The report on a run, in Markdown. */
export function reportText(results: BenchResults): string {
  const sections = [
    heading(results),
    cpuSection(results),
    rateSection(results),
    latencySection(results),
    pacedSection(results),
    booksSection(results),
    methodSection(results),
  ]
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`
}

function heading({ at, machine }: BenchResults): string {
  const memory = (machine.memoryBytes / 1024 ** 3).toFixed(1)
  return `# Benchmark report

Written by \`bench/report.ts\` from the run of ${at}. Every figure is the median of its rounds, with the lowest and
highest round in brackets; \`make bench\` makes it anew.

Machine: ${machine.cpu}, ${machine.cores} cores, ${memory} GiB, Linux ${machine.kernel}. Node ${machine.node}, nginx ${machine.nginx},
Redis ${machine.redis}, PostgreSQL ${machine.postgres}.`
}

function cpuSection(results: BenchResults): string {
  const rows = [
    cpuRow(results, 'small answer, not streamed, us per request', SMALL, perRequest),
    cpuRow(results, 'stream of 100 chunks, us per stream', STREAM, perRequest),
    marginalRow(results),
    cpuRow(results, 'paced stream, us per event', PACED, perEvent),
  ]
  return `## CPU time of the gateway's processes

${table(['', 'nginx', 'sluice', 'ratio'], rows)}

The marginal chunk is the difference between streams of ${LONG_TOKENS} and of ${SHORT_TOKENS} chunks, divided by ${LONG_TOKENS - SHORT_TOKENS}. An unpaced stream arrives
several chunks to a read; in a paced one every chunk costs a read and a write of its own, in nginx as in Sluice.
nginx passes bytes through; Sluice authenticates, holds, rewrites every chunk, charges and writes a receipt.`
}

function cpuRow(results: BenchResults, title: string, name: string, value: Value): string[] {
  const nginx = values(results, name, 'nginx', value)
  const sluice = values(results, name, 'sluice', value)
  return [title, spread(nginx), spread(sluice), ratio(sluice, nginx)]
}

function marginalRow(results: BenchResults): string[] {
  const marginal = (target: TargetName) => {
    const short = values(results, STREAM_SHORT, target, perRequest)
    const long = values(results, STREAM_LONG, target, perRequest)
    return long.map((value, round) => (value - (short[round] ?? 0)) / (LONG_TOKENS - SHORT_TOKENS))
  }
  const nginx = marginal('nginx')
  const sluice = marginal('sluice')
  return ['marginal chunk, unpaced, us', spread(nginx), spread(sluice), ratio(sluice, nginx)]
}

function rateSection(results: BenchResults): string {
  const rows = CASES.filter(({ name }) => name !== LATENCY).map((kind) => [
    `${kind.title}, ${kind.connections} connections`,
    ...TARGET_NAMES.map((target) => {
      const requests = values(results, kind.name, target, ({ load }) => load.requestsPerSecond)
      if (requests.length === 0) return '-'
      const events = median(values(results, kind.name, target, ({ load }) => load.eventsPerSecond))
      return kind.streamed ? `${whole(median(requests))} (${whole(events)} events)` : whole(median(requests))
    }),
  ])
  const memory = TARGET_NAMES.map((target) => {
    const bytes = results.measurements.filter((one) => one.target === target).map((one) => one.residentBytes)
    return bytes.length === 0 ? '-' : `${(Math.max(...bytes) / 1024 ** 2).toFixed(0)} MiB`
  })
  return `## Requests per second

${table(['', 'nginx', 'sluice', 'direct'], [...rows, ['most memory of its processes', ...memory]])}

"direct" is the mock provider without anything in front. Where provider and load generator share a core, they and not
the gateway set the pace; the CPU times above do not depend on that.`
}

function latencySection(results: BenchResults): string {
  const rows = (['p50', 'p99', 'p999'] as const).map((quantile) => {
    const at = (target: TargetName) => values(results, LATENCY, target, ({ load }) => load.latencyMs[quantile] * 1_000)
    const added = (target: TargetName) => {
      const direct = at('direct')
      return at(target).map((value, round) => value - (direct[round] ?? 0))
    }
    return [quantile.replace('p999', 'p99.9'), spread(at('direct')), spread(added('nginx')), spread(added('sluice'))]
  })
  return `## Added latency, one request at a time, microseconds

${table(['', 'direct', 'nginx adds', 'sluice adds'], rows)}`
}

function pacedSection(results: BenchResults): string {
  const rows = TARGET_NAMES.map((target) => {
    const worst = (value: Value) => Math.max(...values(results, PACED, target, value))
    if (values(results, PACED, target, perEvent).length === 0) return [target, '-', '-', '-', '-']
    return [
      target,
      String(worst(({ load }) => load.lostEvents)),
      String(worst(({ load }) => load.stalls)),
      worst(({ load }) => load.longestGapMs).toFixed(1),
      worst(({ load }) => load.firstByteMs.p99).toFixed(2),
    ]
  })
  const kind = CASES.find(({ name }) => name === PACED)
  return `## Paced streams (${kind?.connections} at a time, a chunk every 20 ms), worst round

${table(['', 'events lost', 'pauses over 100 ms', 'longest pause, ms', 'p99 to first byte, ms'], rows)}`
}

function booksSection({ books }: BenchResults): string {
  if (books === null) return ''
  const rate = whole(books.backlog / books.backlogSeconds)
  const rest =
    books.backlog === 0
      ? 'All of them were booked when the load ended.'
      : `When the load ended ${books.backlog} were still to be booked; that took ${books.backlogSeconds.toFixed(1)} s, ${rate} a second.`
  return `## The books

${books.requests} requests were sent to Sluice and ${books.receipts} receipts are in PostgreSQL. ${rest}
\`sluice audit\` ${books.auditClean ? 'is clean' : 'is NOT clean'}:

\`\`\`
${books.auditOutput}
\`\`\``
}

function methodSection({ seconds, rounds, pinned }: BenchResults): string {
  const cores =
    pinned === null
      ? 'Processes were not kept on cores of their own.'
      : `The measured gateway ran on core ${pinned.measured}, the mock provider on core ${pinned.provider}, the load generator on core ${pinned.load}; Redis, PostgreSQL and
control on core ${pinned.others}.`
  return `## How it was measured

${rounds} rounds of ${seconds} s a load; in each round every load runs against nginx, Sluice and the provider itself, one right after the
other. The first answer of every run is parsed and checked in full, all others for status, number of events and [DONE].
CPU time is the kernel's own count (\`/proc/PID/task/*/schedstat\`) of the nginx worker and of all processes of one proxy,
user and system together. ${cores} nginx has one worker, kept
connections on both legs, \`proxy_buffering off\` and no access log.`
}

function values(results: BenchResults, name: string, target: TargetName, value: Value): number[] {
  return results.measurements.filter((one) => one.case === name && one.target === target).map(value)
}

function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

function spread(list: readonly number[]): string {
  if (list.length === 0) return '-'
  return `${digits(median(list))} (${digits(Math.min(...list))} to ${digits(Math.max(...list))})`
}

function ratio(list: readonly number[], base: readonly number[]): string {
  return list.length === 0 || base.length === 0 ? '-' : (median(list) / median(base)).toFixed(2)
}

function digits(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1)
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

// Run by itself it writes the report anew from the results of the last run.
const started = process.argv[1]
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) {
  const last = readFileSync(join(projectRoot, 'bench/results/last.json'), 'utf8')
  writeFileSync(join(projectRoot, 'bench/REPORT.md'), reportText(JSON.parse(last) as BenchResults))
}
