// Goal: every address leads to its page, and a key that is handed over is read. Method: the way there and back for every page.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyInFragment, PAGES, type PageName, pathTo, placeOf } from '../../../../console/router/match.ts'

test('the path to each page leads back to it', () => {
  for (const page of Object.keys(PAGES) as PageName[]) {
    const id = page === 'request' ? 'req_1/2 %' : ''
    assert.deepEqual(placeOf(pathTo(page, id)), { page, id })
  }
  assert.deepEqual(placeOf('/console/'), { page: 'start', id: '' })
})

test('other paths are unknown, and an id that does not decode is taken as it is', () => {
  for (const path of ['/console/none', '/console/requests/a/b']) assert.equal(placeOf(path).page, 'unknown')
  assert.deepEqual(placeOf('/console/requests/%zz'), { page: 'request', id: '%zz' })
})

test('the key of an address', () => {
  assert.equal(keyInFragment('#key=sk_abc'), 'sk_abc')
  assert.equal(keyInFragment('#content'), undefined)
  assert.equal(keyInFragment(''), undefined)
})
