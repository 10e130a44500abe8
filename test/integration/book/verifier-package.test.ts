// Goal: whoever installs the verifier verifies the receipts of a running gateway with it, on the command line and in browsers.
// Method: the package is packed as it is published, and unpacked in a folder where there is nothing else.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Report } from '../../../verifier/verify.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { mediaModel, postJson } from '../../support/clients/mediaClient.ts'
import { callTool, searchTool } from '../../support/clients/toolClient.ts'
import { TEST_LOG_VERIFIER } from '../../support/logKey.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const PUBLISHED = fileURLToPath(new URL('../../../verifier', import.meta.url))
const BARE = fileURLToPath(new URL('../../support/bareModules.js', import.meta.url))
const M = 'test/small'

let stack: Stack
let account: TestAccount
let dir: string

before(async () => {
  stack = await startStack({
    catalog: {
      coinUsd: '3.7',
      models: [
        { id: M },
        { id: 'test/cut', upstream: 'mock,cut=3' },
        { id: 'test/down', upstream: 'mock,error=500' },
        mediaModel('test/sizes', 'image', 'mock', { price: { image: '0.09', sizes: { '512x512': '0.01' } } }),
      ],
      tools: [searchTool('web.search')],
    },
  })
  account = await stack.createAccount({ args: ['--allow-retention'] })
  dir = makeTempDir('verifier')
  const packed = await finished('npm', 'pack', '--json', '--pack-destination', dir, PUBLISHED)
  assert.equal(packed.status, 0, packed.stderr)
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }]
  const names = files.map(({ path }) => path)
  for (const name of ['package.json', 'README.md', 'LICENSE', 'bin.js', 'verify.js', 'verify.d.ts']) {
    assert.ok(names.includes(name), name)
  }
  assert.ok(names.every((name) => !name.endsWith('.map')))
  assert.equal((await finished('tar', '-xzf', filename)).status, 0)
})

after(async () => {
  removeTempDir(dir)
  await stack.finish()
})

/** Runs a program in a folder of its own; meanwhile the connections to the gateway, which ends idle ones, are attended to. */
async function finished(
  program: string,
  ...args: string[]
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(program, args, { cwd: dir })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

const run = (...args: string[]) => finished(process.execPath, join(dir, 'package/bin.js'), ...args)

async function get(path: string): Promise<string> {
  const response = await fetch(stack.baseUrl + path)
  const body = await response.text()
  assert.equal(response.status, 200, body)
  return body
}

/** The public receipt, once a checkpoint has it. */
async function provedReceipt(requestId: string): Promise<string> {
  let receipt = ''
  await until('the receipt is in a checkpoint', async () => {
    receipt = await get(`/x402/v1/receipts/${requestId}`)
    return !receipt.includes('"checkpoint":null')
  })
  return receipt
}

function save(name: string, content: string): string {
  writeFileSync(join(dir, name), content)
  return name
}

/** A request of each way to be priced and to end, by its id. */
async function requests(): Promise<string[]> {
  const { apiKey } = account
  const { baseUrl } = stack
  const replies = [
    await chat(baseUrl, apiKey, { model: M }),
    await chat(baseUrl, apiKey, { model: 'test/down' }),
    await postJson(`${baseUrl}/v1/images/generations`, apiKey, {
      model: 'test/sizes',
      prompt: 'x',
      size: '512x512',
      n: 2,
    }),
    await callTool(baseUrl, apiKey, 'web.search', { query: 'x' }),
  ]
  const { receipt } = await chatStream(baseUrl, apiKey, { model: 'test/cut' })
  const ids = replies.map(({ headers }) => headers.get('x-request-id') ?? '')
  return [...ids, receipt?.request_id ?? '']
}

test('receipts of a running gateway verify on the command line, also against a saved checkpoint', async () => {
  const [first = '', ...ids] = await requests()
  const kept = JSON.parse(await provedReceipt(first)) as { log: { checkpoint: string; head: { tree_size: number } } }
  save('kept.txt', kept.log.checkpoint)
  save('sheet.json', await get('/v1/pricing/sheets/1'))
  for (const id of [first, ...ids]) {
    const receipt = save('receipt.json', await provedReceipt(id))
    const later = save('later.txt', await get('/v1/log/checkpoint'))
    const own = JSON.parse(readFileSync(join(dir, receipt), 'utf8')) as typeof kept & { status: string }
    const [from, to] = [own.log.head.tree_size, Number(readFileSync(join(dir, later), 'utf8').split('\n')[1])]
    const proof = save('proof.json', await get(`/v1/log/consistency?from=${from}&to=${to}`))
    const options = ['--sheet', 'sheet.json', '--key', TEST_LOG_VERIFIER, '--checkpoint', later, '--consistency', proof]
    const { status, stdout, stderr } = await run(receipt, ...options)
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout, /^charge +ok /m)
    assert.match(stdout, /^consistency +ok /m)
    assert.match(stdout, /\nthe receipt holds\n$/)
    assert.equal(stderr, '')
    const without = await run(receipt, '--sheet', 'sheet.json', '--key', TEST_LOG_VERIFIER, '--checkpoint', 'kept.txt')
    const isSame = own.log.head.tree_size === kept.log.head.tree_size
    assert.equal(without.status, isSame ? 0 : 1, without.stdout)
    if (!isSame) assert.match(without.stdout, /^consistency failed +there is no proof, such as \/v1\/log\/consistency/m)
  }
})

test('the exit status distinguishes a receipt that fails from one that cannot be checked', async () => {
  const { apiKey } = account
  const { headers } = await chat(stack.baseUrl, apiKey, { model: M })
  const receipt = await provedReceipt(headers.get('x-request-id') ?? '')
  const sheet = await get('/v1/pricing/sheets/1')
  save('receipt.json', receipt)
  save('bundle.json', `{"receipt":${receipt},"sheet":${sheet}}`)
  save('forged.json', receipt.replace('"reasoning_tokens":', '"reasoning_tokens":1'))
  save('cheaper.json', sheet.replaceAll('"input":"1"', '"input":"0.5"'))
  save('torn.json', receipt.slice(0, -1))
  const bundled = await run('bundle.json')
  assert.equal(bundled.status, 0, bundled.stdout)
  assert.match(bundled.stdout, /^signature +skipped no key was given\nwhat was checked holds, without signature\n$/m)
  const other = TEST_LOG_VERIFIER.replace('test.example.com', 'test.example.org')
  for (const [status, expected, ...args] of [
    [1, /^entry +failed +line 13 of the entry/m, 'forged.json', '--sheet', 'cheaper.json'],
    [1, /^charge +failed .* where the sheet has/m, 'receipt.json', '--sheet', 'cheaper.json'],
    [1, /^key +failed +the id in the key/m, 'bundle.json', '--key', other],
    [1, /^receipt +failed +the receipt is not JSON/m, 'torn.json'],
    [2, /the charge needs the price sheet/, 'receipt.json'],
    [2, /name one file/],
    [2, /name one file/, 'receipt.json', 'bundle.json'],
    [2, /nowhere.json cannot be read/, 'nowhere.json'],
    [2, /--consistency needs --checkpoint/, 'bundle.json', '--consistency', 'sheet.json'],
    [2, /--keys/, 'bundle.json', '--keys'],
    [1, /^witness +failed +the key is not one of a witness/m, 'bundle.json', '--witness', TEST_LOG_VERIFIER],
    [0, /^usage: sluice-verify/, '--help'],
  ] as const) {
    const done = await run(...args)
    assert.deepEqual([done.status, expected.test(done.stdout + done.stderr)], [status, true], `${args}: ${done.stdout}`)
  }
})

test('the package runs in an environment without Node.js APIs', async () => {
  const { headers } = await chat(stack.baseUrl, account.apiKey, { model: M })
  const receipt = await provedReceipt(headers.get('x-request-id') ?? '')
  const evidence = { receipt, sheet: await get('/v1/pricing/sheets/1'), key: TEST_LOG_VERIFIER }
  const flags = ['--experimental-vm-modules', '--no-warnings', BARE, join(dir, 'package')]
  const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(evidence))
  const { ok, steps } = JSON.parse(await text(child.stdout)) as Report
  assert.ok(ok, JSON.stringify(steps))
  assert.ok(steps.some(({ name, result }) => name === 'signature' && result === 'ok'))
})
