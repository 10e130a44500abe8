import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import test from 'node:test'
import { beforeDeadline } from '../../../../control/runtime/beforeDeadline.ts'

const LONG_MS = 60_000
const never = new Promise<string>(() => {})

test('work in time resolves or rejects with its own result', async () => {
  assert.equal(await beforeDeadline(Promise.resolve('done'), LONG_MS, assert.fail), 'done')
  await assert.rejects(beforeDeadline(Promise.reject(new Error('broken')), LONG_MS, assert.fail), /broken/)
})

test('late work is ignored: onLate returns in its place, or throws', async () => {
  assert.equal(await beforeDeadline(never, 1, () => 'late'), 'late')
  const late = () => {
    throw new Error('too late')
  }
  await assert.rejects(beforeDeadline(never, 1, late), /too late/)
})

test('a rejection after the deadline is not unhandled', async () => {
  let reject = (_error: Error): void => {}
  const work = new Promise<string>((_, fail) => {
    reject = fail
  })
  assert.equal(await beforeDeadline(work, 1, () => 'late'), 'late')
  reject(new Error('unhandled'))
  await new Promise(setImmediate)
})

test('an answer that is there when a process goes on after the deadline is in time', async () => {
  const [mine, theirs] = await connectedSockets()
  const answer = once(mine, 'data').then(([bytes]) => String(bytes))
  const waited = beforeDeadline(answer, 20, () => 'late')
  theirs.write('in time')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  assert.equal(await waited, 'in time')
  mine.destroy()
  theirs.destroy()
})

async function connectedSockets(): Promise<[Socket, Socket]> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const mine = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [[theirs]] = (await Promise.all([once(server, 'connection'), once(mine, 'connect')])) as [[Socket], unknown]
  server.close()
  return [mine, theirs]
}
