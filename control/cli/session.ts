import { endSession, listSessions } from '../identity/sessions/sessions.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type CommandGroup } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { table } from './table.ts'
import { checksummed, formatTime } from './values.ts'

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const sessions = await listSessions(await context.pool(), argument(args, 'ACCOUNT'))
  const addresses = await checksummed(sessions.map(({ address }) => address))
  const data = sessions.map((session, i) => ({
    session_id: session.id,
    address: addresses[i] ?? '',
    created_at: formatTime(session.createdAtMs),
    expires_at: formatTime(session.expiresAtMs),
  }))
  const rows = data.map((session) => [session.session_id, session.address, session.created_at, session.expires_at])
  const text = rows.length === 0 ? 'nobody is signed in' : table(['SESSION', 'WALLET', 'SINCE', 'EXPIRES'], rows)
  context.print({ data }, text)
}

async function end(args: Arguments, context: CliContext): Promise<undefined> {
  const id = argument(args, 'ID')
  const ended = await withTransaction(await context.pool(), (client) => endSession(client, OPERATOR, id))
  if (!ended) throw new CommandError(`there is no session ${id}`)
  context.print({ session_id: id, ended }, `session ${id} is ended`)
}

export const SESSION: CommandGroup = {
  name: 'session',
  summary: 'list and end the sessions of an account',
  commands: [
    { synopsis: 'list <ACCOUNT>', summary: 'Lists the sessions of an account.', run: list },
    { synopsis: 'end <ID>', summary: 'Ends a session immediately.', run: end },
  ],
}
