// Goal: a journal that this installation did not write charges nothing and is not deleted. Method: forged journals beside
// the real folders, and a supervisor for which every call to Redis or control is a failure.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { newId } from '../../../../contract/wire/ids.ts'
import type { Redis } from '../../../../contract/wire/redis.ts'
import { BlockWriter } from '../../../../proxy/admission/journal/block.ts'
import { sealingKey } from '../../../../proxy/admission/journal/journalKeys.ts'
import { noteProcessSpace } from '../../../../proxy/admission/journal/processSpace.ts'
import { endingText, leaseText } from '../../../../proxy/admission/journal/records.ts'
import { JournalReplays } from '../../../../proxy/supervisor/journalReplays.ts'
import { limitsWith } from '../../../support/limits.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
/** No process has it. */
const DEAD_PID = 99_999_999
const BUS_KEY = Buffer.alloc(32, 1)
const STRANGE_KEY = Buffer.alloc(32, 2)
const SEGMENT = '00000001.journal'

let dir: string
let logged: { event?: string; level: number; unread?: string[]; folders?: string[] }[]
beforeEach(() => {
  dir = makeTempDir('replays')
  logged = []
  for (const folder of [disk(), memory()]) mkdirSync(folder, { mode: 0o700 })
})
afterEach(() => removeTempDir(dir))

const disk = (): string => join(dir, 'journal')
const memory = (): string => join(dir, 'memory')

/** Looks once at all journals. @param answers the calls that Redis answers @returns the calls that were tried */
async function look(answers: Partial<Redis> = {}): Promise<string[]> {
  const calls: string[] = []
  await newReplays(calls, answers).finish(60_000)
  return calls
}

function newReplays(calls: string[], answers: Partial<Redis> = {}, replayScanMs = 1_000): JournalReplays {
  const redis = new Proxy({} as Redis, {
    get: (_, name) => {
      if (name in answers) return Reflect.get(answers, name) as unknown
      calls.push(String(name))
      throw new Error('nothing of it may get to Redis')
    },
  })
  const call = (): never => {
    calls.push('call')
    throw new Error('nothing of it may get to control')
  }
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const config = { journalFolder: disk(), journalMemoryFolder: memory(), busKeys: [BUS_KEY] }
  const living = (): ReadonlySet<string> => new Set()
  return new JournalReplays({ config, redis, rpc: { call }, limits: limitsWith({ replayScanMs }), log, living })
}

function forge(folder: string, owner: string, busKey: Buffer): void {
  const lease = leaseText({ shard: 1, field: 'L:key_b:5', accountId: 'acct_b', keys: 'key_b' })
  const ending = { requestId: newId('req'), seq: 1, voided: false, heldAtMs: 1, split: 'coin=9', settlement: 'any' }
  const writer = new BlockWriter(1, sealingKey([busKey], owner))
  writer.add(endingText(lease, ending))
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(folder, SEGMENT), writer.seal(), { mode: 0o600 })
}

interface Case {
  readonly name: string
  readonly reason: RegExp
  readonly make: (path: string, owner: string) => void
  readonly asRoot?: true
}

const CASES: readonly Case[] = [
  {
    name: 'sealed with another key',
    reason: /00000001\.journal was not written with a key of SLUICE_BUS_KEY$/,
    make: (path, owner) => forge(path, owner, STRANGE_KEY),
  },
  {
    name: 'copied from another owner',
    reason: /was not written with a key/,
    make: (path) => forge(path, newId('own'), BUS_KEY),
  },
  {
    name: 'in a folder that others reach',
    reason: /has the mode 0755 instead of 0700$/,
    make: (path, owner) => {
      forge(path, owner, BUS_KEY)
      chmodSync(path, 0o755)
    },
  },
  {
    name: 'behind a link',
    reason: /is a symbolic link$/,
    make: (path, owner) => {
      forge(join(dir, 'else'), owner, BUS_KEY)
      symlinkSync(join(dir, 'else'), path)
    },
  },
  {
    name: 'with a link as its segment',
    reason: /00000001\.journal is a symbolic link$/,
    make: (path, owner) => {
      forge(join(dir, 'else'), owner, BUS_KEY)
      mkdirSync(path, { mode: 0o700 })
      symlinkSync(join(dir, 'else', SEGMENT), join(path, SEGMENT))
    },
  },
  {
    name: 'in a folder of another user',
    reason: /belongs to the user with the id 65534$/,
    asRoot: true,
    make: (path, owner) => {
      forge(path, owner, BUS_KEY)
      chownSync(path, NOBODY, NOBODY)
    },
  },
  {
    name: 'with a file of another user',
    reason: /00000001\.journal is no file of this user$/,
    asRoot: true,
    make: (path, owner) => {
      forge(path, owner, BUS_KEY)
      chownSync(join(path, SEGMENT), NOBODY, NOBODY)
    },
  },
]

for (const { name, reason, make, asRoot } of CASES) {
  test(`a journal ${name} is set aside, and charges nothing`, { skip: asRoot === true && !isRoot }, async () => {
    for (const folder of [memory(), disk()]) {
      const owner = newId('own')
      make(join(folder, `${owner}.${DEAD_PID}`), owner)
      assert.deepEqual(await look(), [])
      const kept = `${owner}.${process.pid}.unread`
      assert.deepEqual(readdirSync(folder), [kept])
      const [line, ...more] = logged.splice(0)
      assert.deepEqual(
        [line?.event, line?.level, line?.folders, more],
        ['journal_unreadable', 50, [join(folder, kept)], []],
      )
      assert.match(line?.unread?.[0] ?? '', reason)
      // It is not looked at again.
      assert.deepEqual([await look(), logged], [[], []])
      if (existsSync(join(dir, 'else'))) assert.deepEqual(readdirSync(join(dir, 'else')), [SEGMENT])
      removeTempDir(join(dir, 'else'))
    }
  })
}

test('a process that is not seen from here keeps its journal while its heartbeat is fresh', async () => {
  const owner = newId('own')
  const path = join(disk(), `${owner}.${DEAD_PID}`)
  forge(path, owner, BUS_KEY)
  writeFileSync(join(path, 'process-space'), 'of another container', { mode: 0o600 })
  const { heartbeatTimeoutMs } = limitsWith({})
  const nowMs = 1_000_000
  const heard = (beatAtMs: number | null): Partial<Redis> => ({
    zscore: () => Promise.resolve(beatAtMs === null ? null : String(beatAtMs)),
    time: () => Promise.resolve([nowMs / 1_000, 0]),
  })
  for (const beatAtMs of [nowMs, nowMs - heartbeatTimeoutMs, null]) {
    await look(heard(beatAtMs))
    assert.deepEqual(readdirSync(disk()), [`${owner}.${DEAD_PID}`])
  }
  await look(heard(nowMs - heartbeatTimeoutMs - 1))
  assert.deepEqual(readdirSync(disk()), [`${owner}.${process.pid}`])
})

test('the journal of a dead process that would be seen from here is taken over immediately', async () => {
  for (const isNoted of [true, false]) {
    const owner = newId('own')
    const path = join(disk(), `${owner}.${DEAD_PID}`)
    forge(path, owner, BUS_KEY)
    if (isNoted) await noteProcessSpace(path)
    await look()
    assert.ok(readdirSync(disk()).includes(`${owner}.${process.pid}`))
  }
})

test('the end does not wait for the interval after a scan that is under way', async () => {
  for (const isAsked of [false, true]) {
    const replays = newReplays([], {}, 3_600_000)
    replays.start()
    if (isAsked) replays.lookNow()
    const startedMs = performance.now()
    await replays.finish(120_000)
    assert.ok(performance.now() - startedMs < 60_000)
  }
})

test('folders that have no name of an owner stay as they are', async () => {
  const names = ['backup.1', 'photos.2024', 'own_1.1', `${newId('own')}.0`, `${newId('key')}.${DEAD_PID}`]
  for (const name of names) mkdirSync(join(disk(), name))
  assert.deepEqual(await look(), [])
  assert.deepEqual(readdirSync(disk()), names.sort())
  assert.deepEqual(logged, [])
})

test('nothing is read in a folder of all journals that others reach', async () => {
  forge(join(disk(), `${newId('own')}.${DEAD_PID}`), newId('own'), BUS_KEY)
  chmodSync(disk(), 0o777)
  const names = readdirSync(disk())
  assert.deepEqual(await look(), [])
  assert.deepEqual(readdirSync(disk()), names)
  assert.deepEqual([...new Set(logged.map(({ event }) => event))], ['journal_replay_failed'])
})
