// The README.md of every room of control and proxy: each has one, of at most ten lines, that names the tables it owns.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LINES_MAX = 10
/** Folders whose folders are rooms. */
const HALLS = ['control', 'control/products', 'proxy']

/** The names of the schema that a text has as code. */
function namesIn(text, owners) {
  return [...text.matchAll(/`([a-z]\w*)`/g)].map((match) => match[1]).filter((name) => name in owners)
}

/** The names that a room owns; those of a product belong to the room of the product. */
function ownedBy(room, owners) {
  const folder = room.replace(/^control\//, '')
  return Object.keys(owners).filter((name) => owners[name] === folder || owners[name].startsWith(`${folder}/`))
}

/**
 * Checks the README.md of rooms.
 * @param {Map<string, string | undefined>} readmes by room, as `control/book`; undefined where there is none
 * @param {Record<string, string>} owners of tables, views and functions by name
 * @returns {string[]} a sentence per fault
 */
export function findRoomFaults(readmes, owners) {
  const faults = []
  for (const [room, text] of readmes) {
    if (text === undefined) {
      faults.push(`${room} has no README.md`)
      continue
    }
    if (text.trimEnd().split('\n').length > LINES_MAX) faults.push(`${room}/README.md has more than ${LINES_MAX} lines`)
    const named = new Set(namesIn(text, owners))
    const owned = new Set(room === 'control/products' ? [] : ownedBy(room, owners))
    for (const name of owned)
      if (!named.has(name)) faults.push(`${room}/README.md does not name ${name}, which it owns`)
    for (const name of named)
      if (!owned.has(name)) faults.push(`${room}/README.md names ${name}, which it does not own`)
  }
  return faults
}

function readRooms(root) {
  const rooms = HALLS.flatMap((hall) => {
    const folders = readdirSync(join(root, hall), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return folders.map(({ name }) => `${hall}/${name}`)
  })
  return new Map(
    rooms.map((room) => {
      const path = join(root, room, 'README.md')
      return [room, existsSync(path) ? readFileSync(path, 'utf8') : undefined]
    }),
  )
}

if (process.argv[1]?.endsWith('rooms.mjs')) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  const { owners } = JSON.parse(readFileSync(join(root, 'control/tables.json'), 'utf8'))
  const faults = findRoomFaults(readRooms(root), owners)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exit(1)
}
