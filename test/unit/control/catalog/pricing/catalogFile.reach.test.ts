// Goal: how a provider is reached gets to the proxies as the file says, secrets by reference alone; what cannot be meant is refused.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { freshReads, reachOf, reachOfAddress } from '../../../../../contract/providers/reach.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { newCertificate } from '../../../../../mock/certificate.ts'
import { decodeProvider } from '../../../../../proxy/catalog/provider.ts'
import { acmeFile, recordOf } from '../../../../support/acmeCatalog.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'
import { itemOf } from '../../../../support/present.ts'
import { makeTempDir, removeTempDir } from '../../../../support/tempDir.ts'

let dir: string
before(() => {
  dir = makeTempDir('reach')
  writeFileSync(join(dir, 'ca.pem'), newCertificate('a.test').cert)
})
after(() => removeTempDir(dir))

const secureFile = (provider: string) => acmeFile(provider).replace('http://127.0.0.1:1', 'https://api.acme.test')
const providerOf = (provider: string): sluice.ProviderRecord =>
  sluice.ProviderRecord.create(itemOf(recordOf(secureFile(provider)).providers, 0))
const way = (provider: string, environment: NodeJS.ProcessEnv = {}) =>
  reachOf(providerOf(provider), freshReads(environment))

const PROXY = 'proxy: { url: "http://proxy.test:3128", env: LOGIN }'

test('a proxy of its own goes before the environment, and its user and password are read where they are', () => {
  const environment = { HTTPS_PROXY: 'http://other.test:1', LOGIN: ' user:word\n' }
  assert.equal(recordOf(secureFile(PROXY)).providers[0]?.proxy?.env, 'LOGIN')
  const own = { host: 'proxy.test', port: 3128, tls: false, login: 'user:word' }
  assert.deepEqual(way(PROXY, environment).reach?.proxy, own)
  assert.equal(way('batch: false', environment).reach?.proxy?.host, 'other.test')
  assert.deepEqual(way('proxy: { url: none }', environment), { unread: [], isClosed: false })
  assert.deepEqual(way('batch: false'), { unread: [], isClosed: false })
})

test('without the user and the password of its proxy, or without a file, a provider is not asked', () => {
  const lacking = way(PROXY)
  assert.deepEqual([lacking.isClosed, lacking.unread[0]?.fault], [true, 'not set'])
  const provider = decodeProvider(providerOf(PROXY), freshReads({}))
  assert.deepEqual(provider?.unread, [{ id: 'proxy', place: 'LOGIN', isFile: false, fault: 'not set' }])
  assert.equal(provider?.missingKey, 'LOGIN')
  const withKey = { ...freshReads({}), secret: () => ({ text: 'k', fault: '' }) }
  const gone = decodeProvider(providerOf(`ca_file: ${dir}/gone.pem`), withKey)
  assert.deepEqual(gone?.unread, [{ id: 'ca_file', place: `${dir}/gone.pem`, isFile: true, fault: 'ENOENT' }])
  assert.equal(gone?.missingKey, `${dir}/gone.pem`)
})

test('the name of a way differs where anything of it does', () => {
  const file = `ca_file: ${dir}/ca.pem`
  const names = [
    way(PROXY, { LOGIN: 'a:b' }),
    way(PROXY, { LOGIN: 'a:c' }),
    way(file),
    way(`${PROXY}, ${file}`, { LOGIN: 'a:b' }),
  ].map(({ reach }) => reach?.name)
  assert.equal(new Set(names).size, names.length)
  assert.equal(way(PROXY, { LOGIN: 'a:b' }).reach?.name, names[0])
  assert.ok(!String(names[0]).includes('a:b'))
})

test('an address that a provider names is reached as the provider where it is its own server', () => {
  const record = providerOf(PROXY)
  const reads = freshReads({ LOGIN: 'a:b', HTTPS_PROXY: 'http://other.test:1' })
  const proxyOf = (url: string) => reachOfAddress(new URL(url), record, reads).reach?.proxy?.host
  assert.equal(proxyOf('https://api.acme.test/models'), 'proxy.test')
  assert.equal(proxyOf('https://elsewhere.test/models'), 'other.test')
})

for (const [entry, problem] of [
  ['proxy: { url: "http://user:word@proxy.test" }', /proxy\.url must be none or an http or https address without/],
  ['proxy: { url: "socks5://proxy.test" }', /proxy\.url must be none or/],
  ['proxy: { env: A }', /proxy\.url is missing|proxy must have|url/],
  ['proxy: { url: "http://proxy.test", env: A, file: /a }', /proxy must have env or file, not both/],
  ['proxy: { url: none, env: A }', /proxy has no user and password without a proxy/],
  ['ca_file: relative.pem', /ca_file must be an absolute path/],
  ['cert_file: /a', /cert_file needs cert_file and key_file together/],
  ['key_file: /a', /key_file needs cert_file and key_file together/],
] as const) {
  test(`refused: ${entry}`, () => {
    const [first = ''] = problemsOf(secureFile(entry))
    assert.match(first, /^catalog\.yaml:3: providers\[0\]/)
    assert.match(first, problem)
  })
}

test('certificates are for https', () => {
  assert.match(problemsOf(acmeFile('ca_file: /a'))[0] ?? '', /ca_file is for a base_url of https/)
  assert.match(problemsOf(acmeFile('cert_file: /a, key_file: /b'))[0] ?? '', /cert_file is for a base_url of https/)
})
