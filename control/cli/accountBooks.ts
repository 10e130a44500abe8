import { parseMonth } from '../../contract/api/time.ts'
import { accountOf, UnknownAccountError } from '../identity/accounts/accounts.ts'
import { statementPart } from '../records/statements/statement.ts'
import { listActivity } from '../runtime/activity/activity.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { type Arguments, argument, type Command, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'
import { printUsage, USAGE_FLAGS } from './usage.ts'

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

async function usage(args: Arguments, context: CliContext): Promise<undefined> {
  await printUsage(args, context, async () => knownAccount(args, await context.pool()))
}

async function statement(args: Arguments, context: CliContext): Promise<undefined> {
  const month = parseMonth(argument(args, 'MONTH'))
  if (month === undefined) throw new UsageError(`MONTH must be such as 2027-01, not "${argument(args, 'MONTH')}"`)
  const pool = await context.pool()
  const accountId = await knownAccount(args, pool)
  for (let part = ''; ; ) {
    const query = { accountId, ...month, form: context.isJson ? 'json' : 'csv', tag: '', user: '' } as const
    const { text, next } = await statementPart(pool, query, part, context.limits)
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
    flags: USAGE_FLAGS,
    run: usage,
  },
  {
    synopsis: 'statement <ID> <MONTH>',
    summary: 'Prints every movement of money in a month such as 2027-01, as CSV, or as JSON with --json.',
    run: statement,
  },
]
