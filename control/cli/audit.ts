import { runAudit } from '../audit/runAudit.ts'
import { AuditProgress } from './auditProgress.ts'
import { type Arguments, type Command, isSet } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'

const EXIT_BROKEN = 1

async function audit(args: Arguments, context: CliContext): Promise<number> {
  const isShown = !context.isJson && (process.stderr.isTTY || isSet(args, 'progress'))
  const progress = isShown ? new AuditProgress() : undefined
  const checks = await runAudit(await context.pool(), await context.redis(), context.limits, {
    rpcUrl: context.chainRpcUrl,
    archiveDir: context.archiveDir,
    marking: { isFull: isSet(args, 'full'), key: context.logKey },
    onProgress: progress?.note,
  }).finally(() => progress?.end())
  const broken = checks.filter((check) => !check.ok)
  const rows = checks.map((check) => [check.ok ? 'holds' : 'BROKEN', check.name, check.detail])
  const verdict = broken.length === 0 ? 'everything holds' : `${broken.length} of ${checks.length} do not hold`
  context.print({ ok: broken.length === 0, checks }, `${table(['', 'INVARIANT', 'DETAIL'], rows)}\n\n${verdict}`)
  return broken.length === 0 ? 0 : EXIT_BROKEN
}

export const AUDIT: Command = {
  synopsis: 'audit',
  brief: 'verify every invariant of the book, the usage log and the admission state',
  summary:
    'Verifies that the ledger balances, that the usage log proves every receipt, and that Redis agrees. Receipts that the ' +
    'last clean audit checked are not read again.',
  flags: {
    full: { help: 'check all receipts, including those checked before' },
    progress: { help: 'print progress to standard error even if it is not a terminal' },
  },
  run: audit,
}
