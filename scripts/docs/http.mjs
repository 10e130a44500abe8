import { openapiDocument } from '../../dist/proxy/endpoints/openapi/document.js'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from '../../dist/proxy/endpoints/openapi/headers.js'
import { limits } from '../../dist/test/support/limits.js'
import { servedRoutes } from '../../dist/test/support/servedRoutes.js'
import { code, page, sentence, table } from './markdown.mjs'

/** Sections of the page: a heading, and the beginnings of the paths below it. The first that fits has an operation. */
const SECTIONS = [
  ['Pay per request (x402, MPP)', ['/x402/']],
  [
    'Model endpoints: chat, completions, messages, responses',
    ['/v1/chat', '/v1/completions', '/v1/messages', '/v1/responses'],
  ],
  [
    'Embeddings, rerank, images, audio, videos',
    ['/v1/embeddings', '/v1/rerank', '/v1/images', '/v1/audio', '/v1/videos'],
  ],
  ['Batch jobs', ['/v1/batch']],
  ['Tools and the Model Context Protocol (MCP)', ['/v1/tools', '/mcp']],
  ['Models, pricing and the catalog', ['/v1/models', '/v1/pricing', '/v1/catalog', '/v1/limits']],
  ['Receipts, usage logs and settlements', ['/v1/receipts', '/v1/log', '/v1/statements', '/v1/settlement']],
  [
    'Sign-in, account, API keys and spend limits',
    ['/v1/auth', '/v1/account', '/v1/keys', '/v1/platform', '/v1/subkeys'],
  ],
  ['Agents, approvals and links', ['/v1/agents', '/v1/links', '/v1/approvals']],
  ['Providers and referrals', ['/v1/providers', '/v1/referrals']],
  ['Status and health', ['/v1/status', '/health', '/ready']],
  ['Others', ['/']],
]
const CREDENTIALS = {
  api_key: 'API key',
  session: 'session',
  x_api_key: 'API key as `x-api-key`',
  read_token: 'read token',
}

function sectionOf(path) {
  return SECTIONS.find(([, beginnings]) => beginnings.some((start) => path.startsWith(start)))?.[0]
}

function credentialOf(security) {
  if (security.length === 0) return 'none'
  return security.map((way) => Object.keys(way).map((name) => CREDENTIALS[name])[0] ?? 'none').join(' or ')
}

function typeOf(schema) {
  if (schema === undefined) return 'any'
  if (schema.$ref !== undefined) return linkTo(schema.$ref)
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ')
  const choices = schema.oneOf ?? schema.anyOf
  if (choices !== undefined) return choices.map(typeOf).join(' or ')
  if (schema.type === 'array') return schema.items === undefined ? 'array' : `array of ${typeOf(schema.items)}`
  if (schema.properties === undefined && typeof schema.additionalProperties === 'object')
    return `map of ${typeOf(schema.additionalProperties)}`
  const name = [schema.type ?? 'any'].flat().join(' or ')
  return schema.format === undefined ? name : `${name} (${schema.format})`
}

function linkTo(ref) {
  const name = ref.split('/').at(-1)
  return `[${name}](#${name.toLowerCase()})`
}

function fieldRows(schema, before = '') {
  const required = new Set(schema.required ?? [])
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const place = `${before}${name}`
    const inner = field.properties !== undefined ? fieldRows(field, `${place}.`) : []
    const items = field.items?.properties !== undefined ? fieldRows(field.items, `${place}[].`) : []
    const isRequired = required.has(name) ? 'yes' : 'no'
    return [[code(place), typeOf(field), isRequired, sentence(field.description ?? '')], ...inner, ...items]
  })
}

const HEAD = ['field', 'type', 'required', 'meaning']

function parametersOf(parameters) {
  if (parameters.length === 0) return []
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) => {
    return [code(name), place, typeOf(schema), required ? 'yes' : 'no', sentence(description)]
  })
  return [table(['parameter', 'in', 'type', 'required', 'meaning'], rows)]
}

function bodyOf({ requestBody }) {
  if (requestBody === undefined) return []
  return Object.entries(requestBody.content).flatMap(([type, { schema }]) => [
    `Body, as \`${type}\`:`,
    ...(Object.keys(schema.properties ?? {}).length === 0 ? [] : [table(HEAD, fieldRows(schema))]),
  ])
}

function answersOf({ responses }) {
  const rows = Object.entries(responses).flatMap(([status, { description, content = {} }]) => {
    const types = Object.entries(content)
    if (types.length === 0) return [[status, '', sentence(description)]]
    return types.map(([type, { schema }]) => [
      status,
      schema === undefined ? code(type) : `${code(type)}: ${typeOf(schema)}`,
      sentence(description),
    ])
  })
  return [table(['status', 'answer', 'meaning'], rows)]
}

/** The credentials, and all headers that are read and sent in addition to the common ones of HTTP. */
function headersTable() {
  const rows = (headers, direction) =>
    Object.entries(headers).map(([name, meaning]) => [code(name), direction, sentence(meaning)])
  const credentials = {
    Authorization:
      'Bearer and an API key, a session, or the read token of a video job; or Payment and a credential of MPP',
    'x-api-key': 'An API key, as clients of the Messages format send it',
  }
  const all = [
    ...rows(credentials, 'request'),
    ...rows(REQUEST_HEADERS, 'request'),
    ...rows(RESPONSE_HEADERS, 'answer'),
  ]
  return table(['header', 'in', 'meaning'], all)
}

function operation([path, method, described]) {
  return [
    `### ${method.toUpperCase()} ${path}`,
    `${sentence(described.summary)} Credential: ${credentialOf(described.security)}.`,
    ...parametersOf(described.parameters),
    ...bodyOf(described),
    ...answersOf(described),
  ]
}

function shape([name, schema]) {
  const rows = fieldRows(schema.type === 'array' ? (schema.items ?? {}) : schema)
  return [
    `### ${name}`,
    ...(schema.description === undefined ? [] : [sentence(schema.description)]),
    rows.length === 0 ? `Type: ${typeOf(schema)}.` : table(HEAD, rows),
  ]
}

/** docs/reference/http.md: every operation of the OpenAPI document. */
export function httpPage() {
  const served = servedRoutes().map((row) => {
    const [method, path] = row.split(' ')
    return { method, path }
  })
  const { paths, components } = openapiDocument(served, limits)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => [path, method, described]),
  )
  const sections = SECTIONS.map(([title]) => [title, operations.filter(([path]) => sectionOf(path) === title)])
  return page('HTTP API', 'the OpenAPI document, `GET /v1/openapi.json`', [
    'Every endpoint with its credential, parameters, body and answers. The same is served as an OpenAPI 3.1 document at `GET /v1/openapi.json`, which generators of typed clients read. Refusals and failures have the shape [Error](#error); [errors](errors.md) lists their codes and says which to retry.',
    'An API key is sent as `Authorization: Bearer sk_...`, a session as `Authorization: Bearer ses_...`. Lists are paginated: `limit` is the size of a page, and `after` takes what the page before gave. Changes of the account take an `Idempotency-Key`. Streaming answers are server-sent events (SSE).',
    '## Headers',
    headersTable(),
    ...sections
      .filter(([, rows]) => rows.length > 0)
      .flatMap(([title, rows]) => [`## ${title}`, ...rows.flatMap(operation)]),
    '## Shapes',
    ...Object.entries(components.schemas).flatMap(shape),
  ])
}
