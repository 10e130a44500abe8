import assert from 'node:assert/strict'
import test from 'node:test'
import { isRedirect, redirected } from '../../../../proxy/upstream/redirect.ts'
import { HeaderBlock } from '../../../../proxy/upstream/transport/headerBlock.ts'
import type { UpstreamRequest } from '../../../../proxy/upstream/transport/transport.ts'

const REQUEST: UpstreamRequest = {
  origin: 'http://10.0.0.7:8000',
  host: '10.0.0.7:8000',
  path: '/v1/videos/v1/content?a=b',
  method: 'GET',
  headers: new HeaderBlock(['authorization', 'Bearer secret']),
  traceHeaders: new HeaderBlock(['traceparent', '00-1']),
  requestId: 'req_1',
  body: null,
  connectTimeoutMs: 1,
  firstByteTimeoutMs: 1,
  idleTimeoutMs: 1,
  totalTimeoutMs: 1,
  fresh: true,
}

test('a redirect within the origin keeps the credentials', () => {
  for (const location of [
    '/clips/1.mp4?sig=x',
    'http://10.0.0.7:8000/clips/1.mp4?sig=x',
    '../../../clips/1.mp4?sig=x#t',
  ]) {
    assert.deepEqual(redirected(REQUEST, location), { ...REQUEST, path: '/clips/1.mp4?sig=x' }, location)
  }
})

test('a redirect to a public origin takes nothing of the provider along', () => {
  const next = redirected(REQUEST, 'https://store.example.com/1.mp4?X-Amz-Signature=a%2Fb')
  assert.deepEqual(
    [next?.origin, next?.host, next?.path],
    ['https://store.example.com', 'store.example.com', '/1.mp4?X-Amz-Signature=a%2Fb'],
  )
  assert.equal(next?.headers.text.includes('secret'), false)
  assert.deepEqual([next?.publicOnly, next?.reach, next?.traceHeaders], [true, undefined, undefined])
})

test('addresses that a provider may not lead to are not followed', () => {
  const refused = [
    undefined,
    'http://store.example.com/1.mp4',
    'https://10.0.0.8/1.mp4',
    'https://127.0.0.1/1.mp4',
    'https://[::1]/1.mp4',
    'https://169.254.169.254/latest/meta-data',
    'https://metadata.google.internal/x',
    'https://localhost/1.mp4',
    'https://store/1.mp4',
    'https://store.example.com:6379/1.mp4',
    'https://user:password@store.example.com/1.mp4',
    'http://10.0.0.7:8001/1.mp4',
    '//10.0.0.7/1.mp4',
    'file:///etc/passwd',
    'ftp://store.example.com/1.mp4',
    'https://',
    '',
  ]
  const followed = refused.filter((location) => redirected(REQUEST, location) !== undefined)
  // An empty location is the same address again, which the bound on redirects ends.
  assert.deepEqual(followed, [''])
})

test('statuses that lead elsewhere', () => {
  const all = Array.from({ length: 100 }, (_, i) => 300 + i)
  assert.deepEqual(all.filter(isRedirect), [301, 302, 303, 307, 308])
})
