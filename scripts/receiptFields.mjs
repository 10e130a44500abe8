// Writes control/book/receipt/generated/receipt.ts from the table of receipt fields, and checks that table against the
// messages that settlements arrive in.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import protobuf from 'protobufjs'
import { LEAF_LAYOUTS, RECEIPT_FIELDS } from '../control/book/receipt/fields.mjs'

const TARGET = 'control/book/receipt/generated'
const NAMES = ['RATE', 'STATUS', 'TIER', 'USAGE_SOURCE']
const TYPES = { text: 'string', boolean: 'boolean', bytea: 'Buffer' }
/** Lines that are joined before the others: short strings are copied, which takes less memory than a chain of them all. */
const LINES_OF_PART = 4
/** The scalar types of the proto by those of columns; enums are stored as texts, by their names. */
const PROTO_TYPES = { text: 'string', boolean: 'bool', integer: 'uint32', bigint: 'uint64' }

/** cache_write_5m of cacheWrite5m: the column of a member. */
function columnOf({ name }) {
  return name.replace(/[A-Z]|\d+[a-z]/g, (part) => `_${part.toLowerCase()}`)
}

/** The member that the generated protobuf code has for a field: cacheWrite_5m for cache_write_5m. */
function memberOf(proto) {
  return proto.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
}

/**
 * The faults of the table.
 * @param {protobuf.Root} root the messages
 * @returns {string[]} a sentence each
 */
export function tableFaults(root, fields = RECEIPT_FIELDS) {
  const protoFields = new Map()
  for (const [message, before] of [
    ['Settlement', ''],
    ['Usage', 'usage.'],
  ]) {
    for (const { name, type } of root.lookupType(`sluice.${message}`).fieldsArray) {
      if (type !== 'Usage') protoFields.set(before + name, type)
    }
  }
  const faults = []
  for (const field of fields) {
    const { name, proto, type, names, leaf } = field
    if (proto === undefined && field.from === undefined) faults.push(`${name} comes from nowhere: name its proto field`)
    if (leaf !== undefined && !LEAF_LAYOUTS.includes(leaf))
      faults.push(`${name} has layout ${leaf}, which does not exist`)
    if (proto === undefined) continue
    const known = protoFields.get(proto)
    protoFields.delete(proto)
    if (known === undefined) faults.push(`${name} is read from ${proto}, which is no field or named twice`)
    else if (names === undefined && known !== PROTO_TYPES[type]) faults.push(`${name} is ${type}, ${proto} is ${known}`)
  }
  for (const left of protoFields.keys()) faults.push(`the field ${left} of a settlement is in no row`)
  const layouts = fields.flatMap(({ leaf = [] }) => leaf)
  if (layouts.some((layout, i) => layout < (layouts[i - 1] ?? 0)))
    faults.push('rows of a later layout come before others')
  return faults
}

function typeOf({ type, names, isEmptyForOrphans }) {
  if (names === undefined) return TYPES[type] ?? 'number'
  return `keyof typeof ${names}${isEmptyForOrphans ? " | ''" : ''}`
}

function members(fields) {
  return fields.map((field) => `  readonly ${field.name}: ${typeOf(field)}\n`).join('')
}

/** The expression that reads a field from `settlement`, `usage` or `ending`. */
function readOf(field) {
  const { name, type, proto, from, names, max, isRequired, isEmptyForOrphans } = field
  if (from === 'ending') return `ending.${name}`
  const [first, second] = proto.split('.')
  const label = `'${second ?? first}'`
  const none = type === 'text' ? "''" : '0'
  const value = second === undefined ? `settlement.${memberOf(first)}` : `usage?.${memberOf(second)} ?? ${none}`
  if (names !== undefined) {
    const found = `named(${label}, ${names}_NAMES, ${value})`
    return isEmptyForOrphans ? `isOrphan ? '' : ${found}` : found
  }
  if (type === 'boolean') return value
  if (type === 'text') {
    return `${isRequired ? 'identifier' : 'printable'}(${label}, ${value}${max === undefined ? '' : `, ${max}`})`
  }
  return `amount(${label}, ${value}${type === 'integer' ? ', INT4_MAX' : ''})`
}

function leafLines() {
  return LEAF_LAYOUTS.map((layout) => {
    const lines = RECEIPT_FIELDS.filter(({ leaf }) => leaf === layout).map(({ name }) => `\${receipt.${name}}\\n`)
    const parts = []
    for (let i = 0; i < lines.length; i += LINES_OF_PART) {
      parts.push(`\`${lines.slice(i, i + LINES_OF_PART).join('')}\``)
    }
    return `function lines${layout}(receipt: LoggedReceipt): string {\n  return ${parts.join(' +\n    ')}\n}\n`
  }).join('\n')
}

function leafTextCase(layout) {
  const parts = LEAF_LAYOUTS.filter((one) => one <= layout).map((one) => `\${lines${one}(receipt)}`)
  return `    case ${layout}:\n      return \`sluice-receipt/${layout}\\n${parts.join('')}\`\n`
}

function leafSqlCase(layout) {
  const columns = RECEIPT_FIELDS.filter(({ leaf }) => leaf <= layout)
  const texts = columns.map((field) => columnOf(field) + (field.type === 'boolean' ? '::text' : ''))
  return `  WHEN ${layout} THEN concat_ws(E'\\\\n', 'sluice-receipt/${layout}', ${texts.join(', ')}, '')\n`
}

/** The text of the generated file. */
function receiptCode() {
  const stored = RECEIPT_FIELDS.filter(({ from }) => from !== 'place')
  const logged = stored.filter(({ name, leaf }) => leaf !== undefined || name === 'leafLayout')
  const read = RECEIPT_FIELDS.filter(({ leaf, isShown }) => leaf !== undefined || isShown)
  const source = ({ name, from }) => (from === 'place' ? `place.${name}` : `receipt.${name}`)
  return `// Written by scripts/receiptFields.mjs from control/book/receipt/fields.mjs.
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { namesOf, ${NAMES.join(', ')} } from '../../../../contract/wire/settlementNames.ts'
import type { CopyRows } from '../../../runtime/db/copy.ts'
import { amount, identifier, INT4_MAX, named, printable } from '../values.ts'

${NAMES.map((names) => `const ${names}_NAMES = namesOf(${names})`).join('\n')}

/** The place of a receipt: its usage log, and its position in that. */
export interface Place {
${members(RECEIPT_FIELDS.filter(({ from }) => from === 'place'))}}

/** The public facts of a receipt that the usage log commits to. Nothing here names the customer. */
export interface LoggedReceipt {
${members(logged)}}

/** A row of \`receipts\` before it has its place in the usage log. */
export interface Receipt extends LoggedReceipt {
${members(stored.filter((field) => !logged.includes(field))).replace('readonly leafHash', 'leafHash')}}

/** The fields of a receipt that are not read from its settlement. */
export type Ending = Pick<Receipt, ${stored
    .filter(({ from }) => from === 'ending')
    .map(({ name }) => `'${name}'`)
    .join(' | ')}>

/** A row of \`receipts\` as it is read with READ_COLUMNS. */
export interface ReceiptRow {
${members(read)}}

/** As SQL, in the order of \`putReceipt\`. */
export const RECEIPT_COLUMNS = '${RECEIPT_FIELDS.map(columnOf).join(', ')}'
export const RECEIPT_COLUMN_COUNT = ${RECEIPT_FIELDS.length}

/** As SQL, by the names of ReceiptRow. */
export const READ_COLUMNS =
  '${read.map((field) => (columnOf(field) === field.name ? field.name : `${columnOf(field)} AS "${field.name}"`)).join(', ')}'

/** Statements rather than a loop over a table, which would call two functions for every field of every receipt. */
export function putReceipt(rows: CopyRows, place: Place, receipt: Receipt): void {
  rows.row()
${RECEIPT_FIELDS.map((field) => `  rows.${field.type}(${source(field)})\n`).join('')}}

/** @throws Malformed where a field is not fit to be booked */
export function receiptOf(settlement: sluice.Settlement, ending: Ending): Receipt {
  const { usage } = settlement
  const isOrphan = settlement.status === sluice.Status.ORPHANED
  return {
${stored.map((field) => `    ${field.name}: ${readOf(field)},\n`).join('')}  }
}

/**
 * The text whose RFC 6962 leaf hash is in the usage log: lines in UTF-8, each ended by a line feed. They are the layout's
 * name, then the fields of LoggedReceipt in their order; integers in decimal, booleans as \`true\` and \`false\`.
 * Values contain no control characters: settlement refuses those that do.
 * @throws RangeError for an unknown layout
 */
export function leafText(receipt: LoggedReceipt): string {
  switch (receipt.leafLayout) {
${LEAF_LAYOUTS.map(leafTextCase).join('')}    default:
      throw new RangeError(\`leaves have no layout \${receipt.leafLayout}\`)
  }
}

${leafLines()}
/** SQL of leafText of a row of \`receipts\`, for reads of many rows, whose text the database has to build. */
export const LEAF_TEXT_SQL = \`CASE leaf_layout
${LEAF_LAYOUTS.map(leafSqlCase).join('')}  ELSE '' END\`
`
}

/** Writes the file where it has changed. @param {string} projectRoot @throws Error that names the faults of the table */
export function writeReceiptCode(projectRoot) {
  const proto = readFileSync(join(projectRoot, 'contract/wire/messages.proto'), 'utf8')
  const faults = tableFaults(protobuf.parse(proto, { keepCase: true }).root)
  if (faults.length > 0) throw new Error(`control/book/receipt/fields.mjs: ${faults.join('; ')}`)
  const path = join(projectRoot, TARGET, 'receipt.ts')
  const code = receiptCode()
  if (existsSync(path) && readFileSync(path, 'utf8') === code) return
  mkdirSync(join(projectRoot, TARGET), { recursive: true })
  writeFileSync(path, code)
}
