import { openapiDocument } from '../../dist/proxy/endpoints/openapi/document.js'
import { REQUEST_HEADERS, RESPONSE_HEADERS } from '../../dist/proxy/endpoints/openapi/headers.js'
import { servedRoutes } from '../../dist/proxy/servedRoutes.js'
import { limits } from '../../dist/test/support/limits.js'
import { fieldTable } from './fieldTables.mjs'
import { anchorOf, code, page, sentence, table } from './markdown.mjs'

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
    ['/v1/auth', '/v1/account', '/v1/usage', '/v1/keys', '/v1/platform', '/v1/subkeys'],
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

const COMPONENTS = openapiDocument([], limits).components.schemas
const LIST_FIELDS = ['object', 'data', 'has_more']

function linkTo(ref) {
  const name = ref.split('/').at(-1)
  const entry = entryOfList(COMPONENTS[name])
  return entry === undefined ? `[${name}](#${anchorOf(name)})` : `[list](#lists) of ${linkTo(entry)}`
}

/** The shape of the entries, of a shape that is nothing but a list. */
function entryOfList(schema) {
  return isList(schema) && Object.keys(schema.properties).every((name) => LIST_FIELDS.includes(name))
    ? schema.properties.data.items?.$ref
    : undefined
}

function isList(schema) {
  return schema?.properties?.object?.const === 'list' && schema.properties.data?.type === 'array'
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

/** Headers by their names, as the table of headers says what they mean; the rest but the parts of the path as a list. */
function parametersOf(parameters) {
  const headers = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => code(name))
  const items = parameters
    .filter((parameter) => parameter.in === 'query' || (parameter.in === 'path' && parameter.description))
    .map(({ name, in: place, required, description = '', schema }) => {
      const meaning = [typeOf(schema), ...(required ? ['required'] : [])].join(', ')
      return `- ${place} ${code(name)} (${meaning}): ${sentence(description)}`
    })
  return [
    ...(headers.length === 0 ? [] : [`Headers: ${headers.join(', ')}.`]),
    ...(items.length === 0 ? [] : [items.join('\n')]),
  ]
}

function bodyOf({ requestBody }, heading, places) {
  if (requestBody === undefined) return []
  return Object.entries(requestBody.content).flatMap(([type, { schema }]) => {
    const rows = fieldRows(schema)
    return rows.length === 0 ? [] : [`Body, as \`${type}\`:`, fieldTable(heading, rows, places)]
  })
}

function answersOf({ responses }) {
  const answers = Object.entries(responses)
    .filter(([status]) => status !== 'default')
    .map(([status, { description, content = {} }]) => {
      const types = Object.entries(content).map(([type, { schema }]) => {
        if (schema === undefined) return code(type)
        return type === 'application/json' ? typeOf(schema) : `${typeOf(schema)} as ${code(type)}`
      })
      const meaning = STATUSES[status] === description ? '' : ` (${description})`
      return `${[status, types.join(' or ')].join(' ').trim()}${meaning}`
    })
  return `Answers: ${answers.join('; ')}.`
}

/** The meaning of each status, unless an operation says more. */
const STATUSES = {
  200: 'Done',
  201: 'Made',
  202: 'Accepted: it is done later',
  304: 'The client has this answer: its entity tag is in If-None-Match',
  402: 'The price, to be paid with the same request, or what was wrong with a payment',
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

function operation([path, method, described], places) {
  const heading = `${method.toUpperCase()} ${path}`
  return [
    `### ${heading}`,
    `${sentence(described.summary)} Credential: ${credentialOf(described.security)}.`,
    ...parametersOf(described.parameters),
    ...bodyOf(described, heading, places),
    answersOf(described),
  ]
}

const PAID = '/x402'

/** The operation that is the same with an account, unless its body differs. */
function twinOf([path, method, described], paths) {
  const twin =
    described.requestBody !== undefined && path.startsWith(`${PAID}/`)
      ? paths[path.slice(PAID.length)]?.[method]
      : undefined
  return twin && JSON.stringify(twin.requestBody) === JSON.stringify(described.requestBody) ? twin : undefined
}

function paidOperations(operations) {
  const rows = operations.map(([path, method, described]) => {
    const heading = `${method.toUpperCase()} ${path.slice(PAID.length)}`
    return [
      code(`${method.toUpperCase()} ${path}`),
      `[${heading}](#${anchorOf(heading)})`,
      answersOf(described).replace('Answers: ', ''),
    ]
  })
  return table(['operation', 'its body is that of', 'answers'], rows)
}

function shape([name, schema], places) {
  const isArray = schema.type === 'array'
  const entries = isList(schema) ? schema.properties.data.items : undefined
  const isInline = entries?.properties !== undefined
  const about = isInline ? [sentence('a [list](#lists), and the fields of its entries')] : []
  const others = Object.entries(schema.properties ?? {}).filter(([field]) => !isInline || !LIST_FIELDS.includes(field))
  const own = isArray ? (schema.items ?? {}) : { ...schema, properties: Object.fromEntries(others) }
  const rows = [...fieldRows(own), ...(isInline ? fieldRows(entries, 'data[].') : [])]
  return [
    `### ${name}`,
    ...(schema.description === undefined ? [] : [sentence(schema.description)]),
    ...about,
    rows.length === 0 ? `Type: ${typeOf(schema)}.` : fieldTable(name, rows, places),
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
  const places = new Map()
  const sections = SECTIONS.map(([title]) => [title, operations.filter(([path]) => sectionOf(path) === title)])
  const paid = operations.filter((row) => twinOf(row, paths) !== undefined)
  const statuses = Object.entries(STATUSES).map(([status, meaning]) => [status, sentence(meaning)])
  return page('HTTP API', 'the OpenAPI document, `GET /v1/openapi.json`', [
    'Every endpoint with its credential, parameters, body and answers. The same is served as an OpenAPI 3.1 document at `GET /v1/openapi.json`, which generators of typed clients read.',
    'An API key is sent as `Authorization: Bearer sk_...`, a session as `Authorization: Bearer ses_...`. Changes of the account take an `Idempotency-Key`. Streaming answers are server-sent events (SSE).',
    '## Headers',
    headersTable(),
    '## Answers',
    'Answers are JSON unless another type is named. Refusals and failures of every operation have the shape [Error](#error); [errors](errors.md) lists their codes and says which to retry.',
    table(['status', 'meaning'], [...statuses, ['others', 'Refused or failed, as [Error](#error).']]),
    '## Lists',
    'A list has `object` `"list"`, its entries in the array `data` and, where it is paginated, `has_more`: whether there is another page. `limit` is the size of a page, and `after` takes what the page before gave.',
    ...sections
      .map(([title, rows]) => [
        title,
        rows.filter((row) => !paid.includes(row)),
        rows.filter((row) => paid.includes(row)),
      ])
      .filter(([, rows, twins]) => rows.length + twins.length > 0)
      .flatMap(([title, rows, twins]) => [
        `## ${title}`,
        ...(twins.length === 0 ? [] : [PAY_PER_REQUEST, paidOperations(twins)]),
        ...rows.flatMap((row) => operation(row, places)),
      ]),
    '## Shapes',
    ...Object.entries(components.schemas)
      .filter(([, schema]) => entryOfList(schema) === undefined)
      .flatMap((row) => shape(row, places)),
  ])
}

const PAY_PER_REQUEST =
  'Each takes the body of an operation with an account, no credential, and the headers `PAYMENT-SIGNATURE` and `x-erc8004-agent`.'
