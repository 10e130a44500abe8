import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { openapiDocument } from '../../proxy/endpoints/openapi/document.ts'
import { servedRoutes } from '../../proxy/servedRoutes.ts'
import { limits } from './limits.ts'

interface Described {
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema?: object }> }>>
}

const served = servedRoutes().map((route) => {
  const [method = '', path = ''] = route.split(' ')
  return { method, path }
})
/** The OpenAPI document of the table of routes. */
export const document = openapiDocument(served, limits)
const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Described>>>>

// The document lets members come that it does not know, so that clients go on with a newer gateway. Tests know all of them.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema({ $id: 'document', components: { schemas: closed(document.components.schemas) } })
const checks = new Map<string, ValidateFunction>()

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  const isOpen = inner['properties'] === undefined || inner['additionalProperties'] !== undefined
  return inner['type'] !== 'object' || isOpen ? inner : { ...inner, additionalProperties: false }
}

/**
 * Asserts that an answer has the form that the document says: the status is named, and its JSON fits the schema.
 * @param path as the document has it, such as `/v1/models/{id}`
 */
export function assertDescribed(method: string, path: string, status: number, value: unknown): void {
  const name = `${method} ${path} ${status}`
  const operation = paths[path]?.[method.toLowerCase()] ?? assert.fail(`${name} is not in the document`)
  const content = (operation.responses[status] ?? operation.responses['default'])?.content ?? {}
  const schema = (content['application/json'] ?? content['application/problem+json'])?.schema
  if (schema === undefined) return
  const check = checks.get(name) ?? ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')))
  checks.set(name, check)
  const isSuccess = operation.responses[status] !== undefined
  // Only what is paid per request has a 402 of its own form.
  if (status !== 402) assert.equal(isSuccess, status < 400, `${name}: the document names no such answer`)
  assert.ok(check(value), `${name}: ${ajv.errorsText(check.errors)}\n${JSON.stringify(value, null, 1)}`)
}

/** The path of the document that a row of the table of routes serves `target` by. */
export function describedPath(method: string, target: string): string {
  const found = Object.keys(paths).filter((path) => {
    if (paths[path]?.[method.toLowerCase()] === undefined) return false
    const pattern = path.replace(/\./g, '\\.').replace(/\{\w+\}/g, path.startsWith('/v1/models/') ? '.+' : '[^/]+')
    return new RegExp(`^${pattern}$`).test(target)
  })
  found.sort((a, b) => a.split('{').length - b.split('{').length)
  return found[0] ?? assert.fail(`${method} ${target} is not in the document`)
}
