// Goal: words become the arguments and options of a command as the operator means them; what does not fit is told with
// what would. Method: the tree of all commands, with commands that only note what they were called with.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { type Command, type CommandGroup, UsageError } from '../../../../control/cli/command.ts'
import { COMMANDS } from '../../../../control/cli/main.ts'
import { buildProgram, isHelp } from '../../../../control/cli/program.ts'

interface Called {
  readonly synopsis: string
  readonly named: Record<string, string>
  readonly flags: Record<string, readonly string[]>
}

/** What a line calls, or why it does not. */
async function call(entries: readonly (CommandGroup | Command)[], ...argv: string[]): Promise<Called | string> {
  let called: Called | undefined
  const program = buildProgram(entries, async ({ synopsis }, { named, flags }) => {
    called = { synopsis, named: Object.fromEntries(named), flags: Object.fromEntries(flags) }
  })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return called ?? 'nothing was called'
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
}

/** What `--help` prints. */
async function helpOf(...argv: string[]): Promise<string> {
  let text = ''
  const program = buildProgram(COMMANDS, async () => assert.fail('a command ran'))
  for (const node of [program].concat(
    program.commands,
    program.commands.flatMap(({ commands }) => commands),
  )) {
    node.configureOutput({ writeOut: (piece) => (text += piece), getOutHelpWidth: () => 1_000 })
  }
  await assert.rejects(program.parseAsync([...argv, '--help'], { from: 'user' }), isHelp)
  return text
}

const TABLE: readonly (CommandGroup | Command)[] = [
  {
    name: 'thing',
    summary: 'things',
    commands: [
      {
        synopsis: 'make <NAME> [FILE]',
        summary: 'Makes one.',
        flags: {
          amount: { value: 'USD', help: 'how much' },
          tag: { value: 'TEXT', help: 'a tag', repeatable: true },
          logs: { help: 'keeps logs' },
          'no-logs': { help: 'keeps none' },
        },
        run: async () => undefined,
      },
    ],
  },
  { synopsis: 'check', summary: 'Checks.', run: async () => undefined },
]
const make = (...argv: string[]) => call(TABLE, 'thing', 'make', ...argv)

test('words become named arguments and flags', async () => {
  assert.deepEqual(await make('a'), { synopsis: 'make <NAME> [FILE]', named: { NAME: 'a' }, flags: {} })
  assert.deepEqual(await make('--tag', 'x', 'a', '--tag=y', 'f', '--json', '--amount', '1.5'), {
    synopsis: 'make <NAME> [FILE]',
    named: { NAME: 'a', FILE: 'f' },
    flags: { tag: ['x', 'y'], json: [], amount: ['1.5'] },
  })
  assert.deepEqual(await call(TABLE, 'check'), { synopsis: 'check', named: {}, flags: {} })
})

test('a negative number is a value, and a value may begin with a dash', async () => {
  for (const value of ['-1', '-.5', '-1e3', '-x', '--odd']) {
    const called = await make('a', '--amount', value)
    assert.deepEqual(typeof called === 'object' && called.flags, { amount: [value] }, value)
  }
  const named = await make('-5', '--', '--file')
  assert.deepEqual(typeof named === 'object' && named.named, { NAME: '-5', FILE: '--file' })
})

test('a switch and its no- form are distinct', async () => {
  for (const [given, flags] of [
    [['--logs'], { logs: [] }],
    [['--no-logs'], { 'no-logs': [] }],
    [['--no-logs', '--logs'], { logs: [], 'no-logs': [] }],
  ] as const) {
    const called = await make('a', ...given)
    assert.deepEqual(typeof called === 'object' && called.flags, flags)
  }
})

test('an invalid command line is reported with the expected form', async () => {
  const usage = '\nusage: sluice thing make NAME [FILE] [options]; --help lists the options'
  for (const [argv, says] of [
    [['thnig'], 'there is no "thnig"; there are: thing, check (see --help)\n(Did you mean thing?)'],
    [['thing', 'mkae'], 'there is no "thing mkae"; there are: make (see thing --help)\n(Did you mean make?)'],
    [['thing', 'other'], 'there is no "thing other"; there are: make (see thing --help)'],
    [['thing', 'make'], `NAME is missing${usage}`],
    [['thing', 'make', 'a', 'b', 'c', 'd'], `there is one argument too many: c${usage}`],
    [['thing', 'make', 'a', '--amuont', '1'], `Unknown option '--amuont'\n(Did you mean --amount?)${usage}`],
    [['thing', 'make', 'a', '--amount'], `Option '--amount <USD>' argument missing${usage}`],
    [['thing', 'make', 'a', '--amount', '--json'], `--amount needs a value, not --json${usage}`],
    [['thing', 'make', 'a', '--amount', '1', '--amount=2'], `--amount is given twice${usage}`],
    [['check', 'a'], 'there is one argument too many: a\nusage: sluice check [options]; --help lists the options'],
  ] as const) {
    assert.equal(await call(TABLE, ...argv), says)
  }
})

test('help describes every command and option', async () => {
  const overview = await helpOf()
  for (const entry of COMMANDS) {
    if (!('commands' in entry)) {
      assert.ok(overview.includes(entry.brief ?? entry.summary), entry.synopsis)
      assert.ok((await helpOf(entry.synopsis.split(' ')[0] ?? '')).includes(entry.summary))
      continue
    }
    assert.ok(overview.includes(entry.summary), entry.name)
    const group = await helpOf(entry.name)
    assert.ok(group.startsWith(`Usage: sluice ${entry.name} COMMAND\n`))
    for (const command of entry.commands) {
      const shown = command.synopsis.replace(/[<>]/g, '')
      assert.match(group, new RegExp(`^ {2}${shown.replace(/[[\]]/g, '\\$&')} `, 'm'))
      assert.ok(group.includes(command.brief ?? command.summary), shown)
      const help = await helpOf(entry.name, command.synopsis.split(' ')[0] ?? '')
      assert.ok(help.startsWith(`Usage: sluice ${entry.name} ${shown} [options]\n\n${command.summary}\n`), help)
      for (const [name, flag] of Object.entries(command.flags ?? {})) {
        const term = flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`
        assert.ok(help.includes(`  ${term} `) && help.includes(flag.help), `${shown} ${term}`)
      }
    }
  }
})

test('every line of the documentation calls a command', async () => {
  const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  const texts = ['README.md', ...pages.map((name) => join('docs', name))].map((path) => readFileSync(path, 'utf8'))
  // A command ends with its line, its span of code, or where it is piped, redirected or substituted.
  const lines = texts
    .flatMap((text) => text.replaceAll(/ \\\n\s*/g, ' ').match(/npm run -s sluice -- [^\n`|)>]+/g) ?? [])
    .filter((line) => !/\.\.\.|GROUP/.test(line))
  assert.ok(lines.length > 20)
  for (const line of lines) {
    const words = line.match(/"[^"]*"|\S+/g)?.slice(5) ?? []
    const called = await call(COMMANDS, ...words.map((word) => word.replace(/^"|"$/g, '')))
    assert.equal(typeof called, 'object', `${line}: ${String(called)}`)
  }
})
