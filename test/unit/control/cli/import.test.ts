// Goal: the commands that import print a catalog and nothing else to standard output, say what they leave out to standard
// error, and write keys only into a new file that their owner alone can read.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseCatalog } from '../../../../control/catalog/pricing/catalogFile.ts'
import { type CliResult, callCli } from '../../../support/cli.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

let dir: string
before(() => {
  dir = makeTempDir('import')
  const own = {
    model_name: 'gpt-x',
    litellm_params: { model: 'openai/gpt-x', api_key: 'sk-plain' },
    model_info: {
      max_input_tokens: 100,
      max_output_tokens: 10,
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
    },
  }
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ model_list: [own] }))
  writeFileSync(join(dir, 'portkey.json'), JSON.stringify({ provider: 'openai', api_key: 'sk-plain' }))
  writeFileSync(join(dir, 'channels.json'), JSON.stringify([{ name: 'a', type: 1, key: 'sk-plain', models: 'gpt-x' }]))
  const prices = { 'gpt-x': own.model_info }
  writeFileSync(join(dir, 'prices.json'), JSON.stringify(prices))
})
after(() => removeTempDir(dir))

const run = (...args: string[]): Promise<CliResult> =>
  callCli(['import', ...args.map((arg) => (/\.(yaml|json|env)$/.test(arg) ? join(dir, arg) : arg))], {})

test('each importer prints a catalog that is taken; keys are written to a new file alone', async () => {
  const calls = [
    ['litellm', 'config.yaml'],
    ['portkey', 'portkey.json', '--model', 'gpt-x', '--prices', 'prices.json'],
    ['new-api', 'channels.json', '--prices', 'prices.json'],
  ]
  for (const [i, call] of calls.entries()) {
    const { code, stdout, stderr } = await run(...call)
    assert.equal(code, 0, stderr)
    assert.deepEqual(
      parseCatalog('c.yaml', stdout).models.map(({ id }) => id),
      ['gpt-x'],
    )
    assert.match(stderr, /^note: keys: the file has keys, which no catalog has: set OPENAI_API_KEY, or write them/m)
    assert.doesNotMatch(stdout + stderr, /sk-plain/)
    const keys = join(dir, `${i}.env`)
    const written = await run(...call, '--keys', `${i}.env`)
    assert.equal(written.code, 0, written.stderr)
    assert.equal(readFileSync(keys, 'utf8'), 'OPENAI_API_KEY=sk-plain\n')
    assert.equal(statSync(keys).mode & 0o777, 0o600)
    const again = await run(...call, '--keys', `${i}.env`)
    assert.deepEqual([again.code, again.stdout], [1, ''])
    assert.match(again.stderr, /EEXIST/)
  }
})

test('files that cannot be read, and calls that lack something, are said in a line', async () => {
  writeFileSync(join(dir, 'broken.json'), '{"a":')
  writeFileSync(join(dir, 'broken.yaml'), 'a: [1\nb: {')
  for (const file of ['broken.json', 'broken.yaml', 'gone.yaml']) {
    const { code, stdout } = await run('litellm', file)
    assert.equal(code, 1)
    assert.ok(stdout.startsWith(`${file}: `), stdout)
  }
  const { code, stderr } = await run('portkey', 'portkey.json')
  assert.equal(code, 2)
  assert.match(stderr, /--model names the model/)
  const nothing = await run('new-api', 'prices.json')
  assert.equal(nothing.code, 1)
  assert.match(nothing.stderr, /it has no list of channels/)
  assert.ok(!existsSync(join(dir, 'gone.yaml')))
})
