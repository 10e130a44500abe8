import { ACCOUNT_USAGE_GROUPS, ALL_USAGE_GROUPS } from '../../contract/api/accountRoutes.ts'
import { parseDay } from '../../contract/api/time.ts'
import { memberOf } from '../book/usage/usageGroups.ts'
import { usageQuery } from '../book/usage/usageQuery.ts'
import { readUsage } from '../book/usage/usageReads.ts'
import { type Arguments, type Command, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { countOf } from './keySettings.ts'
import { table } from './table.ts'

/** Flags of the commands that sum up usage. */
export const USAGE_FLAGS: NonNullable<Command['flags']> = {
  from: { value: 'DAY', help: 'the first day, such as 2027-01-01 (30 days before the last)' },
  to: { value: 'DAY', help: 'the last day (today)' },
  by: {
    value: 'GROUPS',
    help: 'some of day,month,model,key,platform_key,agent, or outcome beside day, month, model or agent, or tag or user beside hour, day or month (day)',
  },
  limit: { value: 'N', help: 'at most this many groups (1000)' },
  after: { value: 'NEXT', help: 'continue after the page that ended with this' },
}

function dayOf(args: Arguments, name: string): string | undefined {
  const text = flag(args, name)
  if (text === undefined || parseDay(text) !== undefined) return text
  throw new UsageError(`--${name} must be a day such as 2027-01-31, not "${text}"`)
}

function limitOf(args: Arguments, most: number): number {
  const limit = countOf(args, 'limit', 'groups') ?? most
  if (limit < 1 || limit > most) throw new UsageError(`--limit must be from 1 to ${most}, not ${limit}`)
  return limit
}

/** A value of a group; null is all others among tags and users, and nothing elsewhere. */
function shown(value: unknown, isByTag: boolean): string {
  if (value === null || value === undefined) return isByTag ? 'others' : ''
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, text]) => `${name}=${text}`)
    .join()
}

/**
 * Prints a page of usage.
 * @param accountOf the account, called when all else of the call fits; undefined for the usage of all accounts
 */
export async function printUsage(
  args: Arguments,
  context: CliContext,
  accountOf?: () => Promise<string>,
): Promise<undefined> {
  const by = flag(args, 'by') ?? 'day'
  const isAll = accountOf === undefined
  if (!(isAll ? ALL_USAGE_GROUPS : ACCOUNT_USAGE_GROUPS).test(by)) {
    const names = `day, month, model, key, platform_key, ${isAll ? 'account' : 'agent'}`
    const outcomes = isAll ? 'provider and outcome, beside account' : 'outcome, beside agent'
    const tags = `tag or user, beside ${isAll ? 'account, ' : ''}hour, day or month`
    const hours = isAll ? ', or hour, beside provider, outcome, model, day and month' : ''
    const groups = `some of ${names}, separated by commas, or ${outcomes}, day, month and model${hours}, or ${tags}`
    throw new UsageError(`--by must be ${groups}, not "${by}"`)
  }
  const [from, to, after] = [dayOf(args, 'from'), dayOf(args, 'to'), flag(args, 'after')]
  const fields = {
    group_by: by,
    limit: limitOf(args, context.limits.usagePageMax),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(after !== undefined && { after }),
  }
  const pool = await context.pool()
  const query = usageQuery(await accountOf?.(), fields, context.limits)
  const found = await readUsage(pool, query, context.limits)
  const isByTag = found.group_by.some((name) => name === 'tag' || name === 'user')
  const isByHour = !isByTag && found.group_by.includes('hour')
  const classes = isByHour ? ['cached_input_tokens', 'cache_write_tokens'] : []
  const rows = found.data.map((group) => [
    ...found.group_by.map((name) => shown(group[memberOf(name)], isByTag)),
    ...[group.requests, group.input_tokens, ...classes.map((name) => group[name]), group.output_tokens].map(String),
    group.cost.usd,
  ])
  const headings = [
    ...found.group_by.map((name) => name.toUpperCase()),
    'REQUESTS',
    'INPUT',
    ...(isByHour ? ['CACHED', 'WRITTEN'] : []),
    'OUTPUT',
    'USD',
  ]
  context.print(found, table(headings, rows))
  if (found.has_more) context.warn(`there are more groups: --after ${found.next}`)
}

export const USAGE: Command = {
  synopsis: 'usage',
  summary: 'Sums up requests, tokens and costs of all accounts.',
  flags: {
    ...USAGE_FLAGS,
    by: {
      value: 'GROUPS',
      help: 'some of day,month,account,model,key,platform_key, or provider and outcome beside account, day, month and model, or hour beside provider, outcome and model, or tag or user beside account, hour, day or month (day)',
    },
  },
  run: (args, context) => printUsage(args, context),
}
