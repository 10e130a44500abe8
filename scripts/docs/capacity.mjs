// The figures of `sluice capacity`, and the parts of docs/operations/scale.md that cite the last benchmark.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { paced } from '../../dist/bench/cases.js'
import { byRound, median } from '../../dist/bench/report/figures.js'
import { costsOf } from '../../dist/bench/report/installationSection.js'
import { planCapacity } from '../../dist/control/cli/capacityPlan.js'
import { table } from './markdown.mjs'

/** The paced case whose chunks are the base: the most streams at which nothing stalled. */
const STREAMS = 1_000
const STREAMS_MAX = 2_000
const RATES = [100, 1_000, 10_000, 100_000, 1_000_000]
const OPEN_STREAMS = [100, 1_000, 10_000, 100_000]
const CHUNKS = 40
const ACCOUNTS = 1_000
const WORKED = { requests: 500, streams: 10_000, chunks: CHUNKS, keys: 'hot', accounts: 10_000 }
const PLACE = /(<!-- figures of bench\/results: (\S+) -->)[\s\S]*?(<!-- end of figures -->)/g

const rounded = (value) => Math.round(value * 10_000) / 10_000
const whole = (value) => Math.round(value).toLocaleString('en-US')
const gigabytes = (bytes) => `${bytes < 1e10 ? (bytes / 1e9).toFixed(1) : whole(bytes / 1e9)} GB`

function readResults(root) {
  return JSON.parse(readFileSync(join(root, 'bench/results/last.json'), 'utf8'))
}

function requestMicros({ loads }, keys) {
  const fewest = Math.min(...loads.map(({ workers }) => workers))
  const costs = costsOf(loads.filter((load) => load.keys === keys && load.workers === fewest))
  return Object.fromEntries(Object.entries(costs).map(([name, micros]) => [name, rounded(micros)]))
}

function figuresOf(results) {
  const { at, machine, installation, settlement, measurements } = results
  const pacedRuns = measurements.filter(({ target, case: name }) => target === 'sluice' && name.startsWith('paced-'))
  const perChunk = byRound(results, paced(STREAMS), 'sluice', ({ cpuMicros, load }) => cpuMicros / load.events)
  return {
    at: at.slice(0, 10),
    cpu: machine.cpu,
    requestMicros: { hot: requestMicros(installation, 'hot'), cold: requestMicros(installation, 'cold') },
    chunkMicros: rounded(median([...perChunk.values()])),
    workerStreamsMax: STREAMS_MAX,
    workerBytes: Math.max(...pacedRuns.map(({ residentBytes }) => residentBytes)),
    walBytesPerReceipt: Math.round(median(settlement.runs.map((run) => run.walBytesPerReceipt))),
  }
}

function literal(value, indent) {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value === 'number') return String(value).replace(/\B(?=(\d{3})+$)/g, Number.isInteger(value) ? '_' : '')
  const rows = Object.entries(value).map(([name, inner]) => `${indent}  ${name}: ${literal(inner, `${indent}  `)},\n`)
  return `{\n${rows.join('')}${indent}}`
}

/** control/cli/capacityFigures.ts, by which the command line plans without the benchmark's results. */
export function capacityFiguresFile(root) {
  const short = (text) =>
    text.replace(
      /\{\n\s+(proxy: .*),\n\s+(redis: .*),\n\s+(control: .*),\n\s+(postgres: .*),\n\s+\}/g,
      '{ $1, $2, $3, $4 }',
    )
  return `// Written by scripts/docs/capacity.mjs from bench/results/last.json.
import type { CapacityFigures } from './capacityPlan.ts'

export const CAPACITY_FIGURES: CapacityFigures = ${short(literal(figuresOf(readResults(root)), ''))}
`
}

function ratesTable(figures, keys) {
  const rows = RATES.map((requests) => {
    const plan = planCapacity({ requests, streams: 0, chunks: CHUNKS, keys, accounts: ACCOUNTS }, figures)
    const cores = [plan.workers, plan.redisCores, plan.controlCores, plan.postgresCores].map(whole)
    return [
      whole(requests),
      ...cores,
      gigabytes(plan.proxyBytes),
      gigabytes(plan.diskBytesPerDay),
      gigabytes(plan.walBytesPerDay),
      whole(plan.books),
    ]
  })
  const head = [
    'requests a second',
    'workers',
    'Redis',
    'control',
    'PostgreSQL',
    'memory of proxies',
    'disk a day',
    'log a day',
    'installations',
  ]
  return `With ${keys} keys:\n\n${table(head, rows)}`
}

function streamsTable(figures) {
  const rows = OPEN_STREAMS.map((streams) => {
    const plan = planCapacity({ requests: 0, streams, chunks: CHUNKS, keys: 'hot', accounts: ACCOUNTS }, figures)
    return [whole(streams), whole(plan.workers), gigabytes(plan.proxyBytes), whole(plan.descriptors)]
  })
  return table(['streams open', 'workers', 'memory of proxies', 'file descriptors'], rows)
}

function boundsText(figures) {
  const lines = ['hot', 'cold'].map((keys) => {
    const at = (requests) => planCapacity({ requests, streams: 0, chunks: CHUNKS, keys, accounts: ACCOUNTS }, figures)
    const [near, far] = [at(100_000), at(1_000_000)]
    return `- **${keys} keys**: PostgreSQL ends one installation at ${whole(near.bookRequestsMax)} requests a second. 100,000 a second take ${whole(near.books)} installations, with ${whole(near.workers)} workers, ${whole(near.redisCores)} nodes of Redis and ${whole(near.controlCores)} controls in all; 1,000,000 take ${whole(far.books)}, with ${whole(far.workers)}, ${whole(far.redisCores)} and ${whole(far.controlCores)}.`
  })
  return lines.join('\n')
}

function accountsText({ accounts }) {
  const ratio = (name, of) => median(accounts.rounds.map((round) => of(round[name]) / of(round.few)))
  const cpu = ({ cpuMicros, load }) => cpuMicros / load.requests
  const redis = ({ redisMicros, load }) => redisMicros / load.requests
  const times = (value) => `${value.toFixed(value < 10 ? 2 : 1)} times`
  return `${whole(accounts.many)} accounts of which ${whole(accounts.few)} send requests cost the proxy ${times(ratio('loaded', cpu))} the CPU time a request that ${whole(accounts.few)} accounts cost, and Redis ${times(ratio('loaded', redis))}. Where ${whole(accounts.active)} of them send requests in turn, a request costs ${times(ratio('active', cpu))} and ${times(ratio('active', redis))}, since its key is seldom in use.`
}

/** docs/operations/scale.md with the figures of the last benchmark. */
export async function scalePage(root) {
  const results = readResults(root)
  const figures = figuresOf(results)
  const { capacityText } = await import('../../dist/control/cli/capacity.js')
  const texts = {
    rates: ['hot', 'cold'].map((keys) => ratesTable(figures, keys)).join('\n\n'),
    streams: streamsTable(figures),
    bounds: boundsText(figures),
    accounts: accountsText(results),
    worked: `\`\`\`text\n${capacityText(planCapacity(WORKED, figures), figures)}\n\`\`\``,
    measured: `Measured on ${figures.at}: ${results.machine.cpu}, ${results.machine.cores} cores, Node.js ${results.machine.node.slice(1)}, Redis ${results.machine.redis}, PostgreSQL ${results.machine.postgres}.`,
  }
  return readFileSync(join(root, 'docs/operations/scale.md'), 'utf8').replace(PLACE, (_, begin, name, end) => {
    if (texts[name] === undefined) throw new Error(`docs/operations/scale.md names figures that there are not: ${name}`)
    return `${begin}\n\n${texts[name]}\n\n${end}`
  })
}
