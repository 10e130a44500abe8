import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Journal, type JournalOptions } from '../../../../../proxy/admission/journal/journal.ts'
import type { JournalListener } from '../../../../../proxy/admission/journal/listener.ts'
import { type ReadJournal, readJournal as readWith } from '../../../../../proxy/admission/journal/readJournal.ts'
import { endingText, leaseText, openingText } from '../../../../../proxy/admission/journal/records.ts'
import { type DiskFile, DiskSegment } from '../../../../../proxy/admission/journal/segmentFile.ts'
import { limitsWith } from '../../../../support/limits.ts'
import { until } from '../../../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../../../support/tempDir.ts'

const KEY = Buffer.alloc(32, 1)
const readJournal = (folders: readonly string[]): Promise<ReadJournal> => readWith(folders, [KEY])
const LEASE = leaseText({ shard: 1, field: 'L:key_1:5', accountId: 'acc', keys: 'key_1' })

let tempDir: string
let folder: string
let journal: Journal
let faults: unknown[]

beforeEach(() => {
  tempDir = makeTempDir('journal')
  // That of all journals is closed to other users.
  folder = join(tempDir, 'data')
  mkdirSync(folder, { mode: 0o700 })
  faults = []
})
afterEach(async () => {
  await journal.stop()
  removeTempDir(tempDir)
})

class Told implements JournalListener {
  readonly news: string[] = []
  onWritten(): void {
    this.news.push('written')
  }
  onUnwritten(): void {
    this.news.push('unwritten')
  }
  onCrashed(error: unknown): void {
    throw error
  }
}

const memory = (): string => join(folder, 'memory')
const disk = (): string => join(folder, 'disk')
const files = (path: string): string[] => (existsSync(path) ? readdirSync(path) : [])

function open(options: Partial<JournalOptions> = {}, changes = {}): void {
  const limits = limitsWith({ journalRetryMs: 10, journalMemoryWriteMs: 60_000, ...changes })
  const onFault = (error: unknown): void => void faults.push(error)
  journal = new Journal({
    memoryFolder: memory(),
    diskFolder: disk(),
    key: KEY,
    sync: false,
    limits,
    onFault,
    ...options,
  })
}

const opening = (requestId: string): string => openingText(LEASE, requestId, 'coin=5', 1, 'm,chat,1,0')
const ending = (requestId: string, seq: number): string =>
  endingText(LEASE, { requestId, seq, voided: false, heldAtMs: 1, split: 'coin=5', settlement: 'settlement' })

/** A disk whose writes wait until it is let go. */
class SlowDisk {
  private readonly waiting: (() => void)[] = []
  isHeld = true
  readonly create = async (path: string, number: number): Promise<DiskFile> => {
    const file = await DiskSegment.create(path, number)
    const held = () => (this.isHeld ? new Promise<void>((resolve) => this.waiting.push(resolve)) : Promise.resolve())
    return {
      write: (bytes) => held().then(() => file.write(bytes)),
      sync: () => file.sync(),
      close: () => file.close(),
      remove: () => file.remove(),
    }
  }
  release(): void {
    this.isHeld = false
    for (const resolve of this.waiting.splice(0)) resolve()
  }
}

test('a record in memory is acknowledged in the turn that wrote it, and is on disk soon after', async () => {
  open()
  const told = new Told()
  journal.append(opening('req_1'), told)
  journal.append(ending('req_1', 1), told)
  journal.append(opening('req_2'), told)
  assert.deepEqual(told.news, [])
  await turn()
  assert.deepEqual(told.news, ['written', 'written', 'written'])
  const { open: left, endings } = await readJournal([memory()])
  assert.deepEqual([left.map(({ requestId }) => requestId), endings.get(1)?.length], [['req_2'], 1])
  await until('the disk has it', async () => (await readJournal([disk()])).open.length === 1)
  assert.deepEqual(await readJournal([disk()]), await readJournal([memory(), disk()]))
  assert.deepEqual(faults, [])
})

test('a slow disk delays no request; if it lags too far, no requests are opened', async () => {
  const slow = new SlowDisk()
  open({ createDisk: slow.create }, { journalLagBytesMax: 2_000 })
  for (let i = 0; i < 20; i++) {
    const told = new Told()
    journal.append(ending('x'.repeat(100), i + 1), told)
    await turn()
    assert.deepEqual(told.news, ['written'], `turn ${i}`)
  }
  assert.equal(journal.accepts, false)
  slow.release()
  await until('the disk has caught up', () => journal.accepts)
  assert.equal((await readJournal([disk()])).endings.get(1)?.length, 20)
})

test('a failing disk closes the journal to new requests, and gets all records once it works', async () => {
  writeFileSync(disk(), 'a file in place of the folder')
  open()
  const told = new Told()
  journal.append(opening('req_1'), told)
  await until('the fault is noticed', () => !journal.accepts)
  assert.deepEqual(told.news, ['written'])
  journal.append(ending('req_2', 1), told)
  await turn()
  assert.equal(told.news.length, 2)
  rmSync(disk())
  await until('the disk is used again, and has everything', () => journal.accepts && journal.lagBytes === 0)
  const content = await readJournal([disk()])
  assert.deepEqual([content.open.length, content.endings.get(1)?.length], [1, 1])
  assert.equal(faults.length, 1)
})

test('a failed disk write is reported to all waiting callers, also in the next segment', async () => {
  open({ memoryFolder: null, createDisk: () => Promise.reject(new Error('no space')) }, { journalSegmentBytes: 1 })
  for (let seq = 1; seq <= 3; seq++) {
    const told = new Told()
    journal.append(ending(`req_${seq}`, seq), told)
    await until('it is refused', () => told.news.length > 0)
    assert.deepEqual(told.news, ['unwritten'])
  }
})

test('a disk that keeps failing does not get a new file for each attempt', async () => {
  let tries = 0
  const createDisk = async (path: string, number: number): Promise<DiskFile> => {
    const file = await DiskSegment.create(path, number)
    const write = (bytes: Buffer): Promise<void> => {
      if (++tries < 5) return file.write(bytes.subarray(1)).then(() => Promise.reject(new Error('no space')))
      return file.write(bytes)
    }
    return { write, sync: () => file.sync(), close: () => file.close(), remove: () => file.remove() }
  }
  open({ createDisk })
  journal.append(ending('req_1', 1), new Told())
  await until('the disk has it', async () => (await readJournal([disk()])).endings.size > 0)
  assert.deepEqual([tries, files(disk()).length], [5, 1])
})

test('a slow in-memory file system is no longer used after one write', async () => {
  open({}, { journalMemoryWriteMs: -1, journalSegmentBytes: 1 })
  for (let seq = 1; seq <= 3; seq++) {
    const told = new Told()
    journal.append(ending(`req_${seq}`, seq), told)
    await until('it is written', () => told.news.length > 0)
    assert.deepEqual(told.news, ['written'])
  }
  assert.equal(faults.length, 1)
  assert.match(String(faults[0]), /took \d+ ms; requests wait for the disk instead/)
  assert.equal((await readJournal([disk()])).endings.get(1)?.length, 3)
})

test('without an in-memory file system the caller waits for the disk, and its failure is reported', async () => {
  mkdirSync(disk(), { mode: 0o700 })
  const slow = new SlowDisk()
  open({ memoryFolder: null, createDisk: slow.create })
  const told = new Told()
  journal.append(opening('req_1'), told)
  await turn()
  assert.deepEqual(told.news, [])
  slow.release()
  await until('it is written', () => told.news.length > 0)
  assert.deepEqual(told.news, ['written'])
  await journal.stop()
  open({ memoryFolder: null, createDisk: () => Promise.reject(new Error('no space')) })
  const refused = new Told()
  journal.append(opening('req_2'), refused)
  await until('it is refused', () => refused.news.length > 0)
  assert.deepEqual(refused.news, ['unwritten'])
})

test('with syncing, callers are notified after the fsync', async () => {
  const steps: string[] = []
  const createDisk = async (path: string, number: number): Promise<DiskFile> => {
    const file = await DiskSegment.create(path, number)
    return {
      write: (bytes) => file.write(bytes).then(() => void steps.push('write')),
      sync: () => file.sync().then(() => void steps.push('sync')),
      close: () => file.close(),
      remove: () => file.remove(),
    }
  }
  open({ sync: true, createDisk })
  const told: JournalListener = { onWritten: () => void steps.push('told'), onUnwritten() {}, onCrashed() {} }
  journal.append(opening('req_1'), told)
  await until('it is told', () => steps.includes('told'))
  assert.deepEqual(steps, ['write', 'sync', 'told'])
})

test('if memory cannot be written, the journal waits for the disk', async () => {
  writeFileSync(memory(), 'a file in place of the folder')
  open()
  const told = new Told()
  journal.append(opening('req_1'), told)
  await until('it is written', () => told.news.length > 0)
  assert.deepEqual(told.news, ['written'])
  assert.equal((await readJournal([disk()])).open.length, 1)
})

test('a segment is deleted once it is fully booked and none of its requests is open', async () => {
  open({}, { journalSegmentBytes: 100 })
  const told = new Told()
  const first = journal.append(opening('req_1'), told)
  first.openCount++
  journal.append(ending('req_0', 1), told).noteEnding(1, 1)
  await turn()
  const second = journal.append(ending('x'.repeat(200), 2), told)
  second.noteEnding(1, 2)
  await turn()
  journal.append(opening('req_3'), told)
  await turn()
  assert.equal(journal.segmentCount, 3)
  await until('all is on disk', () => files(memory()).length === 1 && files(disk()).length === 3)
  journal.trim(new Map([[1, 1]]))
  assert.equal(journal.segmentCount, 3, 'a request of the first is open, and the second is not booked')
  journal.trim(new Map([[1, 2]]))
  assert.equal(journal.segmentCount, 2)
  first.openCount--
  journal.trim(new Map([[1, 2]]))
  assert.equal(journal.segmentCount, 1)
  await until('their files are gone', () => files(disk()).length === 1)
})

test('a full journal opens no requests', async () => {
  open({}, { journalBytesMax: 500 })
  journal.append(ending('x'.repeat(600), 1), new Told())
  await turn()
  assert.equal(journal.accepts, false)
})
