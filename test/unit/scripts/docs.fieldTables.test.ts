// Goal: a table of fields shows what no earlier table has, and links to the rest without losing a name.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

type Row = readonly string[]
const { fieldTable } = (await import(pathToFileURL(join(projectRoot, 'scripts/docs/fieldTables.mjs')).href)) as {
  fieldTable(heading: string, rows: readonly Row[], places: Map<string, object[]>): string
}

const row = (name: string, meaning = ''): Row => [`\`${name}\``, 'string', 'yes', meaning]
const AMOUNT = [row('units', 'Integer.'), row('usd'), row('coin')]
const bodyOf = (table: string) => table.split('\n').slice(2)

test('rows that stand together in an earlier table are one that names and links them', () => {
  const places = new Map()
  assert.equal(bodyOf(fieldTable('Amount', AMOUNT, places)).length, 3)
  const shown = bodyOf(fieldTable('Receipt', [row('id'), ...AMOUNT, row('last')], places))
  assert.deepEqual(shown, [
    '| `id` | string | yes |  |',
    '| `units`, `usd`, `coin` | as in [Amount](#amount) |  |  |',
    '| `last` | string | yes |  |',
  ])
})

test('rows within an object are found by their names in it, but not across its end', () => {
  const places = new Map()
  fieldTable('Amount', AMOUNT, places)
  const within = ['units', 'usd', 'coin'].map((name, at) => row(`paid.${name}`, at === 0 ? 'Integer.' : ''))
  assert.deepEqual(bodyOf(fieldTable('Receipt', within, places)), [
    '| `paid.units`, `paid.usd`, `paid.coin` | as in [Amount](#amount) |  |  |',
  ])
  assert.equal(bodyOf(fieldTable('Other', [...within.slice(0, 2), row('coin')], places)).length, 3)
})

test('few equal rows, and rows that differ in anything, are shown', () => {
  const places = new Map()
  fieldTable('Amount', AMOUNT, places)
  assert.equal(bodyOf(fieldTable('Two', AMOUNT.slice(0, 2), places)).length, 2)
  const other = [row('units', 'Decimal.'), row('usd'), row('coin')]
  assert.equal(bodyOf(fieldTable('Three', other, places)).length, 3)
})
