// Goal: HTTPS_PROXY, HTTP_PROXY and NO_PROXY mean what operators know from other programs. Method: a table of addresses.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EnvironmentProxies, forwardProxy } from '../../../../contract/net/environmentProxies.ts'

const PROXY = 'http://proxy.test:3128'

for (const [text, read] of [
  [PROXY, { host: 'proxy.test', port: 3128, tls: false, login: '' }],
  ['proxy.test:3128', { host: 'proxy.test', port: 3128, tls: false, login: '' }],
  ['http://proxy.test/', { host: 'proxy.test', port: 80, tls: false, login: '' }],
  ['https://proxy.test', { host: 'proxy.test', port: 443, tls: true, login: '' }],
  ['http://[::1]:8080', { host: '::1', port: 8080, tls: false, login: '' }],
  ['http://us%20er:p%3Ass@proxy.test:1', { host: 'proxy.test', port: 1, tls: false, login: 'us er:p:ss' }],
  ['http://user@proxy.test:1', { host: 'proxy.test', port: 1, tls: false, login: 'user:' }],
  ['http://user:100%@proxy.test:1', { host: 'proxy.test', port: 1, tls: false, login: 'user:100%' }],
  ['socks5://proxy.test:1080', undefined],
  ['http://', undefined],
  ['http://proxy.test:99999', undefined],
  ['', undefined],
] as const) {
  test(`the address of a proxy: ${JSON.stringify(text)}`, () => assert.deepEqual(forwardProxy(text), read))
}

const goes = (environment: NodeJS.ProcessEnv, url: string): string | undefined =>
  new EnvironmentProxies(environment).to(new URL(url))?.host

test('each scheme has its own proxy, lower case goes before upper case, and an empty variable is none', () => {
  const both = { HTTPS_PROXY: 'http://secure.test:1', http_proxy: 'plain.test:1', HTTP_PROXY: 'http://other.test:1' }
  assert.equal(goes(both, 'https://a.example'), 'secure.test')
  assert.equal(goes(both, 'http://a.example'), 'plain.test')
  assert.equal(goes({ HTTP_PROXY: PROXY }, 'https://a.example'), undefined)
  assert.equal(goes({ https_proxy: '', HTTPS_PROXY: PROXY }, 'https://a.example'), 'proxy.test')
  assert.equal(goes({}, 'https://a.example'), undefined)
})

test('this machine itself is reached directly', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.0.1:99', '[::1]:9', 'LOCALHOST'])
    assert.equal(goes({ HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY }, `http://${host}`), undefined, host)
})

for (const [entries, host, isExcepted] of [
  ['*', 'a.example', true],
  ['b.example,a.example', 'a.example', true],
  [' b.example  a.example ', 'a.example', true],
  ['a.example', 'sub.a.example', true],
  ['a.example', 'sub.sub.A.EXAMPLE', true],
  ['A.Example', 'a.example', true],
  ['a.example', 'nota.example', false],
  ['a.example', 'a.example.org', false],
  ['.a.example', 'sub.a.example', true],
  ['.a.example', 'a.example', true],
  ['*.a.example', 'sub.a.example', true],
  ['a.example', 'a.example.', true],
  ['a.example:8443', 'a.example:8443', true],
  ['a.example:8443', 'a.example', false],
  ['a.example:443', 'a.example', true],
  ['10.0.0.1', '10.0.0.1', true],
  ['0.0.1', '10.0.0.1', false],
  ['10.0.0.0/8', '10.200.3.4:99', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['10.0.0.0/8', '10.example', false],
  ['fd00::/8', '[fd12::1]', true],
  ['fd00::/8', '[fe80::1]', false],
  ['fd12::1', '[fd12::1]', true],
  ['[fd12::1]:8443', '[fd12::1]:8443', true],
  ['[fd12::1]:8443', '[fd12::1]', false],
  ['10.0.0.0/99', '10.0.0.1', false],
  ['', 'a.example', false],
  [',,', 'a.example', false],
] as const) {
  test(`NO_PROXY=${JSON.stringify(entries)}: ${host} is reached ${isExcepted ? 'directly' : 'by the proxy'}`, () => {
    assert.equal(goes({ HTTPS_PROXY: PROXY, NO_PROXY: entries }, `https://${host}`) === undefined, isExcepted)
  })
}
