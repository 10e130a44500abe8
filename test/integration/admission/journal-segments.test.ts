// Goal: an ending that is on disk stays there until Redis has accepted it, whoever takes it over. Method: journals in a
// folder with segments of processes that are gone.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Journal } from '../../../proxy/admission/journal.ts'
import { limits } from '../../support/limits.ts'
import { allSettled, endingOf, settlementsOver } from '../../support/parts/settlements.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

let folder: string
beforeEach((t) => {
  folder = makeTempDir('journal')
  Reflect.apply(Reflect.get(t, 'after'), t, [() => removeTempDir(folder)])
})

const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid

function leaveSegment(pid: number, number: number, ...requestIds: string[]): string {
  const name = `settlements-${pid}-${number}.jsonl`
  const lines = requestIds.map((id) => `${JSON.stringify({ ...endingOf(id), settlement: '' })}\n`)
  writeFileSync(join(folder, name), lines.join(''))
  return name
}

test('a new process sends every segment that dead ones left, and those of an earlier one with its own id', async () => {
  for (let i = 0; i < 3; i++) leaveSegment(deadPid(), 1, `req_dead_${i}`)
  leaveSegment(process.pid, 1, 'req_own')
  const alive = leaveSegment(process.ppid, 1, 'req_alive')
  const sent: string[] = []
  const { settlements } = settlementsOver(folder, (ids) => {
    sent.push(...ids)
    return allSettled(ids)
  })
  settlements.replayJournal()
  await until('all are sent', () => sent.length === 4 && settlements.allAccepted)
  assert.deepEqual(sent.sort(), ['req_dead_0', 'req_dead_1', 'req_dead_2', 'req_own'])
  assert.deepEqual(readdirSync(folder), [alive])
})

test('a segment is removed only after the last of its endings is accepted', async () => {
  leaveSegment(deadPid(), 1, 'req_a', 'req_b')
  let up = false
  const { settlements } = settlementsOver(folder, (ids) => {
    if (!up) throw new Error('Redis is not there')
    return allSettled(ids)
  })
  settlements.replayJournal()
  await sleep(100)
  assert.equal(readdirSync(folder).length, 1)
  await settlements.stop(50)
  assert.equal(readdirSync(folder).length, 1, 'the endings are still there once, not twice')
  up = true
  const next = settlementsOver(folder, (ids) => (up ? allSettled(ids) : []))
  next.settlements.replayJournal()
  await until('the segment is gone', () => readdirSync(folder).length === 0)
})

test('of two that reach for one segment each ending goes to one of them', () => {
  for (let i = 0; i < 5; i++) leaveSegment(deadPid(), i, `req_${i}`)
  const faults: unknown[] = []
  const journals = [1, 2].map(() => new Journal(folder, limits, (error) => faults.push(error)))
  // One lists the folder before the other empties it, as two workers that start at the same time may.
  const [first, second] = journals
  const names = readdirSync(folder)
  Reflect.set(second ?? {}, 'segments', () => names)
  const taken: string[] = []
  for (let segment = first?.claim(); segment !== undefined; segment = first?.claim()) {
    taken.push(...segment.endings.map(({ requestId }) => requestId))
    first?.remove(segment)
  }
  assert.equal(second?.claim(), undefined)
  assert.deepEqual(taken.sort(), ['req_0', 'req_1', 'req_2', 'req_3', 'req_4'])
  assert.deepEqual(faults, [])
})

test('a folder that cannot be used is reported and never thrown', async () => {
  writeFileSync(join(folder, 'file'), '')
  const { settlements, faults, end } = settlementsOver(join(folder, 'file'), () => new Promise(() => {}))
  settlements.replayJournal()
  end(endingOf('req_x'))
  await sleep(20)
  await settlements.stop(20)
  assert.equal(faults.length, 1)
  assert.match(String(faults[0]), /cannot write the settlement journal; lost: .*req_x/)
})

test('a disk that is full in the middle of an ending: that one is said to be lost, the next ones are not', () => {
  const journalUrl = new URL('../../../proxy/admission/journal.js', import.meta.url)
  const limitsUrl = new URL('../../support/limits.js', import.meta.url)
  const endings = ['req_first', 'req_cut', 'req_next'].map((id) => ({ ...endingOf(id), settlement: '' }))
  const script = `
    process.on('SIGXFSZ', () => {})
    const { Journal } = await import(${JSON.stringify(journalUrl.href)})
    const { limits } = await import(${JSON.stringify(limitsUrl.href)})
    const journal = new Journal(process.env.FOLDER, limits, (error) => console.log(error.message))
    const settlement = Buffer.alloc(1_500)
    for (const ending of ${JSON.stringify(endings)}) journal.append({ ...ending, settlement })
    journal.close()`
  // No file may grow beyond 3 KiB there: the second ending begins below that and ends above.
  const child = spawnSync(
    'bash',
    ['-c', 'ulimit -f 3; exec "$0" --input-type=module -e "$1"', process.execPath, script],
    {
      env: { ...process.env, FOLDER: folder },
      encoding: 'utf8',
    },
  )
  assert.equal(child.status, 0, child.stderr)
  assert.match(child.stdout, /^cannot write the settlement journal; lost: .*req_cut/)
  const journal = new Journal(folder, limits, () => {})
  const read: string[] = []
  for (let segment = journal.claim(); segment !== undefined; segment = journal.claim()) {
    read.push(...segment.endings.map(({ requestId }) => requestId))
    journal.remove(segment)
  }
  assert.deepEqual(read, ['req_first', 'req_next'])
})
