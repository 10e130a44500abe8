import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BookedPosition, Pulse, type PulseOptions } from '../../../../proxy/bus/pulse.ts'
import { itemOf } from '../../../support/present.ts'

type Call = PulseOptions['rpc']['call']

test('a pulse reports its owner to control, and passes on the booked position', async () => {
  const asked: unknown[] = []
  const call = (async (...args: unknown[]) => {
    asked.push(args)
    return { chain: 'ok', admissionClosed: false, booked: [{ shard: 3, seq: 17 }] }
  }) as unknown as Call
  const booked = await new Promise<readonly BookedPosition[]>((resolve) => {
    const seen = { observe() {}, take: () => [], keep() {} }
    const pulse = new Pulse({
      rpc: { call },
      intervalMs: 60_000,
      seen,
      canaries: { take: () => [], keep() {} },
      owner: 'own_1',
      begun: () => 21,
      onBooked: (positions) => {
        pulse.stop()
        resolve(positions)
      },
    })
    pulse.start()
  })
  assert.deepEqual(asked, [['ping', { observed: [], measured: [], owner: 'own_1', begun: 21 }]])
  assert.deepEqual([itemOf(booked, 0).shard, itemOf(booked, 0).seq], [3, 17])
})
