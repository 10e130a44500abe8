import { CAPACITY_FIGURES } from './capacityFigures.ts'
import {
  type CapacityDemand,
  type CapacityFigures,
  type CapacityPlan,
  type KeyUse,
  planCapacity,
} from './capacityPlan.ts'
import type { ProcessName } from './ceilings.ts'
import { type Arguments, type Command, flag, UsageError } from './command.ts'

const GIGABYTE = 1e9
const DEFAULTS = { streams: 0, chunks: 40, accounts: 1_000 }
/** Beyond it sums are no longer exact, and no installation is near. */
const DEMAND_MAX = 1_000_000_000
const NAMES: Readonly<Record<ProcessName, string>> = {
  proxy: 'the proxy',
  redis: 'Redis',
  control: 'control',
  postgres: 'PostgreSQL',
}

function numberOf(args: Arguments, name: string, fallback?: number): number {
  const text = flag(args, name)
  if (text === undefined && fallback !== undefined) return fallback
  const value = Number(text)
  if (text === undefined || !/^\d+$/.test(text) || value > DEMAND_MAX) {
    throw new UsageError(
      `--${name} must be a whole number up to ${DEMAND_MAX}${text === undefined ? '' : `, not "${text}"`}`,
    )
  }
  return value
}

function keysOf(args: Arguments): KeyUse {
  const text = flag(args, 'keys') ?? 'hot'
  if (text === 'hot' || text === 'cold') return text
  throw new UsageError(`--keys must be hot or cold, not "${text}"`)
}

function whole(value: number): string {
  return value.toLocaleString('en-US')
}

function cores(count: number): string {
  return count === 1 ? '1 core' : `${whole(count)} cores`
}

function gigabytes(bytes: number): string {
  const value = bytes / GIGABYTE
  return `${value < 10 ? value.toFixed(1) : whole(Math.round(value))} GB`
}

/** The plan as lines of text, one for each part. */
export function capacityText(plan: CapacityPlan, { at, cpu }: CapacityFigures = CAPACITY_FIGURES): string {
  const lines = [
    [
      'proxies',
      `${whole(plan.workers)} workers with a core each, ${gigabytes(plan.proxyBytes)} of memory, ${whole(plan.descriptors)} file descriptors`,
    ],
    ['Redis', `${cores(plan.redisCores)}, one for each node, ${gigabytes(plan.redisBytes)} of memory (estimated)`],
    ['control', `${cores(plan.controlCores)}, one for each control, and one more to take over`],
    [
      'PostgreSQL',
      `${cores(plan.postgresCores)}, ${gigabytes(plan.diskBytesPerDay)} of disk a day, ${gigabytes(plan.walBytesPerDay)} of write-ahead log a day`,
    ],
    ['bound', boundText(plan)],
    ['measured', `${at} on ${cpu}, with cores four fifths busy; measure your own load with \`sluice load\``],
  ]
  return lines.map(([name = '', text = '']) => `${name.padEnd(12)}${text}`).join('\n')
}

function boundText({ books, bookRequestsMax, bound }: CapacityPlan): string {
  const end = `${NAMES[bound]} ends one installation at ${whole(bookRequestsMax)} requests a second`
  return books === 1 ? end : `${end}: divide the accounts among ${whole(books)} installations`
}

export const CAPACITY: Command = {
  synopsis: 'capacity',
  summary:
    'Says which cores, memory and disk a load takes, by calculation from the figures of the last benchmark. It needs neither the database nor Redis.',
  brief: 'cores, memory and disk for a load',
  flags: {
    requests: { value: 'N', help: 'requests that begin each second, those of streams among them' },
    streams: { value: 'N', help: `streams open at a time (default ${DEFAULTS.streams})` },
    chunks: { value: 'N', help: `chunks a second of each stream (default ${DEFAULTS.chunks})` },
    keys: {
      value: 'USE',
      help: 'hot for keys in use all the time (the default), cold for keys that are each used once',
    },
    accounts: { value: 'N', help: `accounts in use within an hour (default ${whole(DEFAULTS.accounts)})` },
  },
  run: async (args, context) => {
    const demand: CapacityDemand = {
      requests: numberOf(args, 'requests'),
      streams: numberOf(args, 'streams', DEFAULTS.streams),
      chunks: numberOf(args, 'chunks', DEFAULTS.chunks),
      accounts: numberOf(args, 'accounts', DEFAULTS.accounts),
      keys: keysOf(args),
    }
    const plan = planCapacity(demand, CAPACITY_FIGURES)
    context.print({ demand, ...plan, measured_at: CAPACITY_FIGURES.at }, capacityText(plan))
    return undefined
  },
}
