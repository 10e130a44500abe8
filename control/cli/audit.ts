import { runAudit } from '../audit/runAudit.ts'
import type { Arguments, Command } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'

const EXIT_BROKEN = 1

async function audit(_args: Arguments, context: CliContext): Promise<number> {
  const checks = await runAudit(await context.pool(), await context.redis(), context.limits, context.chainRpcUrl)
  const broken = checks.filter((check) => !check.ok)
  const rows = checks.map((check) => [check.ok ? 'holds' : 'BROKEN', check.name, check.detail])
  const verdict = broken.length === 0 ? 'everything holds' : `${broken.length} of ${checks.length} do not hold`
  context.print({ ok: broken.length === 0, checks }, `${table(['', 'INVARIANT', 'DETAIL'], rows)}\n\n${verdict}`)
  return broken.length === 0 ? 0 : EXIT_BROKEN
}

export const AUDIT: Command = {
  synopsis: 'audit',
  brief: 'verify every invariant of the book, the usage log and the admission state',
  summary: 'Verifies that the books are balanced, that the usage log proves every receipt, and that Redis agrees.',
  run: audit,
}
