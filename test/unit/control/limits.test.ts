import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { CONTROL_LIMITS } from '../../../control/limits.ts'

const CONTROL = new URL('../../../control/', import.meta.url)

test('every floor has its limits among those of control, and no two have one of the same name', async () => {
  const paths = readdirSync(CONTROL, { recursive: true, encoding: 'utf8' }).filter((path) => /\/limits\.js$/.test(path))
  const floors = await Promise.all(paths.map((path) => import(new URL(path, CONTROL).href)))
  const names = floors.flatMap((floor) => Object.values<object>(floor).flatMap((limits) => Object.keys(limits)))
  assert.deepEqual(names.toSorted(), Object.keys(CONTROL_LIMITS).toSorted())
})

test('connections to PostgreSQL stay open between two passes of loops that need several at once', () => {
  const { databaseIdleMs, keptAnswersMs, housekeepingMs } = CONTROL_LIMITS
  assert.ok(databaseIdleMs > 1.5 * Math.max(keptAnswersMs, housekeepingMs))
})
