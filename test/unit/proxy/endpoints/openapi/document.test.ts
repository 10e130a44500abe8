// Goal: the table of routes, the OpenAPI document and the contract's tables say the same. Method: the document is made from
// the proxy's own table, validated by the OpenAPI 3.1 schema, and held against a frozen list of the contract's rows.
import assert from 'node:assert/strict'
import test from 'node:test'
import SwaggerParser from '@apidevtools/swagger-parser'
import { API_ROUTES } from '../../../../../contract/api/routes.ts'
import { openapiDocument } from '../../../../../proxy/endpoints/openapi/document.ts'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from '../../../../../proxy/endpoints/openapi/headers.ts'
import { servedRoutes } from '../../../../../proxy/servedRoutes.ts'
import { RouteTable } from '../../../../../proxy/server/routeTable.ts'
import { limits } from '../../../../support/limits.ts'

const METHODS = ['get', 'post', 'patch', 'delete'] as const

/** The rows of the contract that are served. */
const SERVED = `
GET /v1/models, GET /v1/pricing, GET /v1/pricing/sheets, GET /v1/pricing/sheets/{version}, GET /v1/limits, GET /health,
POST /v1/chat/completions, POST /v1/messages, POST /v1/messages/count_tokens, POST /v1/responses, POST /v1/responses/compact, POST /v1/responses/input_tokens,
POST /v1/completions,
POST /v1/embeddings, POST /v1/images/generations, POST /v1/images/edits, POST /v1/audio/speech,
POST /v1/audio/transcriptions, POST /v1/audio/translations, POST /v1/rerank, POST /v1/videos/generations, GET /v1/videos/{id},
GET /v1/videos/{id}/content, GET /v1/account, GET /v1/account/activity, GET /v1/account/usage, GET /v1/account/keys,
POST /v1/account/keys, PATCH /v1/account/keys/{id}, DELETE /v1/account/keys/{id}, GET /v1/keys/{id}/limits,
GET /v1/statements/{YYYY-MM}.csv, GET /v1/statements/{YYYY-MM}.json, GET /v1/account/requests/{id}, GET /v1/receipts, GET /v1/receipts/{id}, GET /x402/v1/receipts/{id}, POST /v1/agents,
GET /v1/agents/{slug}, PATCH /v1/agents/{slug}, POST /v1/agents/{slug}/fund, POST /v1/agents/{slug}/key,
POST /v1/agents/{slug}/pay, GET /v1/agents/{slug}/approvals, GET /v1/agents/leaderboard, GET /v1/platform/keys,
POST /v1/platform/keys/{id}/revoke, GET /v1/platform/usage, GET /v1/providers, POST /v1/providers, GET /v1/referrals,
POST /v1/links, POST /v1/links/{token}/claim, POST /v1/links/{id}/cancel, GET /v1/tools, POST /v1/tools/{id},
GET /v1/status, GET /v1/status/history`

const listed = (text: string): string[] => text.trim().split(/,\s+/)

interface Operation {
  readonly operationId: string
  readonly security: readonly Record<string, unknown>[]
  readonly parameters: readonly { name: string; in: string }[]
  readonly responses: Readonly<Record<string, { readonly headers: Readonly<Record<string, unknown>> }>>
  readonly requestBody?: { required: boolean; content: Record<string, { schema: Record<string, unknown> }> }
}

const served = servedRoutes().map((name) => {
  const [method = '', path = ''] = name.split(' ')
  return { method, path }
})
const document = openapiDocument(served, limits)

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  METHODS.flatMap((method) => {
    const operation = item[method] as Operation | undefined
    return operation === undefined ? [] : [{ name: `${method.toUpperCase()} ${path}`, method, path, operation }]
  }),
)
const operationOf = (name: string): Operation =>
  operations.find((operation) => operation.name === name)?.operation ?? assert.fail(`${name} is not in the document`)

test('the document is OpenAPI 3.1', async () => {
  const copy = JSON.parse(JSON.stringify(document)) as Parameters<typeof SwaggerParser.validate>[0]
  await SwaggerParser.validate(copy)
  assert.equal(document.openapi, '3.1.0')
})

test('the document contains exactly the routes that are served', () => {
  const table = new RouteTable(
    served.map(({ method, path }) => ({ method: method as 'GET', path, handler: () => undefined })),
  )
  const described = new Set<string>()
  for (const { name, method, path } of operations) {
    const route = table.find(path.replace(/\{\w+\}/g, 'x'))?.get(method.toUpperCase())
    assert.ok(route !== undefined, `${name} is not served`)
    described.add(`${route.method} ${route.path}`)
  }
  assert.deepEqual([...described].sort(), servedRoutes().sort())
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
})

test('the document contains every served row of the contract', () => {
  const names = new Set(operations.map(({ name }) => name.replace('{month}', '{YYYY-MM}')))
  for (const row of listed(SERVED)) assert.ok(names.has(row), `${row} is missing`)
})

test('the document describes the fields that control checks', () => {
  for (const route of Object.values(API_ROUTES)) {
    const operation = operationOf(`${route.method} ${route.path}`)
    const schema = operation.requestBody?.content['application/json']?.schema
    assert.deepEqual(
      Object.keys((schema?.['properties'] ?? {}) as object),
      Object.keys(route.body?.properties ?? {}),
      route.path,
    )
    assert.deepEqual(schema?.['required'] ?? [], route.body?.required ?? [])
    const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
    assert.deepEqual(inQuery, Object.keys(route.query?.properties ?? {}))
  }
  const link = operationOf('POST /v1/links')
  const properties = link.requestBody?.content['application/json']?.schema['properties'] as Record<
    string,
    { format: string }
  >
  const formats = ['amount', 'expires_at', 'note'].map((name) => properties[name]?.format)
  assert.deepEqual(formats, ['decimal', 'date-time', undefined])
  assert.deepEqual(link.security, [{ session: [] }])
  assert.ok(link.parameters.some(({ name }) => name === 'Idempotency-Key'))
  assert.deepEqual(operationOf('POST /v1/chat/completions').security, [{ api_key: [] }])
})

/** The headers of the contract. Authorization and x-api-key are credentials, Content-Type is that of the body. */
const SENT = ['Idempotency-Key', 'x-approval-id', 'x-erc8004-agent', 'PAYMENT-SIGNATURE']
const ANSWERED = [
  'x-request-id',
  'x-cost-units',
  'PAYMENT-REQUIRED',
  'WWW-Authenticate',
  'PAYMENT-RESPONSE',
  'Payment-Receipt',
  'Retry-After',
  'Allow',
]

test('the document describes every header of the contract where it is read or sent', () => {
  const sent = new Set(operations.flatMap(({ operation }) => operation.parameters.map(({ name }) => name)))
  for (const name of [...SENT, ...Object.keys(REQUEST_HEADERS)]) assert.ok(sent.has(name), name)
  const answers = operations.flatMap(({ operation }) => Object.values(operation.responses))
  const answered = new Set(answers.flatMap(({ headers }) => Object.keys(headers)))
  for (const name of [...ANSWERED, ...Object.keys(RESPONSE_HEADERS)]) assert.ok(answered.has(name), name)
  const paid = operationOf('POST /x402/v1/chat/completions')
  assert.deepEqual(Object.keys(paid.responses['402']?.headers ?? {}), [
    'x-request-id',
    'PAYMENT-REQUIRED',
    'WWW-Authenticate',
  ])
  assert.deepEqual(operationOf('POST /v1/messages').security, [{ api_key: [] }, { x_api_key: [] }])
  assert.deepEqual(operationOf('GET /v1/videos/{id}/content').security, [{ api_key: [] }, { read_token: [] }])
})
