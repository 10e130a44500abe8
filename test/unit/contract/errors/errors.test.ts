import assert from 'node:assert/strict'
import test from 'node:test'
import { ERRORS, errorBody, GatewayError, invalidRequest, isErrorCode } from '../../../../contract/errors/errors.ts'
import { CONTRACT_CODES } from '../../../support/contractCodes.ts'

interface Wanted {
  readonly code: string
  readonly statuses: number[]
  readonly anyClientStatus: boolean
}

function frozenCodes(): Wanted[] {
  return CONTRACT_CODES.split(',').map((entry) => {
    const [code = '', ...rest] = entry.trim().split(' ')
    return { code, statuses: rest.map(Number).filter(Number.isInteger), anyClientStatus: rest.includes('+') }
  })
}

function assertCovered(wanted: readonly Wanted[]): void {
  for (const { code, statuses, anyClientStatus } of wanted) {
    assert.ok(isErrorCode(code), `${code} is missing`)
    const row = ERRORS[code]
    for (const status of statuses) assert.ok(row.statuses.includes(status), `${code} lacks status ${status}`)
    assert.equal(row.anyClientStatus, anyClientStatus, `${code} and a provider's own status`)
    if (statuses.length > 0 && code !== 'authorization_used') assert.deepEqual([...row.statuses], statuses, code)
  }
}

test('the table has every code of the contract with its statuses', () => {
  const wanted = frozenCodes()
  assert.equal(wanted.length, 100)
  assertCovered(wanted)
})

test('types fit their statuses as in the contract', () => {
  const allowed: Record<number, string[]> = {
    202: ['approval_required'],
    400: ['invalid_request_error'],
    401: ['authentication_error'],
    402: ['insufficient_quota', 'payment_required', 'insufficient_balance'],
    403: ['invalid_request_error', 'permission_error'],
    404: ['invalid_request_error'],
    405: ['invalid_request_error'],
    408: ['invalid_request_error'],
    409: ['invalid_request_error', 'upstream_error'],
    410: ['invalid_request_error'],
    413: ['invalid_request_error'],
    415: ['invalid_request_error'],
    429: ['rate_limit_error'],
    500: ['server_error'],
    502: ['upstream_error', 'server_error'],
    503: ['service_unavailable', 'server_error'],
    504: ['upstream_error'],
  }
  for (const code of Object.keys(ERRORS).filter(isErrorCode)) {
    for (const status of ERRORS[code].statuses) {
      const error = new GatewayError(code, { status })
      assert.equal(error.status, status)
      assert.ok(allowed[status]?.includes(error.type), `${code} ${status} ${error.type}`)
      assert.ok(error.message.length > 10 && error.message.length < 120, `${code}: ${error.message}`)
    }
  }
})

test('errors of requests that may have been charged are not retryable', () => {
  for (const code of [
    'settlement_unconfirmed',
    'tool_upstream_error',
    'video_not_ready',
    'tool_unavailable',
  ] as const) {
    assert.equal(new GatewayError(code).retryable, false, code)
  }
  for (const code of ['rate_limited', 'gateway_restarting', 'upstream_unavailable', 'upstream_timeout'] as const) {
    assert.equal(new GatewayError(code).retryable, true, code)
  }
  for (const [code, row] of Object.entries(ERRORS)) {
    if (row.charged === 'partial' || row.charged === 'billed') assert.equal(row.retryable, false, code)
  }
})

test('a status that the row does not allow is ignored', () => {
  assert.equal(new GatewayError('model_not_found', { status: 200 }).status, 404)
  assert.equal(new GatewayError('upstream_rejected', { status: 422 }).status, 422)
  assert.equal(new GatewayError('upstream_rejected', { status: 413 }).type, 'invalid_request_error')
  assert.equal(new GatewayError('upstream_rejected', { status: 500 }).status, 400)
  assert.equal(new GatewayError('batch_unavailable', { status: 503 }).type, 'service_unavailable')
})

test('validation errors and too large bodies have no code', () => {
  const error = invalidRequest('n must be 1.', 'n')
  assert.equal(error.status, 400)
  assert.equal(error.code, null)
  assert.equal(error.param, 'n')
  assert.equal(new GatewayError('body_too_large').code, null)
  assert.equal(new GatewayError('body_too_large').status, 413)
})

test('the error body suits both OpenAI and Anthropic clients', () => {
  const error = new GatewayError('insufficient_balance', { message: 'Add "funds".' })
  assert.deepEqual(JSON.parse(errorBody(error, 'req_1')), {
    type: 'error',
    error: { message: 'Add "funds".', type: 'insufficient_quota', code: 'insufficient_balance', param: null },
    request_id: 'req_1',
  })
})
