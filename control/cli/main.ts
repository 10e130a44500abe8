import { GatewayError } from '../../contract/errors/errors.ts'
import { TooManyGrantsError } from '../book/ledger/grantCredits.ts'
import { ReusedRefError } from '../book/ledger/reusedRefError.ts'
import { RouteSwitchError } from '../catalog/pricing/routeSwitches.ts'
import { IncidentError } from '../catalog/status/incidents.ts'
import { NotStuckError } from '../chain/notStuckError.ts'
import { UnknownAccountError } from '../identity/accounts/accounts.ts'
import { UnknownKeyError } from '../identity/keys/keys.ts'
import type { Limits } from '../limits.ts'
import { ArchiveError } from '../records/archive/archiveError.ts'
import { isDatabaseDown } from '../runtime/db/isDatabaseDown.ts'
import { createPool } from '../runtime/db/pool.ts'
import { ACCOUNT } from './account.ts'
import { AGENT } from './agent.ts'
import { APPROVAL } from './approval.ts'
import { AUDIT } from './audit.ts'
import { BATCH } from './batch.ts'
import { CAPACITY } from './capacity.ts'
import { CATALOG } from './catalog.ts'
import { CHAIN } from './chain.ts'
import { type Arguments, type Command, type CommandGroup, isSet, UsageError } from './command.ts'
import { addCompletion } from './completion.ts'
import { CliContext, CommandError, type OpenDatabase } from './context.ts'
import { EXPLAIN } from './explain.ts'
import { HOLDS } from './holds.ts'
import { IMPORT } from './import.ts'
import { INCIDENT } from './incident.ts'
import { KEY } from './key.ts'
import { LEASES } from './leases.ts'
import { LINK } from './link.ts'
import { LOAD } from './load.ts'
import { LOCK } from './lock.ts'
import { LOG } from './log.ts'
import { MIGRATE } from './migrate.ts'
import { buildProgram, isHelp } from './program.ts'
import { PROVIDER } from './provider.ts'
import { RECEIPTS } from './receipts.ts'
import { REFERRAL } from './referral.ts'
import { RESERVE } from './reserve.ts'
import { RESTORE } from './restore.ts'
import { REWARDS } from './rewards.ts'
import { ROUTE } from './route.ts'
import { SESSION } from './session.ts'
import { shownText } from './shownText.ts'
import { TRAIL } from './trail.ts'
import { USAGE } from './usage.ts'
import { WALLET } from './wallet.ts'

/** All commands, in the order in which help lists them. */
export const COMMANDS: readonly (CommandGroup | Command)[] = [
  ACCOUNT,
  KEY,
  WALLET,
  SESSION,
  LINK,
  LOCK,
  AGENT,
  APPROVAL,
  REFERRAL,
  PROVIDER,
  CATALOG,
  IMPORT,
  ROUTE,
  INCIDENT,
  BATCH,
  LOG,
  CHAIN,
  RESERVE,
  REWARDS,
  USAGE,
  RECEIPTS,
  MIGRATE,
  RESTORE,
  TRAIL,
  AUDIT,
  EXPLAIN,
  HOLDS,
  LEASES,
  LOAD,
  CAPACITY,
]
const TOLD_IN_A_LINE = [
  NotStuckError,
  CommandError,
  UsageError,
  UnknownAccountError,
  UnknownKeyError,
  ReusedRefError,
  TooManyGrantsError,
  GatewayError,
  RouteSwitchError,
  IncidentError,
  ArchiveError,
]
const DATABASE_ADVICE = 'once it works again, look whether the command took effect before you repeat it'
const EXIT_FAILED = 1
const EXIT_USAGE = 2

/** @returns the exit status */
async function runCommand(argv: readonly string[], limits: Limits, openDatabase: OpenDatabase): Promise<number> {
  let status = 0
  const run = async (command: Command, args: Arguments): Promise<void> => {
    const context = new CliContext(process.env, limits, isSet(args, 'json'), openDatabase)
    try {
      status = (await command.run(args, context)) ?? 0
    } finally {
      await context.close()
    }
  }
  const program = buildProgram(COMMANDS, run)
  addCompletion(program, (text) => process.stdout.write(text))
  try {
    await program.parseAsync(argv, { from: 'user' })
    return status
  } catch (error) {
    if (!isHelp(error)) throw error
    return argv.length === 0 ? EXIT_USAGE : 0
  }
}

/** Errors that an operator caused, or a database that failed, are reported in one line; all others keep their stack. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (TOLD_IN_A_LINE.some((kind) => error instanceof kind)) return error.message
  if (isDatabaseDown(error)) return `the database failed meanwhile (${error.message}): ${DATABASE_ADVICE}`
  return error.stack ?? error.message
}

function report(error: unknown): number {
  process.stderr.write(`sluice: ${shownText(textOf(error))}\n`)
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
}

/**
 * Runs the command that the words name and prints its result or its error.
 * @returns the exit status: 0; 1 when it failed; 2 for a wrong call
 */
export function main(
  argv: readonly string[],
  limits: Limits,
  openDatabase: OpenDatabase = createPool,
): Promise<number> {
  return runCommand(argv, limits, openDatabase).catch(report)
}
