// Goal: certificates that are replaced file by file never leave a provider without any; what cannot be used is told by its file.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TlsContexts } from '../../../../contract/providers/tlsContexts.ts'
import { newCertificate } from '../../../../mock/certificate.ts'

const first = newCertificate('a.test')
const second = newCertificate('a.test')
const FILES = { caFile: '/ca', certFile: '/cert', keyFile: '/key' }

function readerOf(files: Readonly<Record<string, string>>) {
  return (file: string) => {
    const text = files[file] ?? ''
    return { text, fault: text === '' ? 'ENOENT' : '' }
  }
}

test('the same files give the same context, others another one', () => {
  const contexts = new TlsContexts()
  const of = (cert: string, key: string) =>
    contexts.of(FILES, readerOf({ '/ca': first.cert, '/cert': cert, '/key': key }))
  const made = of(first.cert, first.key)
  assert.equal(made.unread, undefined)
  assert.equal(of(first.cert, first.key).tls, made.tls)
  const between = of(second.cert, first.key)
  assert.equal(between.tls, made.tls)
  assert.deepEqual(between.unread, { file: '/key', fault: 'not the key of cert_file' })
  const next = of(second.cert, second.key)
  assert.notEqual(next.tls?.digest, made.tls?.digest)
  assert.equal(next.unread, undefined)
})

for (const [files, unread] of [
  [
    { '/cert': first.cert, '/key': first.key },
    { file: '/ca', fault: 'ENOENT' },
  ],
  [
    { '/ca': 'text', '/cert': first.cert, '/key': first.key },
    { file: '/ca', fault: 'no certificate as PEM' },
  ],
  [
    { '/ca': first.cert, '/cert': first.key, '/key': first.key },
    { file: '/cert', fault: 'no certificate as PEM' },
  ],
  [
    { '/ca': first.cert, '/cert': first.cert, '/key': 'text' },
    { file: '/key', fault: 'not the key of cert_file' },
  ],
] as const) {
  test(`unusable: ${unread.file} ${unread.fault}`, () => {
    const contexts = new TlsContexts()
    assert.deepEqual(contexts.of(FILES, readerOf(files)), { unread })
    const whole = contexts.of(FILES, readerOf({ '/ca': first.cert, '/cert': first.cert, '/key': first.key }))
    assert.deepEqual(contexts.of(FILES, readerOf(files)), { tls: whole.tls, unread })
  })
}
