import { parseArgs } from 'node:util'
import type { BenchCase, TargetName } from './cases.ts'
import { CASES, TARGET_NAMES } from './cases.ts'

/** Further measurements in addition to the cases, in this order. */
const PART_NAMES = ['load-test', 'accounts', 'installation', 'memory', 'profile', 'settlement'] as const
export type PartName = (typeof PART_NAMES)[number]

/** Shorter measurements only show that the benchmark works. */
const SECONDS_LEAST = 1
const ROUNDS_LEAST = 3

/** The measurements of a run, and their lengths. */
export interface Settings {
  readonly seconds: number
  readonly rounds: number
  readonly quick: boolean
  readonly targets: readonly TargetName[]
  readonly cases: readonly BenchCase[]
  readonly parts: readonly PartName[]
  /** Nothing is left out and nothing is short: the figures are worth keeping. */
  readonly isWhole: boolean
  /** The folder for results and report; undefined for the usual one. */
  readonly output: string | undefined
}

const HELP = `node dist/bench/run.js [--quick] [--seconds 2] [--rounds 5] [--targets LIST] [--cases LIST] [--output FOLDER]
--quick    a short run that shows that everything works; its figures mean nothing (also BENCH_QUICK=1)
--seconds  of each measurement (also BENCH_SECONDS); --rounds: of all targets and cases (also BENCH_ROUNDS)
--targets  of ${TARGET_NAMES.join(', ')}
--cases    of ${CASES.map(({ name }) => name).join(', ')}, and the parts ${PART_NAMES.join(', ')}
Results go to bench/results/last.json and bench/REPORT.md; those of a short or partial run to bench/results/partial/.
--output   another folder for them`

/**
 * Reads the command line and the environment. A whole run takes about a quarter of an hour.
 * @returns undefined for --help, which prints the help
 * @throws Error naming the unknown option
 */
export function readSettings(args: readonly string[], env: NodeJS.ProcessEnv): Settings | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: env['BENCH_SECONDS'] },
      rounds: { type: 'string', default: env['BENCH_ROUNDS'] },
      quick: { type: 'boolean', default: env['BENCH_QUICK'] === '1' },
      targets: { type: 'string' },
      cases: { type: 'string' },
      output: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return undefined
  }
  const quick = values.quick
  const seconds = Number(values.seconds ?? (quick ? 0.5 : 2))
  const rounds = Number(values.rounds ?? (quick ? 1 : 5))
  if (!(seconds > 0) || !Number.isInteger(rounds) || rounds < 1) {
    throw new Error('--seconds is a positive number and --rounds a whole one')
  }
  const isShort = quick || seconds < SECONDS_LEAST || rounds < ROUNDS_LEAST
  const targets = chosen('--targets', values.targets, TARGET_NAMES)
  const names = [...CASES.map(({ name }) => name), ...PART_NAMES]
  const wanted = chosen('--cases', values.cases, names)
  return {
    seconds,
    rounds,
    quick,
    targets,
    output: values.output,
    cases: CASES.filter(({ name }) => wanted.includes(name)),
    parts: targets.includes('sluice') ? PART_NAMES.filter((name) => wanted.includes(name)) : [],
    isWhole: !isShort && targets.length === TARGET_NAMES.length && wanted.length === names.length,
  }
}

function chosen<Name extends string>(option: string, list: string | undefined, all: readonly Name[]): Name[] {
  const wanted = list?.split(',') ?? [...all]
  const unknown = wanted.find((name) => !all.some((one) => one === name))
  if (unknown !== undefined) throw new Error(`${option}: there is no ${unknown}; known are ${all.join(', ')}`)
  return all.filter((name) => wanted.includes(name))
}
