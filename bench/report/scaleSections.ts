import {
  LONG_TOKENS,
  PACED_CONNECTIONS,
  paced,
  SHORT_TOKENS,
  SMALL,
  STREAM_FLUSHED,
  STREAM_LONG,
  STREAM_SHORT,
  STREAM_TOKENS,
} from '../cases.ts'
import type { AllocationResult, BenchResults, Sample } from '../results.ts'
import { settlementRate } from './bars.ts'
import { growth, median } from './figures.ts'
import { mebibytes, section, spread, table, whole } from './text.ts'

/** Many accounts against few. */
export function accountsSection({ accounts }: BenchResults): string {
  if (accounts === null) return ''
  const { few, many, active, rounds, startSeconds } = accounts
  type Round = (typeof rounds)[number]
  const row = (title: string, of: (sample: Sample) => number) => {
    const cell = (pick: (round: Round) => Sample) => {
      const ratio = median(rounds.map((round) => of(pick(round)) / of(round.few)))
      return `${spread(rounds.map((round) => of(pick(round))))}, ${ratio.toFixed(3)}x`
    }
    return [
      title,
      spread(rounds.map((round) => of(round.few))),
      cell(({ loaded }) => loaded),
      cell((round) => round.active),
    ]
  }
  const memory = (pick: (round: Round) => Sample) =>
    mebibytes(Math.max(...rounds.map((round) => pick(round).residentBytes)))
  const used = (count: number) => `requests of ${whole(count)}`
  return section(
    'Many accounts',
    table(
      ['', `${whole(few)} accounts`, `${whole(many)}, ${used(few)}`, `${whole(many)}, ${used(active)}`],
      [
        row('CPU of the gateway, us a request', ({ cpuMicros, load }) => cpuMicros / load.requests),
        row('CPU of Redis, us a request', ({ redisMicros, load }) => redisMicros / load.requests),
        ['memory of the gateway', memory(({ few }) => few), memory(({ loaded }) => loaded), memory((r) => r.active)],
      ],
    ),
    `Small answers on two stacks by turns; the accounts take turns too. From nothing to ready, with ${whole(many)} accounts in the
book and loaded into Redis, took ${startSeconds.toFixed(0)} s. A key in use is looked up again in the background every five to ten minutes; rounds
in which that falls on many keys together are dearer.`,
  )
}

/** Memory over very many requests. */
export function memorySection({ memory }: BenchResults): string {
  if (memory === null) return ''
  const { samples } = memory
  const share = growth(samples.map(({ residentBytes }) => residentBytes))
  const shown = samples.filter((_, i) => i === 0 || (i + 1) % 5 === 0)
  return section(
    'Memory over many requests',
    table(
      ['requests since the warm-up', ...shown.map(({ requests }) => whole(requests))],
      [['resident memory of the gateway', ...shown.map(({ residentBytes }) => mebibytes(residentBytes))]],
    ),
    `Growth: ${share === undefined ? 'unknown' : `${(share * 100).toFixed(1)} %`}, from the median of the first quarter of ${samples.length} samples to that of the last. One of
five requests is a stream. All memory is counted, that of the supervisor too.`,
  )
}

/** Booking into PostgreSQL. */
export function settlementSection(results: BenchResults): string {
  const { settlement } = results
  const rate = settlementRate(results)
  if (settlement === null || rate === undefined) return ''
  const { runs } = settlement
  const cpu = median(runs.map(({ cpuMicrosPerReceipt }) => cpuMicrosPerReceipt))
  const postgresCpu = median(runs.map(({ postgresMicrosPerReceipt = Number.NaN }) => postgresMicrosPerReceipt))
  const both = Number.isNaN(postgresCpu) ? '' : `, PostgreSQL ${postgresCpu.toFixed(1)} us`
  const each = runs.map(({ receipts, elapsedMs }) => whole((receipts / elapsedMs) * 1_000)).join(', ')
  return section(
    'Settlement into PostgreSQL',
    `${whole(rate)} receipts a second, from the streams in Redis to the commit: receipts, postings, balances, usage of the keys
and the usage log. ${runs.length} runs of ${whole(runs[0]?.receipts ?? 0)} receipts of ${whole(runs[0]?.accounts ?? 0)} accounts (${each}), with nothing else running; control
uses ${cpu.toFixed(1)} us of CPU time for each${both}. Every run checks the book against what was put into the streams.`,
  )
}

/** The worker's allocations per request and per chunk. */
export function allocationSection({ allocations }: BenchResults): string {
  if (allocations.length === 0) return ''
  const of = (name: string) => allocations.find((one) => one.case === name)
  const perRequest = (one: AllocationResult | undefined) => (one === undefined ? undefined : one.bytes / one.requests)
  const short = perRequest(of(STREAM_SHORT))
  const perChunk = (name: string, tokens: number) => {
    const long = perRequest(of(name))
    return long === undefined || short === undefined ? undefined : (long - short) / (tokens - SHORT_TOKENS)
  }
  const rows: [string, number | undefined][] = [
    ['small request, not streamed', perRequest(of(SMALL))],
    [`stream of ${SHORT_TOKENS} chunks`, short],
    ['a chunk more, many chunks to a read', perChunk(STREAM_LONG, LONG_TOKENS)],
    ['a chunk more, each chunk sent by itself, unpaced', perChunk(STREAM_FLUSHED, STREAM_TOKENS)],
    ['a chunk more, each chunk a read of its own (paced)', perChunk(paced(PACED_CONNECTIONS[0]), STREAM_TOKENS)],
  ]
  const measured = rows.flatMap(([title, bytes]) => (bytes === undefined ? [] : [[title, whole(bytes)]]))
  const flushed = of(STREAM_FLUSHED)
  return section(
    'Memory allocated',
    table(['', 'bytes in the heap of V8'], measured),
    `By V8's sampling heap profiler, garbage included. A chunk more is the difference to streams of ${SHORT_TOKENS} chunks.`,
    flushed === undefined ? '' : topAllocations(flushed),
  )
}

function topAllocations({ top, events }: AllocationResult): string {
  const rows = top.map(({ name, file, bytes }) => [`\`${name}\` ${file}`, (bytes / events).toFixed(1)])
  return `Where it is allocated, with each chunk sent by itself:\n\n${table(['', 'bytes an event'], rows)}`
}
