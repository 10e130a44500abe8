import { migrate } from '../runtime/db/migrate.ts'
import type { Arguments, Command } from './command.ts'
import type { CliContext } from './context.ts'

async function run(_args: Arguments, context: CliContext): Promise<undefined> {
  const pool = context.bareDatabase()
  try {
    const applied = await migrate(pool)
    context.print({ applied }, applied.length === 0 ? 'the book is up to date' : `applied: ${applied.join(', ')}`)
  } finally {
    await pool.end()
  }
}

export const MIGRATE: Command = {
  synopsis: 'migrate',
  summary: 'Brings the schema of the book up to date, as control does at its start, and lists what was applied.',
  brief: 'brings the schema of the book up to date',
  run,
}
