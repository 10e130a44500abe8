import assert from 'node:assert/strict'
import test from 'node:test'
import { Pipeline } from '../../../../../control/book/settlement/pipeline.ts'

function gate(): { opened: Promise<void>; open: () => void; fail: (error: Error) => void } {
  let open = () => {}
  let fail = (_: Error) => {}
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  return { opened, open, fail }
}

test('a task is started immediately without waiting for it; the next one waits for it', async () => {
  const behind = new Pipeline()
  const [first, second] = [gate(), gate()]
  const events: string[] = []
  await behind.begin(() => {
    events.push('first begun')
    return first.opened
  })
  const begun = behind.begin(() => {
    events.push('second begun')
    return second.opened
  })
  events.push('waiting')
  first.open()
  await begun
  assert.deepEqual(events, ['first begun', 'waiting', 'second begun'])
  second.open()
  await behind.drain()
})

test('an error is thrown once, to the next task, which is not started', async () => {
  const behind = new Pipeline()
  const failing = gate()
  await behind.begin(() => failing.opened)
  failing.fail(new Error('no database'))
  let begun = 0
  const task = async () => {
    begun++
  }
  await assert.rejects(behind.begin(task), /no database/)
  assert.equal(begun, 0)
  await behind.begin(task)
  await behind.drain()
  assert.equal(begun, 1)
})

test('done throws the error of the last task, once', async () => {
  const behind = new Pipeline()
  await behind.begin(() => Promise.reject(new Error('no Redis')))
  await assert.rejects(behind.drain(), /no Redis/)
  await behind.drain()
})
