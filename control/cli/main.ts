import { GatewayError } from '../../contract/errors/errors.ts'
import { TooManyGrantsError } from '../book/ledger/grantCredits.ts'
import { ReusedRefError } from '../book/ledger/reusedRefError.ts'
import { RouteSwitchError } from '../catalog/pricing/routeSwitches.ts'
import { IncidentError } from '../catalog/status/incidents.ts'
import { UnknownAccountError } from '../customers/accounts/accounts.ts'
import { UnknownKeyError } from '../customers/keys/keys.ts'
import type { Limits } from '../limits.ts'
import { ACCOUNT } from './account.ts'
import { AGENT } from './agent.ts'
import { APPROVAL } from './approval.ts'
import { AUDIT } from './audit.ts'
import { BATCH } from './batch.ts'
import { CATALOG } from './catalog.ts'
import {
  type Command,
  type CommandGroup,
  commandHelp,
  commandName,
  groupHelp,
  isSet,
  overviewHelp,
  parseCommand,
  UsageError,
} from './command.ts'
import { CliContext, CommandError } from './context.ts'
import { HOLDS } from './holds.ts'
import { INCIDENT } from './incident.ts'
import { KEY } from './key.ts'
import { LINK } from './link.ts'
import { PROVIDER } from './provider.ts'
import { REFERRAL } from './referral.ts'
import { ROUTE } from './route.ts'
import { SESSION } from './session.ts'
import { TRAIL } from './trail.ts'
import { WALLET } from './wallet.ts'

const GROUPS: readonly CommandGroup[] = [
  ACCOUNT,
  KEY,
  WALLET,
  SESSION,
  LINK,
  AGENT,
  APPROVAL,
  REFERRAL,
  PROVIDER,
  CATALOG,
  ROUTE,
  INCIDENT,
  BATCH,
  TRAIL,
  AUDIT,
  HOLDS,
]
const TOLD_IN_A_LINE = [
  CommandError,
  UsageError,
  UnknownAccountError,
  UnknownKeyError,
  ReusedRefError,
  TooManyGrantsError,
  GatewayError,
  RouteSwitchError,
  IncidentError,
]
const EXIT_FAILED = 1
const EXIT_USAGE = 2

const asksForHelp = (word: string | undefined): boolean => word === '--help' || word === '-h' || word === 'help'

/** The group and command that the words name; a group of one command may be called without naming it. */
function findCommand(
  argv: readonly string[],
): { group: CommandGroup; command: Command; rest: readonly string[] } | string {
  const [first, second] = argv
  if (first === undefined || asksForHelp(first)) return overviewHelp(GROUPS)
  const group = GROUPS.find(({ name }) => name === first)
  if (group === undefined) {
    throw new UsageError(`there is no "${first}"; there are: ${GROUPS.map(({ name }) => name).join(', ')} (see --help)`)
  }
  const named = group.commands.find((command) => commandName(command) === second)
  if (named !== undefined) return { group, command: named, rest: argv.slice(2) }
  const only = group.commands.length === 1 ? group.commands[0] : undefined
  if (only !== undefined && commandName(only) === '') return { group, command: only, rest: argv.slice(1) }
  if (second === undefined || asksForHelp(second)) return groupHelp(group)
  const names = group.commands.map(commandName).join(', ')
  throw new UsageError(`there is no "${first} ${second}"; there are: ${names} (see ${first} --help)`)
}

async function runCommand(argv: readonly string[], limits: Limits): Promise<number> {
  const found = findCommand(argv)
  if (typeof found === 'string') {
    process.stdout.write(found)
    return argv.length === 0 ? EXIT_USAGE : 0
  }
  const { group, command, rest } = found
  const args = parseCommand(command, group.name, rest)
  if (isSet(args, 'help')) {
    process.stdout.write(commandHelp(command, group.name))
    return 0
  }
  const context = new CliContext(process.env, limits, isSet(args, 'json'))
  try {
    return (await command.run(args, context)) ?? 0
  } finally {
    await context.close()
  }
}

/** Errors that an operator caused are told in a line; everything else keeps its stack. */
function report(error: unknown): number {
  const isKnown = TOLD_IN_A_LINE.some((kind) => error instanceof kind)
  const text = error instanceof Error ? (isKnown ? error.message : (error.stack ?? error.message)) : String(error)
  process.stderr.write(`sluice: ${text}\n`)
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
}

/**
 * Runs the command that the words name and prints its result, or what is wrong with it.
 * @returns the exit status: 0; 1 when it failed; 2 when the call does not fit
 */
export function main(argv: readonly string[], limits: Limits): Promise<number> {
  return runCommand(argv, limits).catch(report)
}
