// The call to a provider by itself: what the listener hears in which phase, over routes that fail and answer, and what a
// client that has left makes of it. It knows nothing of money.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { ProviderCall } from '../../../../../proxy/endpoints/run/providerCall.ts'
import { HEADERS, Play, RESET } from '../../../../support/parts/callPlay.ts'
import { metered } from '../../../../support/parts/runWorld.ts'

function started(): Play {
  const play = new Play()
  play.call.start()
  return play
}

test('a call advances from its routes to the committed response', () => {
  const play = started()
  const { call, world } = play
  world.call.listener.onHead(200, HEADERS)
  world.call.listener.onFailure(RESET)
  assert.equal(call.route?.id, undefined)
  world.call.listener.onHead(200, HEADERS)
  world.call.listener.onData(Buffer.from('a'))
  call.commit()
  world.call.listener.onData(Buffer.alloc(0))
  world.call.listener.onData(Buffer.from('b'))
  world.call.listener.onEnd()
  assert.deepEqual(play.heard, [
    'calling: attempt',
    'answering: answer of mock',
    'calling: attempt',
    'answering: answer of mock',
    'answering: data a',
    'committed: data b',
    'committed: end',
  ])
  assert.deepEqual([call.route?.id, call.asked?.id, call.firstByteMs > 0], ['mock/1', 'mock/1', true])
})

test('a broken response is reported once committed; before that it fails over, and after the last route it is rejected', () => {
  const committed = started()
  committed.world.call.listener.onHead(200, HEADERS)
  committed.call.commit()
  committed.world.call.listener.onFailure(RESET)
  assert.equal(committed.heard.at(-1), 'committed: broken')
  const refused = started()
  refused.world.call.listener.onFailure(RESET)
  refused.world.call.listener.onFailure(RESET)
  assert.deepEqual(refused.heard, ['calling: attempt', 'calling: attempt', 'refused upstream_unavailable'])
})

test('when nothing is wanted of a response any more, its end is awaited for a short time; one that is whole is not', () => {
  for (const ends of [false, true]) {
    const play = started()
    const { call } = play.world
    call.listener.onHead(200, HEADERS)
    play.call.commit()
    play.enter('ending')
    if (ends) call.listener.onEnd()
    play.call.close(undefined)
    assert.equal(call.letGoMs, ends ? undefined : play.services.limits.lingerMs)
    call.listener.onFailure(RESET)
    assert.deepEqual([play.heard.length, call.cancelled], [2, false])
  }
})

test('once the end is decided, further events of the response are ignored', () => {
  const play = started()
  const { listener } = play.world.call
  listener.onHead(200, HEADERS)
  play.call.commit()
  const before = play.heard.length
  play.enter('ending')
  listener.onData(Buffer.from('x'))
  listener.onEnd()
  listener.onFailure(RESET)
  assert.equal(play.heard.length, before)
})

test('a committed response cannot be withdrawn or committed twice: an invalid transition ends the request', () => {
  const play = started()
  const { listener } = play.world.call
  listener.onHead(200, HEADERS)
  play.call.commit()
  assert.throws(() => play.call.commit(), /committed cannot be committed/)
  play.onData = () => play.call.commit()
  listener.onData(Buffer.from('x'))
  assert.match(String(play.crashes), /committed cannot be committed/)
  assert.equal(play.world.call.cancelled, true)
})

for (const [what, deed] of [
  ['breaks off', (play: Play) => play.call.commit()],
  ['is refused', () => undefined],
] as const) {
  test(`a listener that throws on a response that ${what} ends the request, not the process`, () => {
    const play = started()
    const fail = (): never => {
      throw new Error('failed')
    }
    play.onBroken = fail
    play.refuse = fail
    play.world.call.listener.onHead(200, HEADERS)
    deed(play)
    for (const call of [...play.world.calls]) call.listener.onFailure(RESET)
    play.world.call.listener.onFailure(RESET)
    assert.deepEqual(play.crashes.map(String), ['Error: failed'])
  })
}

test('a request that cannot be written for the next route ends with a fault', () => {
  const play = started()
  Object.assign(play, {
    makeRequest: () => {
      throw new Error('cannot be written')
    },
  })
  play.world.call.listener.onFailure(RESET)
  assert.deepEqual(play.crashes.map(String), ['Error: cannot be written'])
})

test('responses awaited without a client are bounded, over at most one more attempt', () => {
  const play = started()
  const { metrics } = play.world
  assert.deepEqual([play.call.detach(), metrics.detached, play.call.detached], [true, 1, true])
  assert.equal(new ProviderCall(play, play).detach(), false)
  play.world.call.listener.onFailure(RESET)
  assert.equal(play.heard.at(-1), 'refused upstream_unavailable')
  play.call.close(undefined)
  play.call.close(undefined)
  assert.deepEqual([metrics.detached, play.call.detached], [0, false])
})

/** The time is over, and what has arrived until then has been read. */
async function lingered(mock: TestContext['mock'], play: Play): Promise<void> {
  mock.timers.tick(play.services.limits.lingerMs)
  await new Promise(setImmediate)
}

test('a response is awaited for a short time, unless its end is decided before', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const play = started()
  let times = 0
  play.call.linger(() => times++)
  await lingered(mock, play)
  assert.equal(times, 1)
  play.call.linger(() => times++)
  mock.timers.tick(play.services.limits.lingerMs)
  play.call.close(undefined)
  await new Promise(setImmediate)
  assert.equal(times, 1, 'what arrived while the process stood still is read first')
  play.call.linger(() => times++)
  play.enter('ending')
  await lingered(mock, play)
  play.call.linger(() => times++)
  play.call.close(undefined)
  await lingered(mock, play)
  assert.equal(times, 1)
})

test('a fault when this time is over ends the request', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const play = started()
  play.call.linger(() => {
    throw new Error('failed')
  })
  await lingered(mock, play)
  assert.deepEqual(play.crashes.map(String), ['Error: failed'])
})

test('a custom operation handles rejections itself', () => {
  const play = started()
  const seen: unknown[] = []
  Object.assign(play, { onRefused: (error: unknown) => void seen.push(error) })
  for (let i = 0; i < metered.routes.length; i++) play.world.call.listener.onFailure(RESET)
  assert.ok(seen[0] instanceof GatewayError)
  assert.equal(play.heard.includes('refused upstream_unavailable'), false)
})

test('another model is asked over its routes, in the time of the request, and its attempts are counted on', ({
  mock,
}) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const play = started()
  const { world, heard } = play
  play.othersLeft = 1
  const timeouts = () => world.calls.map(({ request }) => request.totalTimeoutMs)
  const { totalTimeoutMs } = world.services.limits
  for (let attempt = 0; attempt < 4; attempt++) {
    mock.timers.tick(1_000)
    world.call.listener.onFailure(RESET)
  }
  assert.deepEqual(
    world.calls.map(({ request }) => request.attempt),
    [1, 2, 3, 4],
  )
  assert.deepEqual(
    timeouts(),
    [0, 1, 2, 3].map((seconds) => totalTimeoutMs - seconds * 1_000),
  )
  const question = 'calling: may another model serve after upstream_unavailable?'
  assert.deepEqual(
    heard.filter((what) => what !== 'calling: attempt'),
    [question, question, 'refused upstream_unavailable'],
  )
})

test('no other model is asked once the time is over, without a client, or after the end is decided', ({ mock }) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  for (const end of [
    (play: Play) => mock.timers.tick(play.world.services.limits.totalTimeoutMs),
    (play: Play) => void play.call.detach(),
    (play: Play) => play.enter('ending'),
  ]) {
    const play = started()
    play.othersLeft = 1
    end(play)
    play.world.call.listener.onFailure(RESET)
    assert.equal(play.world.calls.length, 1)
    assert.equal(play.othersLeft, 1)
  }
})

for (const [what, deed, written, heard] of [
  ['is asked then', () => undefined, () => Promise.resolve(), ['calling: attempt']],
  [
    'is not asked without a client',
    (play: Play) => play.call.detach(),
    () => Promise.resolve(),
    ['refused upstream_unavailable'],
  ],
  ['is not asked after the end is decided', (play: Play) => play.enter('ending'), () => Promise.resolve(), []],
  [
    'is not asked where no thread has room',
    () => undefined,
    () => Promise.reject(new GatewayError('too_many_uploads')),
    ['refused upstream_unavailable'],
  ],
] as const) {
  test(`a model whose requests are written by another thread first ${what}`, async () => {
    const play = started()
    play.othersLeft = 1
    play.written = written()
    play.world.call.listener.onFailure(RESET)
    play.world.call.listener.onFailure(RESET)
    const before = play.heard.length
    deed(play)
    await Promise.allSettled([play.written])
    await new Promise(setImmediate)
    assert.deepEqual(play.heard.slice(before), heard)
    assert.deepEqual(play.crashes, [])
  })
}
