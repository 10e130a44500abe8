// Goal: an unknown path is answered with "see /llms.txt for what is served", so that page has to name all that is. Method: every
// route of the proxy and of the account API is looked up in it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { API_ROUTES } from '../../../../../contract/api/routes.ts'
import { servedRoutes } from '../../../../../proxy/servedRoutes.ts'

// For machines that run the gateway.
const UNNAMED = new Set(['/ready', '/llms.txt'])

test('llms.txt names every path, at least up to its first parameter', () => {
  const text = readFileSync(new URL('../../../../../proxy/endpoints/site/llms.txt', import.meta.url), 'utf8')
  const ofApi = Object.values(API_ROUTES).map(({ path }) => path)
  const paths = [...servedRoutes().map((route) => route.split(' ')[1] ?? ''), ...ofApi]
  // What is paid per request has the path of what takes a key.
  const fixed = paths.map((path) =>
    (path.split(/\/?[{*]/)[0] ?? '').replace(/^\/x402(?=\/v1\/(?!receipts|credits))/, ''),
  )
  const missing = new Set(fixed.filter((path) => !UNNAMED.has(path) && !text.includes(path)))
  assert.deepEqual([...missing], [])
})
