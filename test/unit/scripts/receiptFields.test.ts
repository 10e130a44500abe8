import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import protobuf from 'protobufjs'
import { projectRoot } from '../../../control/launch/paths.ts'
import { RECEIPT_FIELDS, type ReceiptField } from '../../support/receiptFields.ts'

interface Generator {
  tableFaults(root: protobuf.Root, fields?: readonly ReceiptField[]): string[]
}

const script = pathToFileURL(join(projectRoot, 'scripts/receiptFields.mjs')).href
const { tableFaults }: Generator = await import(script)
const PROTO = readFileSync(join(projectRoot, 'contract/wire/messages.proto'), 'utf8')

function parsed(proto: string): protobuf.Root {
  return protobuf.parse(proto, { keepCase: true }).root
}

function changed(name: string, changes: Partial<ReceiptField>): ReceiptField[] {
  return RECEIPT_FIELDS.map((field) => (field.name === name ? { ...field, ...changes } : field))
}

test('the table of receipt fields is that of the messages', () => {
  assert.deepEqual(tableFaults(parsed(PROTO)), [])
})

test('a field of a settlement or of its usage that no row names is refused', () => {
  const more = (message: string) =>
    PROTO.replace(`message ${message} {`, `message ${message} {\n  string region = 141;`)
  assert.deepEqual(tableFaults(parsed(more('Settlement'))), ['the field region of a settlement is in no row'])
  assert.deepEqual(tableFaults(parsed(more('Usage'))), ['the field usage.region of a settlement is in no row'])
  for (const { name, proto } of RECEIPT_FIELDS) {
    if (proto === undefined) continue
    const without = RECEIPT_FIELDS.filter((field) => field.name !== name)
    assert.deepEqual(tableFaults(parsed(PROTO), without), [`the field ${proto} of a settlement is in no row`])
  }
})

test('rows that do not fit the messages or the layouts are refused', () => {
  const faults = (fields: readonly ReceiptField[]) => tableFaults(parsed(PROTO), fields)
  assert.deepEqual(faults(changed('holdUnits', { type: 'integer' })), ['holdUnits is integer, hold_units is uint64'])
  assert.deepEqual(faults(changed('holdUnits', { leaf: 5 })), [
    'holdUnits has layout 5, which does not exist',
    'rows of a later layout come before others',
  ])
  assert.deepEqual(faults(changed('rate', { leaf: 1 })), [])
  assert.deepEqual(faults(changed('tier', { leaf: 1 })), ['rows of a later layout come before others'])
  assert.match(
    String(faults(changed('tier', { proto: 'rate' }))),
    /tier is read from rate, which is no field or named twice/,
  )
  const { proto: _, ...unread } = RECEIPT_FIELDS.find(({ name }) => name === 'provider') as ReceiptField
  assert.match(
    String(faults(RECEIPT_FIELDS.map((field) => (field.name === 'provider' ? unread : field)))),
    /provider comes from nowhere: name its proto field/,
  )
})
