import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionFault } from '../../../../contract/net/connectionFault.ts'

const withCode = (code: string): Error => Object.assign(new Error('failed'), { code })

for (const [code, kind] of [
  ['ENOTFOUND', 'name'],
  ['EAI_AGAIN', 'name'],
  ['ECONNREFUSED', 'refused'],
  ['ENETUNREACH', 'unreachable'],
  ['EPIPE', 'reset'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
  ['CERT_HAS_EXPIRED', 'certificate'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
  ['EPROTO', 'tls'],
  ['EMFILE', 'other'],
] as const) {
  test(`${code} is a fault of the kind ${kind}`, () => {
    assert.deepEqual(connectionFault(withCode(code)), { kind, code })
  })
}

test('attempts at several addresses fail for the reason of the first; what is no error has no cause', () => {
  const several = new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')])
  assert.deepEqual(connectionFault(several), { kind: 'refused', code: 'ECONNREFUSED' })
  assert.deepEqual(connectionFault(new Error('no code')), { kind: 'other', code: '' })
  for (const value of [undefined, null, 'ENOTFOUND', { code: 'ENOTFOUND' }])
    assert.equal(connectionFault(value), undefined)
})
