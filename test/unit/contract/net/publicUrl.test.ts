import assert from 'node:assert/strict'
import test from 'node:test'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { mayBePublicHost, parseWebUrl } from '../../../../contract/net/publicUrl.ts'
import { readBaseUrl } from '../../../../control/products/marketplace/providers/checkEndpoint.ts'
import { readChatRequest } from '../../../../proxy/dialects/openai/chatRequest.ts'
import { readImageUrl } from '../../../../proxy/dialects/shared/imageUrl.ts'
import { checkPublicUrl } from '../../../../proxy/endpoints/tools/publicUrl.ts'
import { limits } from '../../../support/limits.ts'
import { ambiguous } from '../../../support/samples/addresses.ts'

const ODD = 'HTTPS://93.184.215.14:443/a/../b'
const HREF = 'https://93.184.215.14/b'
const MESSAGES = [{ role: 'user', content: 'a' }]
const newSize = () => ({ textBytes: 0, messages: 0, images: 0 })

/** How each address that somebody may name is read; what is sent on. */
const READERS: Readonly<Record<string, (text: string) => string | undefined | Promise<string>>> = {
  webhook_url: (text) =>
    readChatRequest({ model: 'a/b', batch: true, messages: MESSAGES, webhook_url: text }, limits).webhookUrl,
  'base_url of a provider': (text) => readBaseUrl(text, true).href,
  'the address of an image': (text) => readImageUrl(text, 'url', newSize()),
  'the address of a page': (text) => checkPublicUrl(text, 'url', 1_000),
}

test('an address that parsers resolve to different hosts is invalid', () => {
  for (const text of ambiguous('127.0.0.1')) assert.equal(parseWebUrl(text), undefined, JSON.stringify(text))
  assert.equal(parseWebUrl(ODD)?.href, HREF)
})

for (const [what, read] of Object.entries(READERS)) {
  test(`${what} is forwarded as it was checked, or rejected`, async () => {
    assert.equal(await read(ODD), HREF)
    for (const text of [
      ...ambiguous('127.0.0.1'),
      'file:///etc/passwd',
      'gopher://127.0.0.1:70/',
      '//a.example/',
      '',
    ]) {
      await assert.rejects(
        async () => read(text),
        (error: unknown) => error instanceof GatewayError && error.status === 400,
        JSON.stringify(text),
      )
    }
  })
}

const INNER = [
  'localhost',
  'nas',
  'a.local',
  'b.internal.',
  'c.home.arpa',
  '127.1',
  '0x7f000001',
  '[::1]',
  'kubernetes.default.svc',
  'api.default.svc.cluster.local',
  'db.service.consul',
  'localhost.localdomain',
  'gw.fritz.box',
  'fritz.box',
  'a.test',
  'b.invalid',
  'c.example',
  'wiki.intra',
  'KUBERNETES.Default.SVC',
]
const PUBLIC = [
  'example.com',
  'example.com.',
  'a.b.example.org',
  'svc.example.com',
  'test.de',
  'consul.io',
  'my.box',
  '93.184.215.14',
  '[2606:2800:21f::1]',
]
const WEB_PORTS = ['', ':80', ':443', ':3000', ':8080', ':8443', ':49152']
const OTHER_PORTS = [':1', ':22', ':25', ':445', ':2375', ':5432', ':6379', ':8500', ':10250', ':11211', ':27017']

test('names outside public DNS, and addresses that are not public, are not public hosts', () => {
  for (const host of INNER) assert.equal(mayBePublicHost(new URL(`http://${host}/`)), false, host)
  for (const host of PUBLIC) assert.equal(mayBePublicHost(new URL(`http://${host}/`)), true, host)
})

test('ports on which no web is served are not public', () => {
  for (const host of PUBLIC) {
    for (const port of WEB_PORTS) assert.equal(mayBePublicHost(new URL(`https://${host}${port}/`)), true, port)
    for (const port of OTHER_PORTS) assert.equal(mayBePublicHost(new URL(`http://${host}${port}/`)), false, port)
  }
})
