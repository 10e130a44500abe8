import assert from 'node:assert/strict'
import test from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { members, type ObjectSchema, paramsReader, pathExpression, pathOf } from '../../../../contract/api/route.ts'
import { API_ROUTES, type ApiOperation, isApiOperation } from '../../../../contract/api/routes.ts'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { checkBody, checkQuery } from '../../../../control/api/validate.ts'
import { RouteTable } from '../../../../proxy/server/routeTable.ts'

const ROUTES = Object.values(API_ROUTES)

test('the parameters of a path are read by the names in its pattern, and build the same path again', () => {
  const paramsOf = (operation: ApiOperation, path: string) => paramsReader(API_ROUTES[operation])(path)
  assert.deepEqual(paramsOf('update_key', '/v1/account/keys/key_1'), { id: 'key_1' })
  assert.deepEqual(paramsOf('get_statement', '/v1/statements/2026-01.csv'), { month: '2026-01' })
  assert.deepEqual(paramsOf('create_key', '/v1/account/keys'), {})
  for (const path of ['/v1/account/keys/', '/v1/account/keys/a/b']) assert.deepEqual(paramsOf('update_key', path), {})
  for (const path of ['/v1/statements/.csv', '/v1/statements/2026-01xcsv']) {
    assert.deepEqual(paramsOf('get_statement', path), {})
  }
  for (const route of ROUTES) {
    // What a decoded segment may hold.
    const path = route.path.replace(/\{(\w+)\}/g, '$1 $& é{x}')
    assert.equal(pathOf(route, paramsReader(route)(path)), path)
  }
})

test('a name that arrives over Redis is an operation only if the table has it', () => {
  assert.ok(Object.keys(API_ROUTES).every(isApiOperation))
  for (const name of ['', 'no_such_operation', 'toString', '__proto__']) assert.ok(!isApiOperation(name), name)
})

test('the schemas of bodies and queries are valid, because control compiles them without a check by the meta-schema', () => {
  const ajv = new Ajv2020({ strict: false })
  for (const { method, path, body, query } of ROUTES) {
    for (const schema of [body, query]) {
      assert.ok(schema === undefined || ajv.validateSchema(schema) === true, `${method} ${path}: ${ajv.errorsText()}`)
    }
  }
  assert.ok(ajv.validateSchema({ type: 'no such type' }) !== true)
})

test('no two routes share a method and path, and patterns contain no special characters of regular expressions', () => {
  assert.equal(new Set(ROUTES.map((route) => `${route.method} ${route.path}`)).size, ROUTES.length)
  assert.ok(pathExpression('/a.b/{x}').test('/a.b/1'))
  assert.ok(!pathExpression('/a.b/{x}').test('/acb/1'))
})

test('the table of the server finds exact paths before patterns, and patterns before prefixes', () => {
  const handler = () => undefined
  const route = (method: 'GET' | 'POST', path: string) => ({ method, path, handler })
  const table = new RouteTable([
    route('GET', '/a/*'),
    route('GET', '/a/{id}'),
    route('POST', '/a/{id}'),
    route('GET', '/a/new'),
  ])
  const methods = (path: string) => [...(table.find(path)?.keys() ?? [])]
  const pathOf = (path: string) => table.find(path)?.get('GET')?.path
  assert.deepEqual([pathOf('/a/new'), pathOf('/a/1'), pathOf('/a/1/2')], ['/a/new', '/a/{id}', '/a/*'])
  assert.deepEqual(methods('/a/1'), ['GET', 'HEAD', 'POST'])
})

function walk(schema: ObjectSchema, name: string): string[] {
  return Object.entries(schema.properties).flatMap(([field, property]) => {
    const inner = property['properties'] === undefined ? [] : walk(property as ObjectSchema, `${name}.${field}`)
    return typeof property['description'] === 'string' ? inner : [`${name}.${field}`, ...inner]
  })
}

test('every schema compiles, rejects unknown fields, and describes every field', () => {
  for (const route of ROUTES) {
    for (const schema of [route.body, route.query]) {
      if (schema === undefined) continue
      assert.deepEqual(walk(schema, route.path), [])
      assert.equal(schema['additionalProperties'], false)
      const param = schema.required[0] ?? 'nonsense'
      assert.throws(() => checkBody(schema, { nonsense: 1 }), { code: null, param, status: 400 })
    }
  }
})

const SCHEMA = members(
  {
    count: { type: 'integer', minimum: 1, description: 'a positive integer' },
    when: { type: 'string', format: 'day', description: 'a day' },
    list: { type: 'array', description: 'a list', items: { type: 'string', description: 'a text' } },
    inner: members({ cap: { type: ['string', 'null'], format: 'usd', description: 'an amount' } }),
  },
  ['count'],
)

function faultOf(check: () => unknown): [string | null, string] {
  try {
    check()
  } catch (error) {
    if (error instanceof GatewayError) return [error.param, error.message]
    throw error
  }
  return assert.fail('nothing was refused')
}

test('an invalid value is reported with its field and the expected form', () => {
  const ofBody = (body: Record<string, unknown>) => faultOf(() => checkBody(SCHEMA, body))
  assert.deepEqual(ofBody({}), ['count', 'count is missing; it must be a positive integer.'])
  assert.deepEqual(ofBody({ count: '1' }), ['count', 'count must be a positive integer.'])
  assert.deepEqual(ofBody({ count: 1, list: ['a', 1] }), ['list[1]', 'list[1] must be a text.'])
  assert.deepEqual(ofBody({ count: 1, inner: { cap: '1,5' } }), ['inner.cap', 'inner.cap must be an amount.'])
  assert.deepEqual(ofBody({ count: 1, inner: { x: 1 } }), ['inner.x', 'There is no field inner.x; there are: cap.'])
  assert.deepEqual(ofBody({ count: 1, when: '2026-02-29' }), ['when', 'when must be a day.'])
  assert.deepEqual(checkBody(SCHEMA, { count: 1, inner: { cap: null } }), { count: 1, inner: { cap: null } })
})

test('a query is text, from which numbers are read', () => {
  assert.deepEqual({ ...checkQuery(SCHEMA, 'count=12&when=2028-02-29') }, { count: 12, when: '2028-02-29' })
  assert.deepEqual(faultOf(() => checkQuery(SCHEMA, 'count=1&count=2'))[0], 'count')
  assert.deepEqual(faultOf(() => checkQuery(SCHEMA, 'count=1.5'))[0], 'count')
  assert.deepEqual(faultOf(() => checkQuery(SCHEMA, 'count=1&__proto__=2'))[0], '__proto__')
})
