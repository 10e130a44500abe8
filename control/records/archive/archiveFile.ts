import { createHash, type Hash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { LOG_COUNT } from '../../book/usagelog/head.ts'
import type { Pool } from '../../runtime/db/pool.ts'
import type { RecordsLimits } from '../limits.ts'
import { ArchiveError } from './archiveError.ts'
import { identifier, type KeptMonth } from './refusals.ts'

/** Names the layout of the files; a changed one gets another name. */
const FORMAT = 'sluice-receipts/1'

/** The part of one usage log that a month has. */
export interface LogPart {
  readonly log: number
  receipts: number
  /** Positions of its first and last receipt. Others between them may be of other months. */
  readonly first: number
  last: number
}

/** The contents of an archive; a file next to it. */
export interface Manifest {
  readonly format: string
  readonly month: string
  /** Ids are from the first up to but without the last. */
  readonly from_id: string
  readonly until_id: string
  readonly file: string
  /** Of the compressed file, in hex. */
  readonly sha256: string
  readonly receipts: number
  readonly charge_units: number
  readonly logs: readonly LogPart[]
}

interface Line {
  readonly position: number
  readonly chargeUnits: number
  readonly line: string
}

/**
 * Writes a month as compressed NDJSON, a receipt a line in the order of the logs and positions, and its manifest. Memory does
 * not grow with the month. Existing files of these names are replaced once the new files are complete.
 * @param dir created if missing
 */
export async function writeArchive(pool: Pool, kept: KeptMonth, dir: string, limits: RecordsLimits): Promise<Manifest> {
  await mkdir(dir, { recursive: true })
  const file = `receipts-${kept.month}.ndjson.gz`
  const logs: LogPart[] = []
  let chargeUnits = 0
  const lines = async function* (): AsyncGenerator<string> {
    for (let log = 0; log < LOG_COUNT; log++) {
      for await (const page of pagesOf(pool, kept, log, limits)) {
        for (const { position, chargeUnits: units } of page) {
          count(logs, log, position)
          chargeUnits += units
        }
        yield page.map(({ line }) => `${line}\n`).join('')
      }
    }
  }
  const hash = createHash('sha256')
  const path = join(dir, file)
  await pipeline(Readable.from(lines()), createGzip(), hashing(hash), createWriteStream(`${path}.part`))
  await sync(`${path}.part`)
  await rename(`${path}.part`, path)
  const manifest = {
    format: FORMAT,
    month: kept.month,
    from_id: kept.fromId,
    until_id: kept.untilId,
    file,
    sha256: hash.digest('hex'),
    receipts: logs.reduce((sum, { receipts }) => sum + receipts, 0),
    charge_units: chargeUnits,
    logs,
  }
  await writeFile(manifestPath(path), `${JSON.stringify(manifest, undefined, 2)}\n`)
  await sync(manifestPath(path))
  await sync(dir)
  return manifest
}

function count(logs: LogPart[], log: number, position: number): void {
  const part = logs.at(-1)
  if (part?.log !== log) logs.push({ log, receipts: 1, first: position, last: position })
  else {
    part.receipts++
    part.last = position
  }
}

async function* pagesOf(
  pool: Pool,
  { partition }: KeptMonth,
  log: number,
  limits: RecordsLimits,
): AsyncGenerator<Line[]> {
  for (let last = -1; ; ) {
    const found = await pool.query<Line>(
      `SELECT position, charge_units AS "chargeUnits", (to_jsonb(r) || jsonb_build_object('leaf_hash', encode(leaf_hash, 'hex'),
         'booked_at', to_char(booked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))::text AS line
       FROM ${identifier(partition)} r WHERE log = $1 AND position > $2 ORDER BY position LIMIT $3`,
      [log, last, limits.archivePageMax],
    )
    if (found.rows.length === 0) return
    yield found.rows
    last = found.rows.at(-1)?.position ?? last
  }
}

/** The manifest of the archive at a path. @throws ArchiveError if it is invalid */
export async function readManifest(path: string): Promise<Manifest> {
  const text = await readFile(manifestPath(path), 'utf8').catch((error: Error) => {
    throw new ArchiveError(`the manifest of ${path} cannot be read: ${error.message}`)
  })
  const manifest = JSON.parse(text) as Manifest
  if (manifest.format !== FORMAT) throw new ArchiveError(`${path} has the format ${manifest.format}, not ${FORMAT}`)
  return manifest
}

/** The lines of an archive. @throws ArchiveError, at the latest after the last line, if the file does not match the manifest */
export async function* readLines(path: string, { sha256 }: Manifest): AsyncGenerator<string> {
  const hash = createHash('sha256')
  const plain = createGunzip().setEncoding('utf8')
  const read = pipeline(createReadStream(path), hashing(hash), plain, { end: true })
  // An error of the pipeline is also thrown below, where the stream is read.
  read.catch(() => {})
  let rest = ''
  try {
    for await (const chunk of plain) {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    throw new ArchiveError(`${path} cannot be read: ${(error as Error).message}`)
  }
  if (rest !== '' || hash.digest('hex') !== sha256) {
    throw new ArchiveError(`${path} has another SHA-256 than its manifest says`)
  }
}

function manifestPath(path: string): string {
  return path.replace(/\.ndjson\.gz$/, '.json')
}

function hashing(hash: Hash): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk)
      done(null, chunk)
    },
  })
}

/** Flushes the file to disk (fsync), since the rows are dropped afterwards. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
