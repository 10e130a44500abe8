// The owners of the tables, views and functions of PostgreSQL (control/tables.json): every room of control writes to its own
// alone, and reads its own and those of lower floors.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FLOORS } from './layering.mjs'
import { literalsOf } from './literals.mjs'
import { usesIn } from './sqlUses.mjs'

const SCHEMA = 'control/runtime/db/schema'
const CREATED = /^CREATE (?:OR REPLACE )?(?:UNLOGGED )?(?:TABLE|VIEW|FUNCTION|SEQUENCE) (?:IF NOT EXISTS )?(\w+)/gm
const DROPPED = /^DROP (?:TABLE|VIEW|FUNCTION|SEQUENCE) (?:IF EXISTS )?(\w+)/gm
/** Tables that the code makes itself, before any file of the schema. */
const MADE_BY_CODE = ['schema_migrations']
/** They compare and show everything. */
const READS_ALL = ['audit', 'cli']

/**
 * @param {readonly string[]} files texts in their order
 * @returns {Set<string>} the tables, views and functions that are there after all of them
 */
export function namesOfSchema(files) {
  const names = new Set(MADE_BY_CODE)
  for (const text of files) {
    for (const [, name] of text.matchAll(DROPPED)) names.delete(name)
    for (const [, name] of text.matchAll(CREATED)) names.add(name)
  }
  return names
}

function isWithin(path, folder) {
  return path.startsWith(`control/${folder}/`)
}

function floorOf(path) {
  return FLOORS.findIndex((floor) => isWithin(path, floor))
}

/** The fault of a use, or undefined. */
function faultOf(path, { name, use }, owner) {
  if (isWithin(path, owner)) return undefined
  if (use === 'write') return `${path} writes to ${name}, which only control/${owner} may`
  const isRead = READS_ALL.some((room) => isWithin(path, room))
  if (isRead || floorOf(path) >= floorOf(`control/${owner}/`)) return undefined
  return `${path} reads ${name}, which control/${owner} on a higher floor owns`
}

/** The uses of the schema in a source, each once. */
function usesOf(text, schema) {
  const uses = literalsOf(text).flatMap((literal) => usesIn(literal.text))
  return [
    ...new Map(uses.filter(({ name }) => schema.has(name)).map((use) => [`${use.use} ${use.name}`, use])).values(),
  ]
}

/**
 * Checks who uses which table.
 * @param {Map<string, string>} files sources of control by path in the project
 * @param {Set<string>} schema names of tables, views and functions
 * @param {{ owners: Record<string, string>, exceptions: { file: string, name: string, use: string, why: string }[] }} tables
 * @returns {string[]} a sentence per fault
 */
export function findTableFaults(files, schema, { owners, exceptions }) {
  const faults = []
  for (const name of schema) if (owners[name] === undefined) faults.push(`${name} has no owner in control/tables.json`)
  for (const [name, owner] of Object.entries(owners)) {
    if (!schema.has(name)) faults.push(`${name} of control/tables.json is not in the schema`)
    if (floorOf(`control/${owner}/`) < 0) faults.push(`${name} is owned by ${owner}, which is on no floor of control`)
  }
  const unused = new Set(exceptions)
  for (const [path, text] of files) {
    for (const use of usesOf(text, schema)) {
      const fault = owners[use.name] && faultOf(path, use, owners[use.name])
      if (!fault) continue
      const exception = exceptions.find(
        (one) => `control/${one.file}` === path && one.name === use.name && one.use === use.use,
      )
      if (exception === undefined) faults.push(fault)
      else unused.delete(exception)
    }
  }
  for (const { file, name } of unused) faults.push(`the exception of ${file} for ${name} is needed no more`)
  return faults
}

function readFolder(root, folder, ending) {
  const entries = readdirSync(join(root, folder), { recursive: true })
  const names = entries.filter((entry) => entry.endsWith(ending)).sort()
  return new Map(names.map((name) => [`${folder}/${name}`, readFileSync(join(root, folder, name), 'utf8')]))
}

if (process.argv[1]?.endsWith('tables.mjs')) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  const tables = JSON.parse(readFileSync(join(root, 'control/tables.json'), 'utf8'))
  const schema = namesOfSchema([...readFolder(root, SCHEMA, '.sql').values()])
  const faults = findTableFaults(readFolder(root, 'control', '.ts'), schema, tables)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exit(1)
}
