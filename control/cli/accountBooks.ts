import { parseDay, parseMonth } from '../../contract/api/time.ts'
import { usageQuery } from '../book/usage/usageQuery.ts'
import { readUsage } from '../book/usage/usageReads.ts'
import { accountOf, UnknownAccountError } from '../identity/accounts/accounts.ts'
import { statementPart } from '../records/statements/statement.ts'
import { listActivity } from '../runtime/activity/activity.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { type Arguments, argument, type Command, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'

const GROUPING = /^(day|model|key|agent)(,(day|model|key|agent)){0,3}$/

async function knownAccount(args: Arguments, pool: Pool): Promise<string> {
  const accountId = argument(args, 'ID')
  if ((await accountOf(pool, accountId)) === undefined) throw new UnknownAccountError(accountId)
  return accountId
}

async function activity(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const accountId = await knownAccount(args, pool)
  const found = await listActivity(pool, accountId, context.limits.listPageMax + 1, flag(args, 'after') ?? '')
  const data = found.slice(0, context.limits.listPageMax)
  const rows = data.map((entry) => {
    const actor = entry.actor.id === null ? entry.actor.type : `${entry.actor.type} ${entry.actor.id}`
    return [entry.created_at, entry.type, entry.target, actor]
  })
  const hasMore = found.length > data.length
  context.print({ data, has_more: hasMore }, table(['TIME', 'WHAT', 'ON', 'BY'], rows))
  if (hasMore) context.warn(`there are more: --after ${data.at(-1)?.id}`)
}

function dayOf(args: Arguments, name: string): string | undefined {
  const text = flag(args, name)
  if (text === undefined || parseDay(text) !== undefined) return text
  throw new UsageError(`--${name} must be a day such as 2027-01-31, not "${text}"`)
}

async function usage(args: Arguments, context: CliContext): Promise<undefined> {
  const by = flag(args, 'by') ?? 'day'
  if (!GROUPING.test(by))
    throw new UsageError(`--by must be some of day, model, key, agent, separated by commas, not "${by}"`)
  const [from, to] = [dayOf(args, 'from'), dayOf(args, 'to')]
  const pool = await context.pool()
  const fields = {
    group_by: by,
    limit: context.limits.usagePageMax,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
  const found = await readUsage(
    pool,
    usageQuery(await knownAccount(args, pool), fields, context.limits),
    context.limits,
  )
  const rows = found.data.map((group) => [
    ...found.group_by.map((name) =>
      String((name === 'key' ? group.key_id : name === 'agent' ? group.agent_id : group[name]) ?? ''),
    ),
    ...[group.requests, group.input_tokens, group.output_tokens].map(String),
    group.cost.usd,
  ])
  const headings = [...found.group_by.map((name) => name.toUpperCase()), 'REQUESTS', 'INPUT', 'OUTPUT', 'USD']
  context.print(found, table(headings, rows))
  if (found.has_more) context.warn('there are more groups; choose fewer days')
}

async function statement(args: Arguments, context: CliContext): Promise<undefined> {
  const month = parseMonth(argument(args, 'MONTH'))
  if (month === undefined) throw new UsageError(`MONTH must be such as 2027-01, not "${argument(args, 'MONTH')}"`)
  const pool = await context.pool()
  const accountId = await knownAccount(args, pool)
  for (let part = ''; ; ) {
    const { text, next } = await statementPart(pool, { accountId, ...month }, part, context.limits)
    await context.write(text)
    if (next === '') return
    part = next
  }
}

/** Commands that read an account from the book. */
export const ACCOUNT_BOOKS: readonly Command[] = [
  {
    synopsis: 'activity <ID>',
    summary: 'Lists every change to an account, newest first.',
    flags: { after: { value: 'ID', help: 'continue after this entry' } },
    run: activity,
  },
  {
    synopsis: 'usage <ID>',
    summary: 'Sums up requests, tokens and costs of an account.',
    flags: {
      from: { value: 'DAY', help: 'the first day, such as 2027-01-01 (30 days before the last)' },
      to: { value: 'DAY', help: 'the last day (today)' },
      by: { value: 'GROUPS', help: 'some of day,model,key,agent (day)' },
    },
    run: usage,
  },
  {
    synopsis: 'statement <ID> <MONTH>',
    summary: 'Prints every movement of money in a month such as 2027-01, as CSV.',
    run: statement,
  },
]
