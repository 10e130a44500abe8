import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { Queryable } from '../../runtime/db/pool.ts'
import { HEADS_LOG } from '../usagelog/head.ts'
import { Tiles } from '../usagelog/inclusionProof.ts'
import { TILE, TILE_LEVELS } from '../usagelog/tile.ts'
import { lastCheckpoint, lastHead } from './checkpointReads.ts'
import { checkpointText } from './checkpointText.ts'
import { headEntries, headLeaves } from './headTiles.ts'
import type { NoteKey } from './noteKey.ts'

// The files of a log as in https://c2sp.org/tlog-tiles.

/** `7/` before it for usage log 7, nothing for the log of heads. */
const CHECKPOINT = /^(\d|[1-5]\d|6[0-4])\/checkpoint$/
const HASHES = /^(?:(\d|[1-5]\d|6[0-4])\/)?tile\/([0-5])\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/
/** Only of the log of heads: entries of the others may be listed only by their owners. */
const ENTRIES = /^tile\/entries\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/
const LENGTH_BYTES = 2

/**
 * Reads a file of the usage logs: tiles of hashes of all logs, the entries of the log of heads, and a checkpoint of each
 * usage log by itself. Only the signed part of each log is served.
 * @param path below the address of the logs, such as `7/checkpoint` or `7/tile/0/x001/234`
 * @param key undefined where nothing is signed
 * @returns undefined where there is no such file
 */
export async function logFile(
  db: Queryable,
  path: string,
  key: NoteKey | undefined,
): Promise<sluice.ILogFile | undefined> {
  const checkpoint = CHECKPOINT.exec(path)
  if (checkpoint !== null) return logCheckpoint(db, Number(checkpoint[1]), key)
  const [, bundle, bundleWidth] = ENTRIES.exec(path) ?? []
  if (bundle !== undefined) return entryBundle(db, indexOf(bundle), widthOf(bundleWidth))
  const [, log, level, place = '', width] = HASHES.exec(path) ?? []
  if (level === undefined) return undefined
  const hashes = await tileHashes(db, {
    log: log === undefined ? HEADS_LOG : Number(log),
    level: Number(level),
    index: indexOf(place),
    width: widthOf(width),
  })
  return hashes && tileFile(hashes)
}

const tileFile = (parts: readonly Buffer[]): sluice.ILogFile => ({
  content: Buffer.concat(parts),
  contentType: 'application/octet-stream',
  immutable: true,
})

/** A bundle of entries of the log of heads, each preceded by its length; undefined also where they are not kept any more. */
async function entryBundle(db: Queryable, index: number, width: number): Promise<sluice.ILogFile | undefined> {
  const [from, until] = [index * TILE, index * TILE + width]
  const size = (await lastCheckpoint(db))?.size ?? 0
  if (width > TILE || !Number.isSafeInteger(index) || until > size) return undefined
  const entries = await headEntries(db, from, until)
  if (entries.length !== width) return undefined
  const parts = entries.flatMap((entry) => {
    const [length, text] = [Buffer.alloc(LENGTH_BYTES), Buffer.from(entry, 'utf8')]
    length.writeUInt16BE(text.length)
    return [length, text]
  })
  return tileFile(parts)
}

/** Signed anew for each request, always with the same result: there is one head of each size. */
async function logCheckpoint(
  db: Queryable,
  log: number,
  key: NoteKey | undefined,
): Promise<sluice.ILogFile | undefined> {
  const head = await lastHead(db, log)
  if (head === undefined || key === undefined) return undefined
  const own = key.named(`${key.name}/${log}`)
  const note = own.sign(checkpointText(own.name, head))
  return { content: Buffer.from(note, 'utf8'), contentType: 'text/plain; charset=utf-8', immutable: false }
}

interface TilePlace {
  readonly log: number
  readonly level: number
  readonly index: number
  readonly width: number
}

async function tileHashes(db: Queryable, place: TilePlace): Promise<Buffer[] | undefined> {
  const { log, level, index, width } = place
  const signed = log === HEADS_LOG ? await lastCheckpoint(db) : await lastHead(db, log)
  const size = signed?.size ?? 0
  if (width > TILE || !Number.isSafeInteger(index) || (index * TILE + width) * TILE ** level > size) return undefined
  const tiles = log === HEADS_LOG ? new Tiles(db, log, size, headLeaves) : new Tiles(db, log, size)
  return tiles.hashes(level * TILE_LEVELS, index, width)
}

/** A full tile has no width in its name. */
function widthOf(width: string | undefined): number {
  if (width === undefined) return TILE
  return Number(width) < TILE ? Number(width) : Number.POSITIVE_INFINITY
}

/** x001/x234/067 is 1234067. A number is written in one way alone. */
function indexOf(place: string): number {
  if (/^x000\//.test(place)) return Number.POSITIVE_INFINITY
  return Number(place.replaceAll(/[x/]/g, ''))
}
