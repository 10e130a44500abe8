import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { callCli, runCli } from '../../support/cli.ts'
import { type CliWorld, startCliWorld } from '../../support/cliWorld.ts'

let world: CliWorld

before(async () => {
  world = await startCliWorld()
  assert.equal((await world.commands.run(['catalog', 'publish'])).code, 0)
})
after(() => world.stop())

const MISTAKES: ReadonlyArray<[args: string[], code: number, says: RegExp]> = [
  [
    ['bogus'],
    2,
    /there is no "bogus"; there are: account, key, wallet, session, link, lock, agent, .*trail, audit, explain, holds/,
  ],
  [
    ['account', 'bogus'],
    2,
    /there is no "account bogus"; there are: create, show, update, activity, usage, statement, list, credit/,
  ],
  [['acount', 'list'], 2, /there is no "acount"; .*\n\(Did you mean account\?\)\n$/],
  [['account', 'create', '--credit', '1'], 2, /Unknown option '--credit'\n\(Did you mean --credits\?\)\nusage: /],
  [['completion', 'tcsh'], 2, /Allowed choices are bash, zsh, fish/],
  [['account', 'show'], 2, /ID is missing\nusage: sluice account show ID/],
  [['account', 'show', 'acct_1', 'acct_2'], 2, /one argument too many: acct_2/],
  [['account', 'show', 'acct_1'], 1, /there is no account acct_1/],
  [
    ['account', 'create', '--credits', '-1'],
    2,
    /^sluice: --credits must be a decimal amount such as 1\.5, not "-1"\n$/,
  ],
  [['account', 'create', '--credits', '1e3'], 2, /--credits must be a decimal amount such as 1\.5/],
  [['account', 'create', '--credits', '1', '--credits', '2'], 2, /--credits is given twice/],
  [['account', 'create', '--coins', '1'], 2, /Unknown option '--coins'/],
  [['account', 'create', '--credits', '100000000'], 2, /--credits 100000000 is too large; the most is 9007199\.25474/],
  [['account', 'create', '--coin', '17000000000'], 2, /--coin 17000000000 is too large; the most is 9007199\.25474/],
  [
    ['account', 'create', '--cap-hour', '-1'],
    2,
    /^sluice: --cap-hour must be a decimal amount such as 1\.5, not "-1"\n$/,
  ],
  [['account', 'credit', 'acct_1'], 2, /say how much/],
  [['account', 'credit', 'acct_1', '--credits', '0'], 2, /must be more than 0/],
  [['key', 'update', 'key_1'], 2, /say what to change: --name, --cap-hour, .*--refuse-retention/],
  [['key', 'create', 'acct_1'], 1, /there is no account acct_1/],
  [['key', 'pause', 'key_1'], 1, /there is no key key_1/],
  [['key', 'update', 'key_1', '--rpm', 'many'], 2, /--rpm must be a whole number/],
  [['key', 'update', 'key_1', '--expires', 'tomorrow'], 2, /--expires must be a time such as/],
  [['key', 'update', 'key_1', '--logs', '--no-logs'], 2, /contradict each other/],
  [['restore', 'mark', '/nowhere/at/all.json'], 1, /^sluice: \/nowhere\/at\/all\.json cannot be written: ENOENT.*\n$/],
  [['restore', 'report', '/nowhere/at/all.json'], 1, /all\.json cannot be read: ENOENT/],
  [['restore', 'report', 'README.md'], 1, /README\.md is no mark of a book, as "restore mark" writes it\n$/],
  [['key', 'update', 'key_1', '--model', 'test/smal'], 2, /there is no model "test\/smal"; models: test\/small/],
]

for (const [args, code, says] of MISTAKES) {
  test(`states the remedy: ${args.join(' ')}`, async () => {
    const result = await world.commands.run(args)
    assert.match(result.stderr, says)
    assert.equal(result.code, code)
    assert.equal(result.stdout, '')
  })
}

test('help is available on every level', async () => {
  for (const args of [
    ['account', '--help'],
    ['account', 'create', '--help'],
    ['audit', '--help'],
  ]) {
    const result = await callCli(args, world.env)
    assert.equal(result.code, 0, args.join(' '))
    assert.match(result.stdout, /sluice/)
  }
})

test('help without a command, and the script of a shell, are printed', async () => {
  const overview = await callCli(['--help'], world.env)
  assert.match(overview.stdout, /sluice/)
  assert.deepEqual(await runCli(['--help'], world.env), overview)
  assert.deepEqual(await callCli([], world.env), { ...overview, code: 2 })
  assert.deepEqual(await callCli(['help'], world.env), overview)
  const group = await callCli(['account', '--help'], world.env)
  for (const args of [['account'], ['account', 'help'], ['help', 'account']]) {
    assert.deepEqual(await callCli(args, world.env), group)
  }
  const script = await callCli(['completion', 'bash'], world.env)
  assert.match(script.stdout, /^_sluice\(\) \{\n[\s\S]*\ncomplete -o default -F _sluice sluice\n$/)
  assert.deepEqual([script.code, script.stderr], [0, ''])
})

test('an unreachable database is reported in one line', async () => {
  const unknown = await callCli(['account', 'list'], { ...world.env, SLUICE_DATA: join(world.dir, 'none') })
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^sluice: the database is not known: is `make run` running\?/)
  const gone = await callCli(['account', 'list'], { ...world.env, DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x' })
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /not reachable: does DATABASE_URL name the right one, and does it run\?/)
  assert.ok(!gone.stderr.includes('secret'))
  const run = join(world.dir, 'run')
  mkdirSync(run)
  writeFileSync(join(run, 'run.json'), '{"database_url":"postgres://u:secret@127.0.0.1:1/x"}')
  const ended = await callCli(['account', 'list'], { ...world.env, SLUICE_DATA: run })
  assert.match(ended.stderr, /not reachable: is `make run` running\?/)
})

test('a database that fails while a command runs is reported in one line', async () => {
  const run: { database_url: string; redis_url: string } = JSON.parse(readFileSync(join(world.dir, 'run.json'), 'utf8'))
  const url = new URL(run.database_url)
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  for (const args of [['account', 'create', '--name', 'Nobody'], ['audit']]) {
    const result = await callCli(args, { ...world.env, DATABASE_URL: url.href, REDIS_URL: run.redis_url })
    assert.match(
      result.stderr,
      /^sluice: the database failed meanwhile \([^\n]*read-only[^\n]*\): [^\n]*\n$/,
      args.join(' '),
    )
    assert.deepEqual([result.code, result.stdout], [1, ''])
  }
})
