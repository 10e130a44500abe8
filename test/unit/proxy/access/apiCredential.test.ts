// Which credential each kind of endpoint of the account API takes, and what is said about every other one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiAuth } from '../../../../contract/api/route.ts'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { hashSecret } from '../../../../contract/wire/ids.ts'
import { readApiCredential } from '../../../../proxy/access/apiCredential.ts'
import type { RequestHead } from '../../../../proxy/server/exchange.ts'

const KEY = `sk_${'k'.repeat(43)}`
const SESSION = `ses_${'s'.repeat(43)}`
const SENT = {
  nothing: '',
  key: KEY,
  session: SESSION,
  'read token': 'rt_1',
  'short key': 'sk_1',
  'short session': 'ses_1',
  other: 'x',
}
type Sent = keyof typeof SENT

const { CREDENTIAL_KEY, CREDENTIAL_SESSION, CREDENTIAL_NONE } = sluice.CredentialKind
const ACCEPTED: Record<ApiAuth, Sent[]> = {
  none: ['nothing', 'key', 'session', 'read token', 'short key', 'short session', 'other'],
  open: ['nothing', 'key', 'session', 'read token', 'short key', 'short session', 'other'],
  sign_in: ['session'],
  session: ['session'],
  key: ['key'],
  key_or_session: ['key', 'session'],
  optional: ['nothing', 'key', 'session'],
}
const KINDS: Partial<Record<Sent, sluice.CredentialKind>> = { key: CREDENTIAL_KEY, session: CREDENTIAL_SESSION }

for (const [auth, accepted] of Object.entries(ACCEPTED) as [ApiAuth, Sent[]][]) {
  for (const sent of Object.keys(SENT) as Sent[]) {
    const isTaken = accepted.includes(sent)
    test(`an endpoint with auth ${auth} ${isTaken ? 'takes' : 'refuses'} ${sent}`, () => {
      const secret = SENT[sent]
      const authorization = secret === '' ? '' : `Bearer ${secret}`
      for (const head of [
        { authorization, apiKey: '' },
        { authorization: '', apiKey: secret },
      ] as RequestHead[]) {
        if (!isTaken) {
          assert.throws(() => readApiCredential(head, auth), { name: 'GatewayError' })
          continue
        }
        const { kind, hash } = readApiCredential(head, auth)
        const isIgnored = auth === 'none' || auth === 'open' || secret === ''
        assert.equal(kind, isIgnored ? CREDENTIAL_NONE : KINDS[sent])
        assert.equal(hash, isIgnored ? '' : hashSecret(secret))
      }
    })
  }
}

const REFUSED: [auth: ApiAuth, sent: Sent, row: string][] = [
  ['session', 'key', 'wrong_credential'],
  ['session', 'read token', 'wrong_credential'],
  ['session', 'short session', 'invalid_session'],
  ['session', 'nothing', 'invalid_session'],
  ['key', 'session', 'wrong_credential'],
  ['key', 'nothing', 'invalid_api_key'],
  ['key', 'short key', 'invalid_api_key'],
  ['key_or_session', 'nothing', 'invalid_api_key'],
  ['key_or_session', 'short session', 'invalid_session'],
  ['optional', 'other', 'invalid_api_key'],
  ['optional', 'read token', 'wrong_credential'],
]
for (const [auth, sent, row] of REFUSED) {
  test(`an endpoint with auth ${auth} answers ${row} to ${sent}`, () => {
    const head = { authorization: `Bearer ${SENT[sent]}`, apiKey: '' } as RequestHead
    assert.throws(() => readApiCredential(head, auth), { row })
  })
}
