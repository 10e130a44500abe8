import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS, type ErrorCode, GatewayError, type GatewayErrorOptions } from '../../../../contract/errors/errors.ts'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { errorOf, refusalOf } from '../../../../contract/wire/refusal.ts'

function crossed(error: GatewayError): GatewayError {
  return errorOf(sluice.Refusal.decode(sluice.Refusal.encode(refusalOf(error)).finish()))
}

function told({ row, code, status, type, message, param, retryable, retryAfterSeconds }: GatewayError): object {
  return { row, code, status, type, message, param, retryable, retryAfterSeconds }
}

test('every error of control reaches the client of a proxy unchanged', () => {
  const changes: GatewayErrorOptions[] = [{}, { message: 'Change it.', param: 'amount', retryAfterSeconds: 60 }]
  for (const [row, { statuses }] of Object.entries(ERRORS)) {
    for (const status of statuses) {
      for (const options of changes) {
        const error = new GatewayError(row as ErrorCode, { ...options, status })
        assert.deepEqual(told(crossed(error)), told(error))
      }
    }
  }
  const spent = new GatewayError('insufficient_balance', { type: 'insufficient_balance' })
  assert.deepEqual(told(crossed(spent)), told(spent))
})

test('an error of another version is returned with its known fields', () => {
  const unknown = errorOf({ row: 'no_such_row', message: 'The gateway is gone.', status: 418, type: 'no_such_type' })
  assert.deepEqual(
    [unknown.row, unknown.status, unknown.type, unknown.message],
    ['internal_error', 500, 'server_error', 'The gateway is gone.'],
  )
  assert.deepEqual(told(errorOf({ row: 'rate_limited' })), told(new GatewayError('rate_limited')))
})
