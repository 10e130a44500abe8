// Goal: the answer for an unknown path names the path that the client meant. Method: paths of real clients.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hintFor } from '../../../../proxy/server/meantPath.ts'

const SERVED = new Set(['/v1/models', '/v1/messages', '/v1/chat/completions', '/v1/batches/batch_1'])
const hint = (path: string) => hintFor(path, (one) => SERVED.has(one))

test('a base URL with /v1 twice or not at all gets the path with it', () => {
  assert.equal(hint('/models'), 'use /v1/models')
  assert.equal(hint('/v1/v1/models'), 'use /v1/models')
  assert.equal(hint('/chat/completions'), 'use /v1/chat/completions')
})

test('a base URL that ends with a slash gets the path without the second one', () => {
  assert.equal(hint('//v1/models'), 'use /v1/models')
  assert.equal(hint('/v1//chat///completions'), 'use /v1/chat/completions')
  assert.equal(hint('//models'), 'use /v1/models')
  assert.equal(hint('//'), 'see /llms.txt for what is served')
})

test('a path under /x402 that is not paid per request gets the one that takes a key', () => {
  assert.match(hint('/x402/v1/messages'), /not paid per request: use \/v1\/messages,/)
  assert.equal(hint('/x402/v1/nothing'), 'see /llms.txt for what is served')
})

test('paths of other providers get what is served instead', () => {
  for (const path of ['/v1/batches', '/v1/files', '/v1/files/file_1/content', '/v1/messages/batches']) {
    assert.match(hint(path), /POST \/v1\/chat\/completions with "batch": true/, path)
  }
  assert.match(hint('/v1/responses/resp_1'), /no responses are stored/)
  assert.match(hint('/v1/responses/resp_1/cancel'), /no responses are stored/)
  assert.match(hint('/v1/conversations/conv_1'), /no responses are stored/)
  assert.match(hint('/v1/chat/completions/req_1'), /\/v1\/receipts\/\{id\}/)
  assert.equal(hint('/v1/videos'), 'use /v1/videos/generations')
  assert.equal(hint('/v1/moderations'), 'see /llms.txt for what is served')
})
