import { GATEWAY_WIDE, listActivity } from '../runtime/activity/activity.ts'
import type { Arguments, Command } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'

async function trail(_args: Arguments, context: CliContext): Promise<undefined> {
  const data = await listActivity(await context.pool(), GATEWAY_WIDE, context.limits.listPageMax, '')
  const rows = data.map((entry) => [
    entry.created_at,
    entry.type,
    entry.actor.type,
    entry.target,
    JSON.stringify(entry.details),
  ])
  const text = rows.length === 0 ? 'nothing was changed' : table(['WHEN', 'WHAT', 'BY', 'TARGET', 'DETAILS'], rows)
  context.print({ data }, text)
}

export const TRAIL: Command = {
  synopsis: 'trail',
  brief: 'list what was changed of routes, incidents and the coin',
  summary: 'Lists recent changes of the operator that belong to no account, newest first.',
  run: trail,
}
