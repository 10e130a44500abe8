import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { ERRORS, errorBody, GatewayError, invalidRequest, isErrorCode } from '../../control/contract/errors.ts'
import { projectRoot } from '../../control/launch/paths.ts'

const SPEC = join(projectRoot, '../shared/spec.md')

/** The contract's codes with their statuses; `+` is a provider's own 4xx, `stream` an error inside a stream. */
const CONTRACT = `
audio_too_long 400, bad_multipart 400, batch_expired 409, batch_failed 409, batch_unavailable 400 503,
body_incomplete 400, body_timeout 408, context_length_exceeded 400, deadline_too_close 408,
endpoint_not_supported 400, gateway_restarting 503, input_too_long 400, invalid_size 400,
key_privacy_unavailable 503, max_price_unsupported 400, model_not_found 404, model_unavailable 503,
model_unverified 503, no_route_for_policy 404, not_multipart 400, not_ready 404, payment_with_key 400,
policy_unavailable 503, private_batch_unavailable 400, result_expired 410, retention_required 409,
settings_unavailable 503, stream_cut stream, stream_interrupted stream, too_many_images 400, too_many_uploads 429,
tool_error 500, tool_input_invalid 400, tool_input_rejected 400 +, tool_not_found 404, tool_timeout 504,
tool_unavailable 409, tool_upstream_error 502, unsupported_audio 400, unsupported_parameter 400,
upstream_rate_limited 429, upstream_rejected 400 +, upstream_timeout 504, upstream_unavailable 502, wrong_endpoint 400,
aspect_ratio_unsupported 400, gateway_restart 503, image_required 400, image_too_large 400, image_unsupported 400,
invalid_image 400, invalid_seconds 400, negative_prompt_too_long 400, negative_prompt_unsupported 400,
prompt_too_long 400, read_token_required 401, restarting 503, size_unsupported 400, too_many_video_jobs 429,
unsupported_resolution 400, video_expired 410, video_failed 409, video_not_ready 409,
insufficient_balance 402, key_budget_exceeded 402, key_paused 403, model_not_allowed 403, rate_limited 429,
request_cap_exceeded 402, spend_limit_exceeded 402, tool_not_allowed 403,
agent_identity_invalid 400, agent_identity_not_payer 403, agent_identity_unknown 400, authorization_used 402 409,
funds_lease 503, insufficient_funds 402, invalid_address 400, mpp_invalid_challenge 402, mpp_invalid_payload 402,
mpp_malformed_credential 402, mpp_payment_expired 402, payment_already_resolved 409, payment_conflict 400,
payment_in_flight 429, payment_invalid 402, payments_busy 429, allowance_required 402, quote_mismatch 402,
settlement_failed 402, settlement_unconfirmed 502, x402 402,
account_not_linked 401, address_in_use 409, already_referred 409, attach_velocity 429, authorization_invalid 400,
bad_signature 400, below_minimum 400 409, code_unavailable 503`

interface Wanted {
  code: string
  statuses: number[]
  anyClientStatus: boolean
}

function frozenCodes(): Wanted[] {
  return CONTRACT.split(',').map((entry) => {
    const [code = '', ...rest] = entry.trim().split(' ')
    return { code, statuses: rest.map(Number).filter(Number.isInteger), anyClientStatus: rest.includes('+') }
  })
}

/** The rows of the contract's tables that are headed by Code and Status. */
function specCodes(text: string): Wanted[] {
  const tables = text
    .split(/^### Codes: /m)
    .slice(1)
    .map((part) => part.split(/^#/m, 1)[0] ?? '')
  return tables.flatMap((table) =>
    [...table.matchAll(/^\| ([a-z0-9_]+) \| ([^|]+) \|/gm)].map(([, code = '', status = '']) => ({
      code,
      statuses: [...status.matchAll(/\d{3}/g)].map(Number),
      anyClientStatus: status.includes('4xx'),
    })),
  )
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

test('the frozen list is the one of spec.md', { skip: existsSync(SPEC) ? false : `${SPEC} is not here` }, () => {
  const codes = specCodes(readFileSync(SPEC, 'utf8'))
  assert.ok(codes.length > 90, `found ${codes.length} codes`)
  assertCovered(codes)
  const names = (list: readonly Wanted[]) => [...new Set(list.map(({ code }) => code))].sort()
  assert.deepEqual(names(codes), names(frozenCodes()))
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

test('what may have been paid for is not sent again', () => {
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

test('the body serves both kinds of clients', () => {
  const error = new GatewayError('insufficient_balance', { message: 'Add "funds".' })
  assert.deepEqual(JSON.parse(errorBody(error, 'req_1')), {
    type: 'error',
    error: { message: 'Add "funds".', type: 'insufficient_quota', code: 'insufficient_balance', param: null },
    request_id: 'req_1',
  })
})
