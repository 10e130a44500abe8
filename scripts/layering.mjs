// The order of control's floors, the borders within the proxy, circles of folders, and that a unit test lies where its
// source does. Biome checks which part may import which part or package, and circles of files (biome.json).
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE_FOLDERS = ['contract', 'proxy', 'control', 'workers', 'verifier', 'console', 'mock', 'bench', 'test']
const IMPORT =
  /(?:^|\n)\s*(import|export)\s+(type\s)?[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s+['"]([^'"]+)['"]/g

/** The floors of control, the lowest first. */
export const FLOORS = [
  'runtime',
  'book',
  'chain',
  'evidence',
  'catalog',
  'admission',
  'api',
  'identity',
  'products/agents',
  'batch',
  'products/reserve',
  'products/holders',
  'products/payments',
  'products/locks',
  'products/marketplace',
  'products/settlements',
  'products/transfers',
  'records',
  'statistics',
  'audit',
  'service',
  'launch',
  'load',
  'cli',
]

/** The parts that products and operations are given; each takes the limits that it uses. */
const TAKE_ALL_LIMITS = ['control/api/product.ts', 'control/chain/chainParts.ts', 'proxy/endpoints/run/services.ts']

/** Rules on what a file may import. `to` is a path in the project, or a package's name. */
const RULES = [
  {
    why: 'a floor of control imports only those below it',
    breaks: (from, to) => floorOf(from) < floorOf(to),
  },
  {
    why: 'floors of control take their own limits and those of floors below; what composes them takes all',
    breaks: (from, to) =>
      to === 'control/limits.ts' && floorOf(from) < FLOORS.indexOf('service') && !TAKE_ALL_LIMITS.includes(from),
  },
  {
    why: 'rooms of proxy take their own limits and those of rooms below; what composes them takes all',
    breaks: (from, to) =>
      to === 'proxy/limits.ts' && folderOf(from, 'proxy') !== undefined && !TAKE_ALL_LIMITS.includes(from),
  },
  {
    why: 'the folders of proxy see proxy/server through exchange.ts and its limits alone',
    breaks: (from, to) =>
      folderOf(from, 'proxy') !== undefined &&
      !isIn(from, 'proxy/server') &&
      isIn(to, 'proxy/server') &&
      !['proxy/server/exchange.ts', 'proxy/server/limits.ts'].includes(to),
  },
  {
    why: 'nothing below imports proxy/endpoints',
    breaks: (from, to) =>
      folderOf(from, 'proxy') !== undefined && !isIn(from, 'proxy/endpoints') && isIn(to, 'proxy/endpoints'),
  },
  {
    why: 'Redis is reached through contract/wire/redis.ts alone',
    breaks: (from, to) => to === 'ioredis' && !isHarness(from) && !isIn(from, 'contract/wire'),
  },
  {
    why: 'a table of limits imports tables of limits alone',
    breaks: (from, to) => /^(proxy|control)\/.*limits\.ts$/.test(from) && !/^contract\/limits\/|\/limits\.ts$/.test(to),
  },
  {
    why: 'the console is built from its sources alone; only tests import it',
    breaks: (from, to) => isIn(to, 'console') && !isIn(from, 'console') && !isIn(from, 'test'),
  },
  {
    why: 'programs are started, not imported',
    breaks: (from, to) =>
      /^(proxy|control)\/(main|worker|cli)\.ts$/.test(to) && !isHarness(from) && !/^[^/]+\/[^/]+$/.test(from),
  },
]

function isIn(path, folder) {
  return path.startsWith(`${folder}/`)
}

function isHarness(path) {
  return isIn(path, 'test') || isIn(path, 'bench') || isIn(path, 'mock')
}

/** The floor of control that a file is on; NaN, which compares with nothing, for all other files. */
function floorOf(path) {
  if (folderOf(path, 'control') === undefined) return Number.NaN
  const place = FLOORS.findIndex((floor) => isIn(path, `control/${floor}`))
  return place < 0 ? Number.POSITIVE_INFINITY : place
}

/** The folder right below `part` that a file is in; undefined for files of `part` itself and of other parts. */
function folderOf(path, part) {
  const [first, second, ...rest] = path.split('/')
  return first === part && rest.length > 0 ? second : undefined
}

/** The imports of a file: paths in the project, or names of packages. */
function importsOf(path, text) {
  return [...text.matchAll(IMPORT)].map((match) => {
    const name = match[3] ?? match[4] ?? match[5]
    return name.startsWith('.') ? posix.normalize(posix.join(posix.dirname(path), name)) : packageOf(name)
  })
}

function packageOf(name) {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/')
}

/**
 * The arrows between folders.
 * @param placeOf the folder that a file counts for, if any
 */
function folderArrows(files, placeOf) {
  const arrows = new Map()
  for (const [path, text] of files) {
    const from = placeOf(path)
    if (from === undefined) continue
    for (const to of importsOf(path, text)) {
      const target = to === 'proxy/server/exchange.ts' ? undefined : placeOf(to)
      if (target !== undefined && target !== from) arrows.set(from, (arrows.get(from) ?? new Set()).add(target))
    }
  }
  return arrows
}

/**
 * The folder of a file of contract, proxy or control; undefined for files of other parts and of a part itself, and for tables
 * of limits, which import nothing but such tables.
 */
function innerFolder(path) {
  return path.endsWith('/limits.ts') ? undefined : folderBelow(path)
}

function folderOfTable(path) {
  return path.endsWith('/limits.ts') ? folderBelow(path) : undefined
}

function folderBelow(path) {
  const folder = posix.dirname(path)
  return /^(contract|proxy|control)\//.test(folder) ? folder : undefined
}

/**
 * The source that a unit test is named for, without its ending: a file, or the folder whose files it tests together. Where
 * one source has several tests, their subject follows its name: `routes.fuzz.test.ts`.
 */
function testedSource(path) {
  return /^test\/unit\/(.+?)(\.[^./]+)?\.test\.ts$/.exec(path)?.[1]
}

/** Circles of arrows, one for each arrow that closes one. */
function circles(arrows) {
  const found = []
  const done = new Set()
  const visit = (place, trail) => {
    if (trail.includes(place)) {
      found.push([...trail.slice(trail.indexOf(place)), place].join(' -> '))
      return
    }
    if (done.has(place)) return
    for (const target of arrows.get(place) ?? []) visit(target, [...trail, place])
    done.add(place)
  }
  for (const place of arrows.keys()) visit(place, [])
  return found
}

/**
 * Checks source files.
 * @param {Map<string, string>} files text by path in the project
 * @param {readonly string[]} scripts paths of sources that are not checked themselves
 * @returns {string[]} a sentence per fault
 */
export function findFaults(files, scripts = []) {
  const faults = []
  const names = [...files.keys(), ...scripts]
  for (const [path, text] of files) {
    for (const to of importsOf(path, text)) {
      for (const { why, breaks } of RULES) if (breaks(path, to)) faults.push(`${path} imports ${to}: ${why}`)
    }
    const tested = testedSource(path)
    if (tested !== undefined && !names.some((name) => name.replace(/\.(ts|mjs)$/, '') === tested || isIn(name, tested)))
      faults.push(`${path} is named for ${tested}, which is neither a source file nor a folder`)
  }
  for (const circle of circles(folderArrows(files, innerFolder)))
    faults.push(`folders import each other in a circle: ${circle}`)
  for (const circle of circles(folderArrows(files, folderOfTable)))
    faults.push(`tables of limits import each other in a circle: ${circle}`)
  return faults
}

function readSources(root) {
  const files = new Map()
  for (const folder of SOURCE_FOLDERS) {
    let entries = []
    try {
      entries = readdirSync(join(root, folder), { recursive: true })
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
    for (const entry of entries) {
      const path = posix.join(folder, entry.replaceAll('\\', '/'))
      if (/\.(tsx?|mjs)$/.test(path) && !/\/(generated|node_modules)\//.test(path))
        files.set(path, readFileSync(join(root, path), 'utf8'))
    }
  }
  return files
}

if (process.argv[1]?.endsWith('layering.mjs')) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  const scripts = readdirSync(join(root, 'scripts')).map((name) => `scripts/${name}`)
  const faults = findFaults(readSources(root), scripts)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exit(1)
}
