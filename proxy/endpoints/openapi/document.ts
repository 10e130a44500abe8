import { API_ANSWERS } from '../../../contract/api/answers/apiAnswers.ts'
import { ANSWER_SHAPES, type Answers, type ShapeName } from '../../../contract/api/answers/shapes.ts'
import type { ApiAuth, ApiRoute, JsonSchema, ObjectSchema } from '../../../contract/api/route.ts'
import { type ApiOperation, apiRoutes } from '../../../contract/api/routes.ts'
import type { ContractLimits } from '../../../contract/limits/limits.ts'
import { headerComponents, headerParameter, withHeaders } from './headers.ts'
import { proxyOperations } from './modelOperations.ts'
import type { ProxyOperation } from './proxyOperation.ts'

/** A row of the table of routes. */
export interface ServedRoute {
  readonly method: string
  readonly path: string
}

/** Descriptions of the routes, by method and path. */
interface KnownOperations {
  readonly api: ReadonlyMap<string, { readonly id: ApiOperation; readonly route: ApiRoute }>
  readonly own: Readonly<Record<string, ProxyOperation>>
}

/** The formats by which control checks texts, under the names that JSON Schema has for them. */
const FORMATS: Readonly<Record<string, string>> = { usd: 'decimal', time: 'date-time', day: 'date' }
/** The common format of all UTF-8 text; there is no name for it. */
const TEXT_FORMAT = 'text'

type Security = readonly Readonly<Record<string, readonly string[]>>[]
const KEY = { api_key: [] }
const SESSION = { session: [] }
/** Operations with a further credential. */
const MORE_SECURITY: readonly (readonly [beginning: string, security: Security])[] = [
  ['/v1/messages', [{ x_api_key: [] }]],
  ['/v1/videos/{id}', [{ read_token: [] }]],
]
const SECURITY: Readonly<Record<ApiAuth | ProxyOperation['auth'], Security>> = {
  none: [],
  open: [],
  paid: [],
  sign_in: [SESSION],
  session: [SESSION],
  key: [KEY],
  key_or_session: [KEY, SESSION],
  optional: [{}, KEY, SESSION],
}

const ERROR: JsonSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    type: { type: 'string', const: 'error' },
    error: {
      type: 'object',
      required: ['message', 'type', 'code', 'param'],
      properties: {
        message: { type: 'string', description: 'The change that the request needs' },
        type: { type: 'string' },
        code: { type: ['string', 'null'] },
        param: { type: ['string', 'null'], description: 'The field at fault' },
      },
    },
    request_id: { type: 'string' },
  },
}

/**
 * The OpenAPI 3.1 document of everything that is served, https://spec.openapis.org/oas/v3.1.1. The endpoints of control are
 * described by the schemas that validate their requests; a route without a description is left out.
 */
export function openapiDocument(served: readonly ServedRoute[], limits: ContractLimits) {
  const routes = Object.entries(apiRoutes(limits)) as [ApiOperation, ApiRoute][]
  const known: KnownOperations = {
    api: new Map(routes.map(([id, route]) => [`${route.method} ${route.path}`, { id, route }])),
    own: proxyOperations(limits),
  }
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { method, path } of served) {
    for (const [shown, operation] of operationsOf(known, method, path)) {
      paths[shown] = { ...paths[shown], [method.toLowerCase()]: operation }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice', version: '1', description: 'A metered gateway to AI models.' },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: { Error: ERROR, ...shapesShown() },
      headers: headerComponents(),
      securitySchemes: {
        api_key: { type: 'http', scheme: 'bearer', description: 'An API key: sk_...' },
        session: { type: 'http', scheme: 'bearer', description: 'A session: ses_..., see /v1/auth/verify' },
        x_api_key: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key: sk_...' },
        read_token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The read_token of a video job that was paid by itself',
        },
      },
    },
  }
}

function operationsOf(known: KnownOperations, method: string, path: string): [path: string, operation: unknown][] {
  const name = `${method} ${path}`
  const api = known.api.get(name)
  if (api !== undefined) return [[path, apiOperation(api.id, api.route)]]
  const own = known.own[name]
  if (own === undefined) return []
  const below = Object.entries(own.below ?? {})
  const all: [path: string, operation: ProxyOperation][] = [
    ...(own.paths ?? [path]).map((shown): [string, ProxyOperation] => [shown, own]),
    ...below,
  ]
  return all.map(([shown, operation]) => [shown, proxyOperation(method, shown, operation)])
}

function apiOperation(id: ApiOperation, { method, path, auth, summary, query, body, cache }: ApiRoute) {
  const answers = API_ANSWERS[id]
  const headers = [
    ...(body === undefined || auth === 'none' ? [] : ['Idempotency-Key' as const]),
    ...(id === 'pay_from_agent' ? ['x-approval-id' as const] : []),
    ...(cache === undefined ? [] : ['If-None-Match' as const]),
  ]
  return {
    operationId: id,
    summary,
    security: SECURITY[auth],
    parameters: [...pathParameters(path), ...queryParameters(query), ...headers.map(headerParameter)],
    ...(body !== undefined && {
      requestBody: bodyOf('application/json', body, method === 'POST' && body.required.length > 0),
    }),
    responses: withHeaders(
      {
        ...(typeof answers === 'string' ? textAnswer(TEXT_TYPES[answers]) : jsonAnswers(answers)),
        ...FAILED,
        ...(cache !== undefined && UNCHANGED),
      },
      {
        isCharged: false,
        mayFallBack: false,
        isPaid: false,
        isCached: cache !== undefined,
        isIdempotent: headers.includes('Idempotency-Key'),
      },
    ),
  }
}

const UNKEPT = { isCached: false, isIdempotent: false }

function proxyOperation(method: string, path: string, operation: ProxyOperation) {
  const { summary, auth, body, bodyType = 'application/json', answerType, answers, streams } = operation
  const takesApproval = auth === 'key' && body !== undefined
  const isPaid = auth === 'paid'
  const headers = [
    ...(takesApproval ? ['x-approval-id' as const] : []),
    ...(takesApproval || isPaid ? ['x-sluice-tags' as const] : []),
    ...(isPaid ? ['PAYMENT-SIGNATURE' as const, 'x-erc8004-agent' as const] : []),
  ]
  return {
    operationId: `${method} ${path}`
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/_$/, ''),
    summary,
    security: [...SECURITY[auth], ...MORE_SECURITY.flatMap(([start, more]) => (path.startsWith(start) ? more : []))],
    parameters: [...pathParameters(path), ...headers.map(headerParameter)],
    ...(body !== undefined && { requestBody: bodyOf(bodyType, body, true) }),
    responses: withHeaders(
      {
        ...(answers === undefined
          ? textAnswer(answerType ?? 'application/json', streams !== undefined)
          : jsonAnswers(takesApproval ? withApproval(answers) : answers, streams)),
        ...(answers === undefined && takesApproval && jsonAnswers({ 202: 'ApprovalRequired' })),
        ...(isPaid && QUOTED),
        ...FAILED,
      },
      { isCharged: takesApproval, mayFallBack: body?.properties['models'] !== undefined, isPaid, ...UNKEPT },
    ),
  }
}

function pathParameters(path: string) {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
}

function queryParameters(query: ObjectSchema | undefined) {
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => {
    const { description, ...rest } = shown(schema)
    return { name, in: 'query', required: query?.required.includes(name) === true, description, schema: rest }
  })
}

const bodyOf = (type: string, schema: ObjectSchema, required: boolean) => ({
  required,
  content: { [type]: { schema: shown(schema) } },
})

const UNCHANGED = { 304: { description: 'The client has this answer: its entity tag is in If-None-Match' } }

const ERROR_CONTENT = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
const QUOTED = {
  402: {
    description: 'The price, to be paid with the same request, or the fault of a payment',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/PaymentRequired' } } },
  },
}
/** Every other status has the error shape. */
const FAILED = { default: { description: 'Refused or failed', content: ERROR_CONTENT } }

const DONE = 'Done'
const STATUS_TEXTS: Readonly<Record<string, string>> = { 201: 'Made', 202: 'Accepted: it is done later' }

const TEXT_TYPES = { csv: 'text/csv', text: 'text/plain' } as const

const textAnswer = (type: string, isStreamed = false) => {
  const events = { ...(isStreamed && { 'text/event-stream': { schema: { type: 'string' } } }) }
  return { 200: { description: DONE, content: { [type]: {}, ...events } } }
}

/** @param streams the shape of an event of the streamed answer */
function jsonAnswers(answers: Answers, streams?: ProxyOperation['streams']) {
  const entries = Object.entries(answers).map(([status, shapes]) => {
    const isStreamed = streams !== undefined && status === '200'
    const events = streams === 'text' ? { type: 'string' } : streams && refOf(streams)
    const content = {
      'application/json': { schema: schemaOf(shapes) },
      ...(isStreamed && { 'text/event-stream': { schema: events } }),
    }
    return [status, { description: STATUS_TEXTS[status] ?? DONE, content }] as const
  })
  return Object.fromEntries(entries)
}

/** The owner of an agent may have to approve its requests first. */
function withApproval(answers: Answers): Answers {
  const accepted = answers[202]
  return { ...answers, 202: [...(accepted === undefined ? [] : [accepted].flat()), 'ApprovalRequired' as const] }
}

const refOf = (name: ShapeName) => ({ $ref: `#/components/schemas/${name}` })

function schemaOf(shapes: ShapeName | readonly ShapeName[]): JsonSchema {
  const [first, ...more] = [shapes].flat() as [ShapeName, ...ShapeName[]]
  return more.length === 0 ? refOf(first) : { oneOf: [first, ...more].map(refOf) }
}

function shapesShown(): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(ANSWER_SHAPES).map(([name, schema]) => [name, shown(schema)]))
}

/** A schema with the formats that readers of the document know. */
function shown(schema: JsonSchema): JsonSchema {
  const told = Object.entries(schema).filter(([name, value]) => name !== 'format' || value !== TEXT_FORMAT)
  const entries = told.map(([name, value]) => {
    if (name === 'format') return [name, FORMATS[String(value)] ?? value]
    if (name === 'properties') {
      const properties = Object.entries(value as Record<string, JsonSchema>)
      return [name, Object.fromEntries(properties.map(([field, inner]) => [field, shown(inner)]))]
    }
    return [name, name === 'items' ? shown(value as JsonSchema) : value]
  })
  return Object.fromEntries(entries) as JsonSchema
}
