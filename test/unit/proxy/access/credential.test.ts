import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearerOf, readApiKey, readReadToken } from '../../../../proxy/access/credential.ts'
import type { RequestHead } from '../../../../proxy/server/exchange.ts'

const headOf = (authorization: string, apiKey = '') => ({ authorization, apiKey }) as RequestHead

const BEARERS: [authorization: string, secret: string][] = [
  ['Bearer sk_1', 'sk_1'],
  ['bEARER sk_1', 'sk_1'],
  ['Bearer   sk_1  ', 'sk_1'],
  ['Bearer ', ''],
  ['Bearer', ''],
  ['Bearersk_1', ''],
  ['Basic sk_1', ''],
  ['sk_1', ''],
  ['', ''],
]
for (const [authorization, secret] of BEARERS) {
  test(`Authorization "${authorization}" carries "${secret}"`, () => {
    assert.equal(bearerOf(authorization), secret)
  })
}

const KEYS: [authorization: string, apiKey: string, read: string][] = [
  ['Bearer sk_1', '', 'sk_1'],
  ['', 'sk_1', 'sk_1'],
  ['Bearer sk_1', 'sk_1', 'sk_1'],
  ['Basic x', 'sk_1', 'sk_1'],
  ['Bearer sk_1', 'sk_2', 'payment_conflict'],
  ['Bearer ses_1', 'sk_1', 'payment_conflict'],
  ['Bearer ses_1', '', 'wrong_credential'],
  ['Bearer rt_1', '', 'wrong_credential'],
  ['', 'rt_1', 'wrong_credential'],
  ['Bearer pk_1', '', 'invalid_api_key'],
  ['Basic sk_1', '', 'invalid_api_key'],
  ['', '', 'invalid_api_key'],
]
for (const [authorization, apiKey, read] of KEYS) {
  test(`Authorization "${authorization}" with x-api-key "${apiKey}" is read as ${read}`, () => {
    if (read.startsWith('sk_')) assert.equal(readApiKey(headOf(authorization, apiKey)), read)
    else assert.throws(() => readApiKey(headOf(authorization, apiKey)), { row: read })
  })
}

test('a read token is taken from Authorization alone', () => {
  assert.equal(readReadToken(headOf('Bearer rt_1')), 'rt_1')
  assert.equal(readReadToken(headOf('Bearer sk_1')), '')
  assert.equal(readReadToken(headOf('', 'rt_1')), '')
})
