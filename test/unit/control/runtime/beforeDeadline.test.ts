import assert from 'node:assert/strict'
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
