import type { TargetName } from '../cases.ts'
import { caseNamed, IMAGES, PACE_MS, PROMPT, paced, SMALL, STREAM, STREAM_FLUSHED, TARGET_TITLES } from '../cases.ts'
import type { ProfileFile } from '../profiles.ts'
import type { BenchResults } from '../results.ts'
import { type Bar, bars } from './bars.ts'
import { cpuSection, rateSection } from './cpuSections.ts'
import { cpuRatios, median } from './figures.ts'
import { installationSection } from './installationSection.ts'
import { profileSection } from './profileSection.ts'
import { accountsSection, allocationSection, memorySection, settlementSection } from './scaleSections.ts'
import type { SvgBar, SvgGroup } from './svg.ts'
import { ratioChart } from './svg.ts'
import { NOTHING, section, table } from './text.ts'
import { latencySection, loadTestSection, pacedSection } from './timeSections.ts'

/** The input of a report. */
export interface ReportInput {
  readonly results: BenchResults
  readonly profiles: ProfileFile | undefined
  /** Written by hand: the attempts at the bars that are not reached. */
  readonly notes: string
  /** Where the picture is, from the report. */
  readonly picture: string
}

const SERIES: Readonly<Partial<Record<TargetName, SvgBar['series']>>> = {
  haproxy: 'a',
  bare: 'e',
  portkey: 'b',
  'proxy-only': 'c',
  sluice: 'd',
}
const DRAWN = [SMALL, STREAM_FLUSHED, STREAM, paced(500), PROMPT, IMAGES]

/** The report on a run, in Markdown. */
export function reportText({ results, profiles, notes, picture }: ReportInput): string {
  const sections = [
    introduction(results, picture),
    barsSection(bars(results)),
    missedSection(bars(results), notes),
    cpuSection(results),
    rateSection(results),
    latencySection(results),
    pacedSection(results),
    loadTestSection(results),
    installationSection(results),
    accountsSection(results),
    memorySection(results),
    settlementSection(results),
    allocationSection(results),
    profileSection(profiles),
    booksSection(results),
    methodSection(results),
  ]
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`
}

/** The picture: CPU time of a request against nginx, by case and gateway. */
export function reportPicture(results: BenchResults): string {
  const groups = DRAWN.flatMap((name): SvgGroup[] => {
    const drawn = (Object.keys(SERIES) as TargetName[]).flatMap((target): SvgBar[] => {
      const ratios = cpuRatios(results, name, target, 'nginx').filter((ratio) => ratio > 0)
      const series = SERIES[target]
      if (ratios.length === 0 || series === undefined) return []
      return [{ label: TARGET_TITLES[target], ratio: median(ratios), series }]
    })
    return drawn.length === 0 ? [] : [{ title: caseNamed(name).title, bars: drawn }]
  })
  return ratioChart({
    title: 'CPU time of a request, against nginx as a plain pass-through',
    subtitle: `Logarithmic; medians of ${results.rounds} interleaved rounds of ${results.at.slice(0, 10)}. Less is better.`,
    base: 'nginx',
    groups,
  })
}

function introduction({ at, quick, machine }: BenchResults, picture: string): string {
  const memory = (machine.memoryBytes / 1024 ** 3).toFixed(1)
  const { nginx = 'left out', haproxy = 'left out', portkey = 'left out' } = machine.gateways
  const warning = quick ? '\n**This was a short run; its figures mean nothing.**\n' : ''
  return `# How fast Sluice is

Written by \`make bench\` from the run of ${at.slice(0, 16).replace('T', ' ')} UTC; nothing here is typed in by hand but the notes on what is
not reached. All figures of the run are in \`bench/results/last.json\`.
${warning}
The same requests go through each of these to the same mock provider, in turns within seconds of each other:

- **nginx** ${nginx} and **haproxy** ${haproxy}: pass bytes through, with kept connections, without buffering and logs. They
  show what HTTP itself costs.
- **bare relay**: the HTTP server, sockets and reader of answers that Sluice is made of, and nothing else: the least that
  these parts cost.
- **Portkey** ${portkey}: an AI gateway on Node.js, which translates and meters nothing here.
- **Sluice, proxy only**: authenticates, parses, routes and rewrites every chunk, but grants every hold and drops every
  charge (a setting for benchmarks alone).
- **Sluice, full money path**: also holds, charges and writes a receipt for every request, as in production.
- **no gateway**: the mock provider itself.

![CPU time of a request, against nginx](${picture})

Machine: ${machine.cpu}, ${machine.cores} cores, ${memory} GiB, Linux ${machine.kernel}. Node ${machine.node}, Redis ${machine.redis}, PostgreSQL ${machine.postgres}.`
}

function barsSection(list: readonly Bar[]): string {
  const rows = list.map(({ figure, bar, hope, measured, reached, hopeReached }) => {
    const verdict =
      measured === undefined ? 'not measured' : hopeReached ? 'yes, and the hope' : reached ? 'yes' : '**no**'
    return [figure, bar, hope, measured ?? NOTHING, verdict]
  })
  return section(
    'What was to be reached',
    table(['', 'bar', 'hope', 'measured', 'reached'], rows),
    `A bar is what has to be reached, a hope what would be good. One worker, one core. Ratios are medians of the ratios of single rounds. How a stream's chunks arrive decides what one
costs: by itself each is a read and a write in any gateway (a model sends a chunk every few milliseconds); in bulk nginx
passes on a hundred together without looking, while Sluice has to find and rewrite each.`,
  )
}

function missedSection(list: readonly Bar[], notes: string): string {
  const missed = list.filter(({ measured, reached }) => measured !== undefined && !reached)
  if (missed.length === 0) return ''
  const lines = missed.map(({ figure, bar, measured }) => `- ${figure}: ${measured}, not ${bar}.`)
  return section('What is not reached, and why', lines.join('\n'), notes.trim())
}

function booksSection({ books }: BenchResults): string {
  return section(
    'The books',
    ...books.map(
      ({ title, requests, receipts, auditClean, auditOutput }) =>
        `${title}: ${requests} requests were sent to Sluice and ${receipts} receipts are in PostgreSQL.
\`sluice audit\` ${auditClean ? 'is clean' : 'is NOT clean'}:

\`\`\`
${auditOutput}
\`\`\``,
    ),
  )
}

function methodSection({ seconds, rounds, pinned, background }: BenchResults): string {
  const cores =
    pinned === null
      ? 'Processes were not kept on separate cores.'
      : `The measured process runs on core ${pinned.measured}; the mock provider on core ${pinned.provider}, the load generator on core ${pinned.load}, Redis, control and
PostgreSQL on core ${pinned.others}.`
  const kept = {
    idle: `Control and PostgreSQL stand for other machines here, so they get the CPU time that the load leaves over: they
are in a control group whose cpu.idle is 1.`,
    autogroup: `Control and PostgreSQL stand for other machines here, so they get the CPU time that the load leaves
over: their autogroups (/proc/PID/autogroup) have nice 19.`,
    nice: 'Control and PostgreSQL stand for other machines here, so they run with nice 19.',
    none: 'Control and PostgreSQL compete with provider, load generator and Redis for their core.',
  }[background]
  return section(
    'How it was measured',
    `\`make bench\` does it again: it installs nginx, haproxy and Redis where they are missing, and Portkey into
\`bench/portkey\`, and takes about a quarter of an hour on a machine that should do nothing else.
\`node dist/bench/run.js --help\` explains how to measure less; \`BENCH_QUICK=1 make bench\` shows in a few minutes that all of
it works.`,
    `${rounds} rounds of ${seconds} s a load (fewer and longer ones for paced streams, fewer for large bodies and many keys). In a
round every load runs against every gateway before the next load. Before each, everything that has ended is booked. The
first answer of every run is parsed and checked in full, all others for status, number of events and [DONE]; a wrong one
ends the run. CPU time is the kernel's own count (\`/proc/PID/task/*/schedstat\`) of the processes of a gateway, user and
system together. ${cores} ${kept} Redis is reached by a Unix domain socket, everything else by TCP on 127.0.0.1. Paced streams are ${PACE_MS} ms apart.`,
  )
}
