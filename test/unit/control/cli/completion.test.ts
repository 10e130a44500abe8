// Goal: a shell completes what the operator types. Method: the script for bash, in bash; that for fish by its lines.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { addCompletion } from '../../../../control/cli/completion.ts'
import { COMMANDS } from '../../../../control/cli/main.ts'
import { buildProgram } from '../../../../control/cli/program.ts'

async function scriptFor(shell: string): Promise<string> {
  const program = buildProgram(COMMANDS, async () => assert.fail('a command ran'))
  let script = ''
  addCompletion(program, (text) => {
    script += text
  })
  await program.parseAsync(['completion', shell], { from: 'user' })
  return script
}

/** What bash offers for the last of the words. */
function completions(script: string, words: readonly string[]): string[] {
  const line = ['sluice'].concat(words)
  const quoted = line.map((word) => `'${word}'`).join(' ')
  const asked = `${script}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${line.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { status, stdout, stderr } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout.split('\n').filter((word) => word !== '')
}

test('bash completes commands and options', async () => {
  const script = await scriptFor('bash')
  for (const [words, offered] of [
    [['acc'], ['account']],
    [['a'], ['account', 'agent', 'approval', 'audit']],
    [['comp'], ['completion']],
    [
      ['account', 'cre'],
      ['create', 'credit'],
    ],
    [
      ['account', 'create', '--c'],
      ['--credits', '--coin', '--cap-hour', '--cap-day', '--cap-month', '--capture-content'],
    ],
    [['account', 'create', '--credits', '5', '--wal'], ['--wallet']],
    [['account', 'show', 'acct_1', '--'], ['--json']],
    [['wallet', 'link', 'acct_1', '--j'], ['--json']],
    [['audit', '--j'], ['--json']],
    [['bogus', 'x'], []],
  ] as const) {
    assert.deepEqual(completions(script, words), offered, words.join(' '))
  }
  const groups = COMMANDS.map((entry) => ('commands' in entry ? entry.name : entry.synopsis.replace(/ .*/, '')))
  assert.deepEqual(completions(script, ['']), groups.concat('completion'))
})

test('zsh uses the script of bash', async () => {
  const [head, ...rest] = (await scriptFor('zsh')).split('\n')
  assert.equal(head, 'autoload -U +X bashcompinit && bashcompinit')
  assert.equal(rest.join('\n'), await scriptFor('bash'))
})

test('fish gets a line for every command and option', async () => {
  const script = await scriptFor('fish')
  for (const entry of COMMANDS) {
    const name = 'commands' in entry ? entry.name : entry.synopsis.replace(/ .*/, '')
    assert.ok(script.includes(`complete -c sluice -n '__sluice_at "sluice"' -a ${name} -d '`), name)
    for (const command of 'commands' in entry ? entry.commands : []) {
      const [word = ''] = command.synopsis.split(' ')
      assert.ok(script.includes(`'__sluice_at "sluice ${name}"' -a ${word} -d '`), `${name} ${word}`)
      for (const [flag, { value }] of Object.entries(command.flags ?? {})) {
        const line = `'__sluice_at "sluice ${name} ${word}*"' -l ${flag}${value === undefined ? '' : ' -r'} -d '`
        assert.ok(script.includes(line), line)
      }
    }
  }
  assert.match(script, /account\\'s setting/)
})
