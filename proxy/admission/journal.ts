import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Limits } from '../limits.ts'
import type { Ending } from './ending.ts'
import { processLives } from './processLives.ts'
import { settlementBytes, settlementOf } from './settlementText.ts'

const NAME = /^settlements-([0-9]+)-([0-9]+)\.jsonl$/

/** A file of endings that belongs to this process until it removes it. */
export interface JournalSegment {
  readonly path: string
  readonly endings: readonly Ending[]
}

/**
 * Endings on disk, for outages of Redis that outlast the memory set aside for them and for what is left when the
 * process stops. A folder is shared by the workers of a machine: each writes segments named by its process id and takes
 * over those of processes that no longer live. A segment with its own process id that it did not write is left from an
 * earlier process of the same number, and its own as well.
 */
export class Journal {
  private readonly folder: string
  private readonly limits: Limits
  private readonly onFault: (error: unknown) => void
  private file: number | undefined
  private path = ''
  private entries = 0
  /** Numbers go on from the time of the start, so that an earlier process with this id left none of them. */
  private segment = Date.now()
  /** Bytes of each segment that this process wrote or took over, by path. */
  private readonly sizes = new Map<string, number>()
  private bytes = 0
  /** Segments that cannot be read or removed; they are left to the operator. */
  private readonly faulty = new Set<string>()

  constructor(folder: string, limits: Limits, onFault: (error: unknown) => void) {
    this.folder = folder
    this.limits = limits
    this.onFault = onFault
  }

  /** This process has endings on disk. */
  get written(): boolean {
    return this.bytes > 0
  }

  /** Writes an ending down. Past the bound on the journal's size the ending is lost, and said to be. */
  append(ending: Ending): void {
    const line = `${JSON.stringify({ ...ending, settlement: settlementBytes(ending.settlement).toString('base64') })}\n`
    if (this.bytes + line.length > this.limits.settleJournalBytesMax) {
      this.onFault(new Error(`the settlement journal is full; the ending of ${ending.requestId} is lost: ${line}`))
      return
    }
    try {
      this.file ??= this.openSegment()
      appendFileSync(this.file, line)
      this.count(this.path, line.length)
      this.entries++
      if (this.entries >= this.limits.settleQueueMax) this.close()
    } catch (error) {
      // Part of the line may be there, behind which no other can be read.
      this.close()
      this.onFault(new Error(`cannot write the settlement journal; lost: ${line}`, { cause: error }))
    }
  }

  /** Takes over a segment, which stays on disk until `remove`; undefined when there is none. It never throws. */
  claim(): JournalSegment | undefined {
    this.close()
    for (const name of this.segments()) {
      const path = this.takeOver(name)
      const text = path === undefined ? undefined : this.read(path)
      if (path === undefined || text === undefined) continue
      if (!this.sizes.has(path)) this.count(path, text.length)
      return { path, endings: text.split('\n').flatMap((line) => this.parse(line)) }
    }
    return undefined
  }

  /** Every ending of the segment is accepted. */
  remove(segment: JournalSegment): void {
    try {
      unlinkSync(segment.path)
    } catch (error) {
      this.faulty.add(segment.path)
      this.onFault(new Error(`cannot remove ${segment.path} from the settlement journal`, { cause: error }))
    }
    this.bytes -= this.sizes.get(segment.path) ?? 0
    this.sizes.delete(segment.path)
  }

  close(): void {
    if (this.file !== undefined) closeSync(this.file)
    this.file = undefined
    this.entries = 0
  }

  private count(path: string, bytes: number): void {
    this.sizes.set(path, (this.sizes.get(path) ?? 0) + bytes)
    this.bytes += bytes
  }

  private openSegment(): number {
    mkdirSync(this.folder, { recursive: true })
    this.path = this.freePath()
    return openSync(this.path, 'ax')
  }

  private freePath(): string {
    for (;;) {
      const path = join(this.folder, `settlements-${process.pid}-${this.segment++}.jsonl`)
      if (!existsSync(path)) return path
    }
  }

  private segments(): string[] {
    let names: string[]
    try {
      names = readdirSync(this.folder)
    } catch {
      return []
    }
    return names.filter((name) => {
      const match = NAME.exec(name)
      if (match === null || this.faulty.has(join(this.folder, name))) return false
      return Number(match[1]) === process.pid || !processLives(Number(match[1]))
    })
  }

  // Of two workers that reach for a dead one's segment, the one whose rename comes first has it.
  private takeOver(name: string): string | undefined {
    const path = join(this.folder, name)
    if (NAME.exec(name)?.[1] === String(process.pid)) return path
    const own = this.freePath()
    try {
      renameSync(path, own)
      return own
    } catch (error) {
      this.unusable(path, error)
      return undefined
    }
  }

  private read(path: string): string | undefined {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      this.unusable(path, error)
      return undefined
    }
  }

  private unusable(path: string, error: unknown): void {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return
    this.faulty.add(path)
    this.onFault(new Error(`cannot take ${path} of the settlement journal`, { cause: error }))
  }

  // A line that was cut by a crash cannot be used; it is reported with its text.
  private parse(line: string): Ending[] {
    if (line === '') return []
    try {
      const entry = JSON.parse(line) as Ending
      return [{ ...entry, settlement: settlementOf(Buffer.from(entry.settlement, 'base64')) }]
    } catch (error) {
      this.onFault(new Error(`unreadable line in the settlement journal: ${line}`, { cause: error }))
      return []
    }
  }
}
