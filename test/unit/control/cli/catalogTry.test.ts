// Goal: an operator who tries a provider is told in words what is wrong: the name, the port, TLS, the key, the path, the model, the
// dialect. Method: servers that are wrong in one way each, and the command itself.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newCertificate } from '../../../../mock/certificate.ts'
import { type CliResult, callCli } from '../../../support/cli.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const LIST = { object: 'list', data: [{ id: 'm' }, { id: 'n' }] }
const COMPLETION = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
}
const MESSAGE = {
  type: 'message',
  content: [{ type: 'text', text: 'hello' }],
  usage: { input_tokens: 8, output_tokens: 2 },
}

let dir: string
const servers: Server[] = []
before(() => {
  dir = makeTempDir('try')
})
after(async () => {
  for (const server of servers) server.closeAllConnections()
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  removeTempDir(dir)
})

async function listening(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

type Answers = Readonly<Record<string, readonly [status: number, body: unknown]>>

/** @param answers by the end of the path; anything else is 404 */
function playing(answers: Answers): RequestListener {
  return (request, response) => {
    request.resume()
    const [status, body] = Object.entries(answers).find(([path]) => String(request.url).endsWith(path))?.[1] ?? [
      404,
      {},
    ]
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

async function tried(baseUrl: string, provider = 'dialect: openai', env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  const file = join(dir, 'catalog.yaml')
  const model =
    'owned_by: a, modality: chat, endpoints: [chat], context: 9, max_output: 5, price: { input: "1", output: "1" }'
  writeFileSync(
    file,
    `coin: { usd: "1" }
providers:
  - { id: p, base_url: "${baseUrl}", data_policy: none, ${provider} }
models:
  - { id: a/m, ${model}, routes: [{ provider: p, model: m }] }
`,
  )
  return callCli(['catalog', 'try', 'p', file], env)
}

async function expected(result: Promise<CliResult>, code: number, lines: readonly (string | RegExp)[]): Promise<void> {
  const { stdout, stderr, code: status } = await result
  assert.equal(status, code, stdout + stderr)
  const told = stdout.trimEnd().split('\n')
  assert.equal(told.length, lines.length, stdout)
  for (const [i, line] of lines.entries()) {
    if (typeof line === 'string') assert.equal(told[i], line)
    else assert.match(told[i] ?? '', line)
  }
}

test('a provider that works, in both dialects', async () => {
  const port = await listening(
    createServer(
      playing({ '/models': [200, LIST], '/chat/completions': [200, COMPLETION], '/messages': [200, MESSAGE] }),
    ),
  )
  const url = `http://127.0.0.1:${port}/v1`
  await expected(tried(url), 0, [
    'ok    p: it lists 2 models',
    /^ok {4}p: m: it answers in \d+ ms, 9 tokens of prompt and 3 of output$/,
  ])
  await expected(tried(url, 'dialect: anthropic'), 0, [/2 models/, /8 tokens of prompt and 2 of output$/])
})

test('each key is tried, and one that cannot be read is named', async () => {
  const port = await listening(
    createServer((request, response) => {
      const isGood = request.headers.authorization === 'Bearer good'
      const answers: Answers = isGood
        ? { '/models': [404, {}], '/chat/completions': [200, COMPLETION] }
        : { '/v1/models': [401, { error: { message: 'bad key', code: 'invalid_api_key' } }] }
      playing(answers)(request, response)
    }),
  )
  const keys = 'dialect: openai, keys: [{ id: a, env: KEY_A }, { id: b, env: KEY_B }, { id: c, env: KEY_C }]'
  await expected(tried(`http://127.0.0.1:${port}/v1`, keys, { KEY_A: 'good', KEY_B: 'bad' }), 1, [
    'ok    p/a: it has no list of models (HTTP 404)',
    /^ok {4}p\/a: m: it answers/,
    'wrong p/b: it refuses the key of KEY_B (HTTP 401, bad key)',
    'wrong p/c: KEY_C is not set',
  ])
})

test('what is wrong on the way is said by its cause', async () => {
  const closed = await listening(createServer())
  const server = servers.pop()
  await new Promise((resolve) => server?.close(resolve))
  await expected(tried(`http://127.0.0.1:${closed}/v1`), 1, [`wrong p: nothing listens at 127.0.0.1:${closed}`])
  await expected(tried('http://nobody.invalid/v1'), 1, [
    'wrong p: the name nobody.invalid cannot be resolved; check base_url',
  ])
  const tls = await listening(createTlsServer(newCertificate('127.0.0.1'), playing({})))
  await expected(tried(`https://127.0.0.1:${tls}/v1`), 1, [
    /^wrong p: TLS to 127\.0\.0\.1:\d+ fails: [A-Z_]+; set ca_file if an authority of your own has signed it$/,
  ])
})

test('what is wrong in the answers is said by its kind', async () => {
  const port = await listening(createServer())
  const [server] = servers.slice(-1)
  const cases: ReadonlyArray<readonly [Answers, number, RegExp]> = [
    [
      { '/completions': [404, { error: { message: 'no model m' } }] },
      1,
      /wrong p: m: it has no such model, or nothing at this base_url \(HTTP 404, no model m\)$/,
    ],
    [
      { '/completions': [400, { error: { message: 'max_tokens is unknown' } }] },
      1,
      /it refuses the request \(HTTP 400, max_tokens is unknown\)$/,
    ],
    [
      { '/completions': [429, { error: { message: 'slow down' } }] },
      1,
      /it limits its rate now \(HTTP 429, slow down\)$/,
    ],
    [{ '/completions': [200, MESSAGE] }, 1, /its answer is not in the dialect openai; try another dialect/],
    [{ '/completions': [200, '<html>'] }, 1, /not in the dialect openai/],
    [{ '/completions': [200, { ...COMPLETION, usage: null }] }, 1, /it answers in \d+ ms without usage/],
  ]
  for (const [answers, code, line] of cases) {
    server?.removeAllListeners('request').on('request', playing(answers))
    await expected(tried(`http://127.0.0.1:${port}/v1`), code, [/no list of models/, line])
  }
})

test('a provider that is not in the catalog, and a secret header that is not set', async () => {
  const { code, stderr } = await callCli(['catalog', 'try', 'gone', join(dir, 'catalog.yaml')], {})
  assert.equal(code, 2)
  assert.match(stderr, /the catalog has no provider "gone"; it has: p/)
  await expected(tried('http://127.0.0.1:1/v1', 'dialect: openai, headers: [{ name: x-a, env: NO_SUCH }]'), 1, [
    'wrong p: x-a: NO_SUCH is not set',
  ])
})

test('what a provider says is one line, and changes nothing on a terminal', async () => {
  const message = `no\r\nok    p: it lists 2 models\u001b[2J\u009b1A\u007f`
  const port = await listening(createServer(playing({ '/models': [401, { error: { message } }] })))
  await expected(tried(`http://127.0.0.1:${port}/v1`), 1, [
    String.raw`wrong p: it refuses calls without a key (HTTP 401, no ok p: it lists 2 models\u001b[2J\u009b1A\u007f)`,
  ])
})
