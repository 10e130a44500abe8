import assert from 'node:assert/strict'
import test from 'node:test'
import { httpServerFor, loadHttpServer } from '../../../../proxy/server/httpServer.mjs'

test('each version of Node.js has the package with its native code', () => {
  assert.deepEqual(
    ['20.15.0', '22.0.0', '24.1.0', '26.0.0'].map((version) => httpServerFor(version).name),
    ['uWebSockets.js', 'uWebSockets.js', 'uWebSockets.js-24', 'uWebSockets.js-24'],
  )
})

test('a package that does not load is named with what to do, and with the reason of the loader', () => {
  const reason = new Error('no native code')
  const require = () => {
    throw reason
  }
  assert.throws(
    () => loadHttpServer(require as unknown as NodeJS.Require),
    (error) => {
      assert(error instanceof Error)
      assert.match(
        error.message,
        /^The package uWebSockets\.js\S* does not load: no native code\nRun `make install` with this Node\.js/,
      )
      assert.equal(error.cause, reason)
      return true
    },
  )
})
