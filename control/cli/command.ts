import { parseArgs } from 'node:util'
import type { CliContext } from './context.ts'

/** One flag of a command. Flags with a `value` take one; the others are switches. */
export interface Flag {
  readonly value?: string
  readonly help: string
  readonly repeatable?: boolean
}

export interface Arguments {
  /** Values of the positional arguments by name; optional ones may be missing. */
  readonly named: ReadonlyMap<string, string>
  readonly flags: ReadonlyMap<string, readonly string[]>
}

export interface Command {
  /** As typed: "create", or "create ACCOUNT" with its arguments; "[FILE]" is optional. */
  readonly synopsis: string
  readonly summary: string
  readonly flags?: Readonly<Record<string, Flag>>
  /** @returns the exit status, or nothing for 0 */
  run(args: Arguments, context: CliContext): Promise<number | undefined>
}

/** Commands that share a first word. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly commands: readonly Command[]
}

/** A call that does not fit; the message says what would. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const COMMON: Readonly<Record<string, Flag>> = {
  json: { help: 'print JSON for programs' },
  help: { help: 'show this help' },
}

export function commandName(command: Command): string {
  return command.synopsis.split(' ')[0] ?? ''
}

function argumentNames(command: Command): Array<{ name: string; isRequired: boolean }> {
  const words = command.synopsis.split(' ').slice(1)
  return words.map((word) => ({ name: word.replace(/[[\]]/g, ''), isRequired: !word.startsWith('[') }))
}

/** Node takes `--cap-hour -1` for two flags; joined, the value reaches the check that says what an amount looks like. */
function joinNegative(argv: readonly string[], flags: Readonly<Record<string, Flag>>): string[] {
  const joined: string[] = []
  for (const word of argv) {
    const last = joined.at(-1)
    if (/^-[\d.]/.test(word) && last?.startsWith('--') && flags[last.slice(2)]?.value !== undefined) {
      joined[joined.length - 1] = `${last}=${word}`
    } else joined.push(word)
  }
  return joined
}

/** @throws UsageError that names what is wrong and shows how it is meant */
export function parseCommand(command: Command, group: string, argv: readonly string[]): Arguments {
  const flags = { ...command.flags, ...COMMON }
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      { type: flag.value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  )
  const usage = `\nusage: sluice ${`${group} ${command.synopsis}`.trim()}${command.flags ? ' [options]' : ''}; --help lists the options`
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: joinNegative(argv, flags), options, allowPositionals: true, strict: true })
  } catch (error) {
    // Node explains at length how to pass a positional that begins with a dash, which no argument here does.
    throw new UsageError((error as Error).message.replace(/\. To specify a positional.*/s, '') + usage)
  }
  const values = new Map<string, readonly string[]>()
  for (const [name, value] of Object.entries(parsed.values)) {
    const list = (Array.isArray(value) ? value : [value]).map(String)
    if (list.length > 1 && flags[name]?.value !== undefined && !flags[name]?.repeatable) {
      throw new UsageError(`--${name} is given twice${usage}`)
    }
    values.set(name, list)
  }
  return { named: nameArguments(command, parsed.positionals, usage, values.has('help')), flags: values }
}

function nameArguments(command: Command, given: readonly string[], usage: string, isHelp: boolean) {
  const named = new Map<string, string>()
  const names = argumentNames(command)
  names.forEach(({ name, isRequired }, index) => {
    const value = given[index]
    if (value !== undefined) named.set(name, value)
    else if (isRequired && !isHelp) throw new UsageError(`${name} is missing${usage}`)
  })
  const [extra] = given.slice(names.length)
  if (extra !== undefined && !isHelp) throw new UsageError(`there is one argument too many: ${extra}${usage}`)
  return named
}

/** The value of an argument that `parseCommand` has seen to. */
export function argument(args: Arguments, name: string): string {
  return args.named.get(name) ?? ''
}

/** The value of a flag, or undefined when it is not given. */
export function flag(args: Arguments, name: string): string | undefined {
  return args.flags.get(name)?.[0]
}

export function isSet(args: Arguments, name: string): boolean {
  return args.flags.has(name)
}

/** What `sluice GROUP COMMAND --help` prints. */
export function commandHelp(command: Command, group: string): string {
  const lines = Object.entries({ ...command.flags, ...COMMON }).map(([name, { value, help }]) => {
    return `  ${`--${name}${value === undefined ? '' : ` ${value}`}`.padEnd(24)}${help}`
  })
  return `sluice ${`${group} ${command.synopsis}`.trim()} [options]\n\n${command.summary}\n\nOptions:\n${lines.join('\n')}\n`
}

/** What `sluice GROUP --help` prints. */
export function groupHelp(group: CommandGroup): string {
  const width = Math.max(...group.commands.map((command) => command.synopsis.length)) + 2
  const lines = group.commands.map((command) => `  ${command.synopsis.padEnd(width)}${command.summary}`)
  return `sluice ${group.name}: ${group.summary}\n\n${lines.join('\n')}\n\nsluice ${group.name} COMMAND --help shows the options.\n`
}

/** What `sluice --help` prints. */
export function overviewHelp(groups: readonly CommandGroup[]): string {
  const lines = groups.map((group) => `  ${group.name.padEnd(10)}${group.summary}`)
  return `The operator's command line of Sluice.

usage: npm run -s sluice -- GROUP COMMAND [arguments] [--json]

${lines.join('\n')}

"GROUP --help" lists the commands of a group, "GROUP COMMAND --help" their options.
The database and Redis are those of DATABASE_URL and REDIS_URL, or else those of the running "make run".
`
}
