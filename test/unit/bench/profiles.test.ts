import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allocations, fileOf, keepProfiles, selfTimes } from '../../../bench/profiles.ts'

const frame = (functionName: string, url = '') => ({ functionName, url })

test('self time is the time from a sample to the next, by function and file, without idle time', () => {
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(idle)') },
      { id: 2, callFrame: frame('push', 'file:///home/x/dist/proxy/sse/frameReader.js') },
      { id: 3, callFrame: frame('', 'file:///home/x/node_modules/@scope/name/lib/index.js') },
      // The same function, called from elsewhere.
      { id: 4, callFrame: frame('push', 'file:///home/x/dist/proxy/sse/frameReader.js') },
    ],
    samples: [2, 1, 3, 4],
    timeDeltas: [999, 10, 500, 30, 20],
  }
  assert.deepEqual(selfTimes(profile, 10), [
    { name: 'push', file: 'proxy/sse/frameReader.ts', share: 0.5 },
    { name: '(anonymous)', file: '@scope/name', share: 0.5 },
  ])
  assert.equal(selfTimes(profile, 1).length, 1)
  assert.deepEqual(selfTimes({ nodes: [], samples: [], timeDeltas: [] }, 5), [])
})

test('a function is placed by its file also when every object has a member of its name', () => {
  const nodes = [
    { id: 1, callFrame: frame('toString', 'node:buffer') },
    { id: 2, callFrame: frame('(program)') },
  ]
  const rows = selfTimes({ nodes, samples: [1, 2], timeDeltas: [0, 3, 1] }, 2)
  assert.deepEqual(
    rows.map(({ name, file }) => [name, file]),
    [
      ['toString', 'node:buffer'],
      ['(program)', 'native code and the kernel, outside of any function'],
    ],
  )
})

test('allocations add up over the whole tree', () => {
  const leaf = { callFrame: frame('a', 'node:buffer'), selfSize: 5, children: [] }
  const head = {
    callFrame: frame('(root)'),
    selfSize: 0,
    children: [{ callFrame: frame('b'), selfSize: 7, children: [leaf] }, leaf],
  }
  assert.deepEqual(allocations(head, 9), {
    bytes: 17,
    top: [
      { name: 'a', file: 'node:buffer', bytes: 10 },
      { name: 'b', file: 'native', bytes: 7 },
    ],
  })
})

test('files are named as they are in the project', () => {
  assert.equal(fileOf('file:///a/dist/proxy/x.js'), 'proxy/x.ts')
  assert.equal(fileOf('file:///a/node_modules/ioredis/built/x.js'), 'ioredis')
  assert.equal(fileOf('node:net'), 'node:net')
  assert.equal(fileOf(''), 'native')
})

test('the first recording stays the baseline until another is chosen', () => {
  const a = { at: 'a', cases: [] }
  const b = { at: 'b', cases: [] }
  const c = { at: 'c', cases: [] }
  const first = keepProfiles(undefined, a, false)
  assert.deepEqual(first, { before: null, now: a })
  const second = keepProfiles(first, b, false)
  assert.deepEqual(second, { before: a, now: b })
  assert.deepEqual(keepProfiles(second, c, false), { before: a, now: c })
  assert.deepEqual(keepProfiles(second, c, true), { before: b, now: c })
})
