import { type CommanderError, Option, Command as Program } from 'commander'
import { type Arguments, type Command, type CommandGroup, type Flag, UsageError } from './command.ts'

const JSON_FLAG: Flag = { help: 'print JSON for programs' }
const HELP_CODES: ReadonlySet<string> = new Set(['commander.help', 'commander.helpDisplayed'])
const FOOTER = `
"GROUP --help" lists the commands of a group, "GROUP COMMAND --help" their options.
The database and Redis are those of DATABASE_URL and REDIS_URL, or else those of the running "make run".`

/** Runs a command that was called. */
type RunCommand = (command: Command, args: Arguments) => Promise<void>

/** Whether an error of `parseAsync` means that help was printed. */
export function isHelp(error: unknown): boolean {
  return HELP_CODES.has((error as Partial<CommanderError> | null)?.code ?? '')
}

/**
 * The command line as a tree of commander. Its `parseAsync` rejects with UsageError for a call that does not fit, and with
 * an error for which `isHelp` holds once help was printed.
 */
export function buildProgram(entries: readonly (CommandGroup | Command)[], run: RunCommand): Program {
  const program = new Program('sluice')
    .description("The operator's command line of Sluice.")
    .usage('GROUP COMMAND [arguments] [--json]')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [COMMAND]', 'show the help of a command')
    .configureHelp({
      commandUsage: usageOf,
      optionTerm: ({ flags }) => flags.replace(/[<>]/g, ''),
      subcommandTerm: (node) => `${node.name()} ${argumentsOf(node)}`.trim(),
    })
    // Only the UsageError reports errors, and help is written to stdout, where a pager reads it.
    .configureOutput({ outputError: () => {}, writeErr: (text) => process.stdout.write(text) })
    .addHelpText('after', FOOTER)
  explainErrors(program)
  for (const entry of entries) {
    if ('commands' in entry) addGroup(program, entry, run)
    else addCommand(program, entry, run)
  }
  return program
}

function addGroup(program: Program, group: CommandGroup, run: RunCommand): void {
  const parent = program.command(group.name).description(group.summary).summary(group.summary).usage('COMMAND')
  parent.addHelpText('after', `\n${pathOf(parent)} COMMAND --help shows the options.`)
  explainErrors(parent)
  for (const command of group.commands) addCommand(parent, command, run)
}

function addCommand(parent: Program, command: Command, run: RunCommand): void {
  const node = parent
    .command(command.synopsis)
    .description(command.summary)
    .summary(command.brief ?? command.summary)
  node.usage(`${argumentsOf(node)} [options]`.trim())
  explainErrors(node)
  for (const [name, flag] of Object.entries({ ...command.flags, json: JSON_FLAG })) {
    node.addOption(optionOf(node, name, flag))
  }
  node.action(() => run(command, { named: namedOf(node), flags: flagsOf(node) }))
}

function optionOf(node: Program, name: string, { value, help, repeatable }: Flag): Option {
  const option = new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, help)
  // A switch such as --no-logs is its own flag, not the negation of --logs.
  option.negate = false
  if (value === undefined) return option
  return option.argParser<readonly string[] | undefined>((text, earlier) => {
    if (node.options.some(({ long }) => long === text)) throw usageError(node, `--${name} needs a value, not ${text}`)
    if (earlier !== undefined && !repeatable) throw usageError(node, `--${name} is given twice`)
    return (earlier ?? []).concat(text)
  })
}

function namedOf(node: Program): Map<string, string> {
  const values = node.registeredArguments.map((argument, i) => [argument.name(), node.args[i]] as const)
  return new Map(values.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

function flagsOf(node: Program): Map<string, readonly string[]> {
  const flags = new Map<string, readonly string[]>()
  for (const option of node.options) {
    const value: readonly string[] | true | undefined = node.getOptionValue(option.attributeName())
    if (value !== undefined) flags.set(option.name(), value === true ? [] : value)
  }
  return flags
}

/** The words that call a command, such as "sluice account show". */
function pathOf(node: Program): string {
  return node.parent === null ? node.name() : `${pathOf(node.parent)} ${node.name()}`
}

function argumentsOf({ registeredArguments }: Program): string {
  return registeredArguments.map((argument) => (argument.required ? argument.name() : `[${argument.name()}]`)).join(' ')
}

/** As it is typed in the project's folder, and for a command in short. */
function usageOf(node: Program): string {
  return `${node.parent === null ? 'npm run -s sluice --' : pathOf(node)} ${node.usage()}`
}

function usageError(node: Program, what: string): UsageError {
  return new UsageError(`${what}\nusage: ${pathOf(node)} ${node.usage()}; --help lists the options`)
}

/** Has commander throw a UsageError for a call of this command that does not fit. */
export function explainErrors(node: Program): void {
  node.exitOverride((error) => {
    throw isHelp(error) ? error : explained(node, error)
  })
}

/** An error of commander in the words of this command line, with commander's suggestion. */
function explained(node: Program, { code, message }: CommanderError): UsageError {
  const [given = ''] = node.args
  if (code === 'commander.unknownCommand') return unknownCommand(node, given, message)
  if (code === 'commander.missingArgument') {
    const missing = node.registeredArguments[node.args.length]
    return usageError(node, `${missing?.name() ?? 'an argument'} is missing`)
  }
  if (code === 'commander.excessArguments') {
    return usageError(node, `there is one argument too many: ${node.args[node.registeredArguments.length] ?? ''}`)
  }
  const text = message.replace(/^error: /, '')
  return usageError(node, text.charAt(0).toUpperCase() + text.slice(1))
}

function unknownCommand(node: Program, given: string, message: string): UsageError {
  const words = pathOf(node).split(' ').slice(1)
  const names = node.commands.map((command) => command.name()).join(', ')
  const suggestion = /\n\(.*\)$/.exec(message)?.[0] ?? ''
  const help = words.concat('--help').join(' ')
  return new UsageError(
    `there is no "${words.concat(given).join(' ')}"; there are: ${names} (see ${help})${suggestion}`,
  )
}
