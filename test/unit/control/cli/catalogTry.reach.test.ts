// Goal: an operator whose provider is behind a proxy, an authority of its own or client certificates is told in words what is wrong of
// these. Method: the command itself, a real proxy, and servers of TLS.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newCertificate } from '../../../../mock/certificate.ts'
import { callCli } from '../../../support/cli.ts'
import { ConnectProxy } from '../../../support/providers/connectProxy.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

/** A name that only the proxy can resolve. */
const HOST = 'api.acme.test'
const own = newCertificate(HOST)
const client = newCertificate('client.test')
const stranger = newCertificate('client.test')

let dir: string
let proxy: ConnectProxy
const servers: Server[] = []

async function listening(options: ServerOptions): Promise<number> {
  const server = createServer({ ...own, ...options }, (request, response) => {
    request.resume()
    const usage = { prompt_tokens: 9, completion_tokens: 3 }
    const isList = String(request.url).endsWith('/models')
    response.end(JSON.stringify(isList ? { data: [{ id: 'm' }] } : { choices: [{}], usage }))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

function file(name: string, text: string): string {
  const path = join(dir, name)
  writeFileSync(path, text)
  return path
}

before(async () => {
  dir = makeTempDir('try-reach')
  proxy = await ConnectProxy.start()
})
after(async () => {
  for (const server of servers) server.closeAllConnections()
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  await proxy.close()
  removeTempDir(dir)
})

/** @returns the lines of the command, without the provider's name */
async function told(port: number, provider: string, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const model =
    'owned_by: a, modality: chat, endpoints: [chat], context: 9, max_output: 5, price: { input: "1", output: "1" }'
  const text = `coin: { usd: "1" }
providers:
  - { id: p, base_url: "https://${HOST}:${port}/v1", dialect: openai, data_policy: none, ${provider} }
models:
  - { id: a/m, ${model}, routes: [{ provider: p, model: m }] }
`
  const { stdout, stderr } = await callCli(['catalog', 'try', 'p', file('catalog.yaml', text)], env)
  assert.equal(stderr, '')
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^(ok|wrong) +p: /, ''))
}

test('through a proxy of its own, and by the environment', async () => {
  const port = await listening({})
  const ca = `ca_file: ${file('ca.pem', own.cert)}`
  const [list = '', answer = ''] = await told(port, `${ca}, proxy: { url: "${proxy.url}" }`)
  assert.equal(list, 'it lists one model')
  assert.match(answer, /^m: it answers in \d+ ms, 9 tokens of prompt and 3 of output$/)
  assert.deepEqual((await told(port, ca, { HTTPS_PROXY: proxy.url }))[0], 'it lists one model')
  const direct = await told(port, ca, { HTTPS_PROXY: proxy.url, NO_PROXY: 'acme.test' })
  assert.deepEqual(direct, [`the name ${HOST} cannot be resolved; check base_url`])
})

test('what is wrong at the proxy is said by its cause', async () => {
  const gone = await ConnectProxy.start()
  const { url, port } = gone
  await gone.close()
  assert.deepEqual(await told(1, `proxy: { url: "${url}" }`), [`nothing listens at the proxy 127.0.0.1:${port}`])
  assert.deepEqual(await told(1, 'proxy: { url: "http://nobody.invalid:1" }'), [
    'the name of the proxy nobody.invalid:1 cannot be resolved',
  ])
  const name = `the proxy 127.0.0.1:${proxy.port}`
  assert.deepEqual(await told(1, `proxy: { url: "${proxy.url}" }`), [`${name} does not reach ${HOST}:1 (HTTP 502)`])
  proxy.options.login = 'user:word'
  assert.deepEqual(await told(1, `proxy: { url: "${proxy.url}" }`), [
    `${name} wants a user and a password (HTTP 407); set env or file of proxy`,
  ])
  const login = `proxy: { url: "${proxy.url}", env: LOGIN }`
  assert.deepEqual(await told(1, login, { LOGIN: 'user:wrong' }), [
    `${name} does not take the user and the password (HTTP 407)`,
  ])
  assert.deepEqual(await told(1, login), ['proxy: LOGIN is not set'])
  delete proxy.options.login
  for (const [answer, words] of [
    ['HTTP/1.1 403 No\r\n\r\n', `refuses to connect to ${HOST}:1 (HTTP 403)`],
    ['220 mail\r\n\r\n', 'answers in no form of HTTP; check whether it is a proxy'],
    ['', 'ends the connection without an answer'],
  ] as const) {
    proxy.options.answer = answer
    assert.deepEqual(await told(1, `proxy: { url: "${proxy.url}" }`), [`${name} ${words}`])
  }
  delete proxy.options.answer
})

test('what is wrong with the certificates is said by its cause', async () => {
  const through = `proxy: { url: "${proxy.url}" }`
  const port = await listening({ requestCert: true, rejectUnauthorized: true, ca: client.cert })
  const ca = `ca_file: ${file('ca.pem', own.cert)}`
  const pair = (name: string, { cert, key }: typeof own) =>
    `cert_file: ${file(`${name}.pem`, cert)}, key_file: ${file(`${name}.key`, key)}`
  assert.equal((await told(port, `${through}, ${ca}, ${pair('client', client)}`))[0], 'it lists one model')
  assert.match(
    (await told(port, through))[0] ?? '',
    /fails: [A-Z_]+; set ca_file if an authority of your own has signed it$/,
  )
  const other = `ca_file: ${file('other.pem', stranger.cert)}`
  assert.match((await told(port, `${through}, ${other}`))[0] ?? '', /other\.pem does not have its authority$/)
  assert.match(
    (await told(port, `${through}, ${ca}`))[0] ?? '',
    /it may want a client certificate: set cert_file and key_file$/,
  )
  const unknown = await told(port, `${through}, ${ca}, ${pair('stranger', stranger)}`)
  assert.match(unknown[0] ?? '', /it may not take the client certificate .*stranger\.pem$/)
  assert.deepEqual(await told(port, `${through}, ca_file: ${file('text.pem', 'text')}`), [
    `ca_file: ${dir}/text.pem is no certificate as PEM`,
  ])
  const mixed = `cert_file: ${dir}/client.pem, key_file: ${dir}/stranger.key`
  assert.deepEqual(await told(port, `${through}, ${mixed}`), [
    `key_file: ${dir}/stranger.key is not the key of cert_file`,
  ])
})
