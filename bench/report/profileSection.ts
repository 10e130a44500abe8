import { CASES } from '../cases.ts'
import type { CaseProfile, ProfileFile, ProfileRow, Profiles } from '../profiles.ts'
import { NOTHING, section, table } from './text.ts'

const ROWS = 20

/** The worker's CPU profiles, next to the earlier ones. */
export function profileSection(file: ProfileFile | undefined): string {
  if (file === undefined) return ''
  const { before, now } = file
  const since = before === null ? '' : ` "Before" is of ${day(before)}.`
  return section(
    'Where the time goes',
    `Self time of the worker by function, recorded by V8's profiler (\`node dist/bench/profile.js\`) while it served the load,
in microseconds a request: the share of the samples times the CPU time that the kernel counted. Recording costs time too,
so that the sums are above the figures without it. The recordings themselves are \`bench/results/*.cpuprofile\`, for the
developer tools of a browser. Now is of ${day(now)}.${since}`,
    ...now.cases.map((one) =>
      caseTable(
        one,
        before?.cases.find((other) => other.case === one.case),
      ),
    ),
  )
}

function caseTable(now: CaseProfile, before: CaseProfile | undefined): string {
  const title = CASES.find(({ name }) => name === now.case)?.title ?? now.case
  const micros = (of: CaseProfile, row: ProfileRow | undefined) =>
    row === undefined ? NOTHING : ((row.share * of.cpuMicros) / of.requests).toFixed(2)
  const rows = now.rows.slice(0, ROWS).map((row) => {
    const old = before?.rows.find(({ name, file }) => name === row.name && file === row.file)
    const cells = [`\`${row.name}\` ${row.file}`, micros(now, row), `${(row.share * 100).toFixed(1)} %`]
    return before === undefined ? cells : [...cells, micros(before, old)]
  })
  const sum = (of: CaseProfile) => (of.cpuMicros / of.requests).toFixed(2)
  const all = ['everything', sum(now), '100 %', ...(before === undefined ? [] : [sum(before)])]
  const head = ['', 'us', 'share', ...(before === undefined ? [] : ['us before'])]
  return `### ${title}\n\n${table(head, [...rows, all])}`
}

function day({ at }: Profiles): string {
  return at.slice(0, 10)
}
