import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { Queryable } from '../../runtime/db/pool.ts'
import { HEADS_LOG } from '../usagelog/head.ts'
import { Tiles } from '../usagelog/inclusionProof.ts'
import { headLeaves, lastCheckpoint, lastHead } from './checkpointReads.ts'
import { checkpointText } from './checkpointText.ts'
import type { NoteKey } from './noteKey.ts'

// The files of a log as in https://c2sp.org/tlog-tiles.

const TILE = 256
const STEP = 8
/** `7/` before it for usage log 7, nothing for the log of heads. */
const CHECKPOINT = /^(\d|[1-5]\d|6[0-4])\/checkpoint$/
const HASHES = /^(?:(\d|[1-5]\d|6[0-4])\/)?tile\/([0-5])\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/**
 * Reads a file of the usage logs: tiles of hashes of all logs, and a checkpoint of each usage log by itself. Of each log
 * there is what was signed.
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
  const [, log, level, place = '', width] = HASHES.exec(path) ?? []
  if (level === undefined) return undefined
  const hashes = await tileHashes(db, {
    log: log === undefined ? HEADS_LOG : Number(log),
    level: Number(level),
    index: indexOf(place),
    // A full tile has no width in its name.
    width: width === undefined ? TILE : Number(width) < TILE ? Number(width) : Number.POSITIVE_INFINITY,
  })
  return hashes && { content: Buffer.concat(hashes), contentType: 'application/octet-stream', immutable: true }
}

/** Signed anew for each who asks, which always gives the same: there is one head of each size. */
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
  return tiles.hashes(level * STEP, index, width)
}

/** x001/x234/067 is 1234067. A number is written in one way alone. */
function indexOf(place: string): number {
  if (/^x000\//.test(place)) return Number.POSITIVE_INFINITY
  return Number(place.replaceAll(/[x/]/g, ''))
}
