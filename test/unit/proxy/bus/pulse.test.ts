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

test('the state is observed before each call and after its answer or its failure', async () => {
  for (const fails of [false, true]) {
    const events: string[] = []
    const call = (async () => {
      events.push('call')
      if (fails) throw new Error('no answer')
      return { chain: 'ok', admissionClosed: false, booked: [] }
    }) as unknown as Call
    await new Promise<void>((resolve) => {
      const pulse = new Pulse({
        rpc: { call },
        intervalMs: 60_000,
        seen: {
          observe: () => {
            events.push(`observed ${pulse.alive}`)
            if (!events.includes('call')) return
            pulse.stop()
            resolve()
          },
          take: () => [],
          keep() {},
        },
        canaries: { take: () => [], keep() {} },
        owner: '',
        begun: () => 0,
        onBooked() {},
      })
      pulse.start()
    })
    assert.deepEqual(events, ['observed false', 'call', `observed ${!fails}`])
  }
})
