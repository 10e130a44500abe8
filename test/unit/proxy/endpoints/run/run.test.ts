// A run brings its three parts together: each way from the hold to the end of the answer, and that a fault of the
// gateway, a wrong change of phase among them, ends the request and nothing else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { NO_USAGE } from '../../../../../contract/money/charge.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { heldMoney } from '../../../../../proxy/admission/held.ts'
import { LOST_ANSWER } from '../../../../../proxy/admission/holds.ts'
import { settlementBytes } from '../../../../../proxy/admission/settlementText.ts'
import type { Bill } from '../../../../../proxy/endpoints/run/bill.ts'
import type { Outcome } from '../../../../../proxy/endpoints/run/outcome.ts'
import type { ProviderCall } from '../../../../../proxy/endpoints/run/providerCall.ts'
import { Run } from '../../../../../proxy/endpoints/run/run.ts'
import type { RunListener } from '../../../../../proxy/endpoints/run/runListener.ts'
import { WholeCall, type WholeListener } from '../../../../../proxy/endpoints/run/wholeCall.ts'
import { PhaseFault } from '../../../../../proxy/phases.ts'
import { TransportFailure } from '../../../../../proxy/upstream/transport/transport.ts'
import { RecordedExchange } from '../../../../support/parts/recordedExchange.ts'
import { metered, RunWorld, testPrincipal, testRequest } from '../../../../support/parts/runWorld.ts'

const HEADERS = { get: () => undefined }
const BILL: Bill = { units: 40, usage: NO_USAGE, quantity: 1, source: 'reported' }
const PART: Bill = { ...BILL, units: 15 }

/** An operation whose answer is in one piece, on a run of its own. */
class Operation implements RunListener, WholeListener {
  readonly world = new RunWorld()
  readonly exchange = new RecordedExchange()
  readonly run = new Run(this.exchange, testPrincipal(), metered, this.world.services, this)
  readonly call: ProviderCall = new WholeCall(this.run, this, () => 100).call
  readonly makeRequest = testRequest
  done = 0

  serve(): void {
    this.call.start()
  }

  onWhole(): void {
    this.call.commit()
    this.run.settle('ok', BILL, null)
  }

  onGone(): void {
    if (!this.call.detach()) this.run.leave(PART)
  }

  onCut(): void {
    this.run.cutUnanswered()
  }

  onSettled(outcome: Outcome, chargedUnits: number): void {
    this.exchange.answer(200, 'application/json', outcome.receipt(chargedUnits))
  }

  onSettleDelayed(): void {
    this.exchange.answer(200, 'application/json', 'no receipt')
  }

  onDone(): void {
    this.done++
  }

  billOfPart(): Bill {
    return PART
  }
}

function started(): Operation {
  const operation = new Operation()
  operation.run.start()
  return operation
}

function held(): Operation {
  const operation = started()
  operation.world.hold.onHeld(heldMoney(1_000, 7))
  return operation
}

function answer({ world }: Operation): void {
  world.call.listener.onHead(200, HEADERS)
  world.call.listener.onData(Buffer.from('{}'))
  world.call.listener.onEnd()
}

function booked({ world }: Operation): sluice.Settlement {
  assert.equal(world.endings.length, 1, 'a hold is ended once')
  return sluice.Settlement.decode(settlementBytes(world.endings[0]?.ending.settlement ?? ''))
}

/** That nothing of the request is left in the process. */
function isDone({ run, world, done }: Operation): void {
  assert.deepEqual([run.phase, world.active.size, world.metrics.detached, done], ['done', 0, 0, 1])
}

test('a request is held, called, answered and settled, notifies its operation, and is done', () => {
  const operation = started()
  const { run, world, exchange } = operation
  assert.deepEqual([run.phase, world.active.size], ['admitting', 1])
  world.hold.onHeld(heldMoney(1_000, 7))
  assert.equal(run.phase, 'calling')
  world.call.listener.onHead(200, HEADERS)
  assert.equal(run.phase, 'answering')
  world.call.listener.onData(Buffer.from('{}'))
  world.call.listener.onEnd()
  assert.deepEqual([run.phase, world.chargeUnits, exchange.ends], ['settling', 40, []])
  world.accept()
  assert.deepEqual(exchange.ends, ['200'])
  assert.match(exchange.text, /"units":"40"/)
  isDone(operation)
})

test('if the ledger is slow the response is sent without a receipt', () => {
  const operation = held()
  answer(operation)
  operation.world.endings[0]?.waiter?.onSettleDelayed()
  assert.deepEqual([operation.exchange.ends, operation.exchange.text], [['200'], 'no receipt'])
  isDone(operation)
})

test('a run is done when the last promise of its operation has resolved', async () => {
  const operation = held()
  let resolve = (): void => undefined
  Object.assign(operation, {
    onSettled: () =>
      new Promise<void>((done) => {
        resolve = done
      }),
  })
  answer(operation)
  operation.world.accept()
  await nextTurn()
  assert.equal(operation.run.phase, 'settling')
  resolve()
  await nextTurn()
  isDone(operation)
})

test('a rejected hold ends the request; a hold whose response was lost is voided', () => {
  const refused = started()
  refused.world.hold.onHoldRefused(new GatewayError('insufficient_balance'))
  assert.deepEqual([refused.exchange.ends, refused.world.endings.length], [['insufficient_balance'], 0])
  isDone(refused)
  const lost = started()
  lost.world.hold.onHoldRefused(new GatewayError('admission_unavailable', { cause: LOST_ANSWER }))
  assert.deepEqual([lost.exchange.ends, lost.world.chargeUnits], [['admission_unavailable'], -1])
  isDone(lost)
  lost.world.accept()
  isDone(lost)
})

test('a client that disconnects before its hold is granted is not served', () => {
  const operation = started()
  operation.exchange.leave()
  assert.equal(operation.run.phase, 'admitting')
  operation.world.hold.onHeld(heldMoney(1_000, 7))
  assert.deepEqual([booked(operation).errorCode, operation.world.calls.length], ['client_gone', 0])
  operation.world.accept()
  isDone(operation)
})

test('a request cut before its hold is granted gets an error, and its hold is voided once granted', () => {
  const operation = started()
  operation.world.active.cutAll()
  operation.world.active.cutAll()
  assert.deepEqual([operation.run.phase, operation.exchange.ends], ['ending', ['gateway_restarting']])
  operation.world.hold.onHeld(heldMoney(1_000, 7))
  assert.deepEqual([operation.world.chargeUnits, operation.world.calls.length], [-1, 0])
  operation.world.accept()
  isDone(operation)
})

test('a request cut while it is served is not charged', () => {
  const operation = held()
  operation.world.active.cutAll()
  assert.equal(operation.world.call.cancelled, true)
  assert.deepEqual([booked(operation).status, operation.exchange.ends], [sluice.Status.CUT, ['gateway_restarting']])
  operation.world.accept()
  isDone(operation)
})

test('a request that no route serves is not charged', () => {
  const operation = held()
  for (const _route of metered.routes) operation.world.call.listener.onFailure(new TransportFailure('malformed'))
  assert.deepEqual(
    [booked(operation).status, operation.exchange.ends],
    [sluice.Status.FAILED, ['upstream_unavailable']],
  )
  operation.world.accept()
  isDone(operation)
})

test('a response is awaited without its client, if there is a free slot', () => {
  const operation = held()
  operation.exchange.leave()
  answer(operation)
  assert.equal(operation.world.chargeUnits, 40)
  operation.world.accept()
  isDone(operation)
  const second = held()
  second.world.metrics.detached = second.world.services.limits.detachedRequestsMax
  second.exchange.leave()
  assert.deepEqual([booked(second).chargeUnits, second.world.call.cancelled], [15, true])
})

test('a response that is too long, or unreadable, fails over', () => {
  const long = held()
  long.world.call.listener.onHead(200, HEADERS)
  long.world.call.listener.onData(Buffer.alloc(101))
  assert.deepEqual([long.world.calls.length, long.run.phase], [2, 'calling'])
  const unreadable = held()
  unreadable.world.call.listener.onHead(200, { ...HEADERS, unreadable: true })
  assert.deepEqual([unreadable.world.calls.length, unreadable.run.phase], [2, 'calling'])
  answer(unreadable)
  assert.equal(unreadable.world.chargeUnits, 40)
})

test('a hold that is handed over is not ended by the run', () => {
  const operation = held()
  operation.run.handOver()
  assert.equal(operation.world.endings.length, 0)
  isDone(operation)
})

test('a second settlement is a fault: it is logged, the client gets an error, and the ledger gets no second ending', () => {
  const operation = held()
  Object.assign(operation, {
    onWhole: () => {
      operation.run.settle('ok', BILL, null)
      operation.run.settle('ok', BILL, null)
    },
  })
  answer(operation)
  assert.equal(booked(operation).chargeUnits, 40)
  assert.ok(operation.world.crashes[0] instanceof PhaseFault)
  assert.deepEqual([operation.world.crashes.length, operation.exchange.ends], [1, ['internal_error']])
  isDone(operation)
  operation.world.accept()
  isDone(operation)
})

const FAULTS: [when: string, deed: (operation: Operation) => void, charged: number, told: string][] = [
  ['the client leaves', ({ exchange }) => exchange.leave(), -1, ''],
  ['the process leaves', ({ world }) => world.active.cutAll(), -1, 'internal_error'],
  ['the answer is read', (operation) => answer(operation), -1, 'internal_error'],
  ['a stream has begun', (operation) => begin(operation), 15, 'break'],
]
for (const [when, deed, charged, told] of FAULTS) {
  test(`a fault when ${when} ends the request, once, and throws nothing at its caller`, () => {
    const operation = held()
    const fail = (): never => {
      throw new Error('failed')
    }
    Object.assign(operation, { onGone: fail, onCut: fail, onWhole: fail })
    deed(operation)
    assert.deepEqual([operation.world.crashes.map(String), operation.world.chargeUnits], [['Error: failed'], charged])
    assert.equal(booked(operation).errorCode, 'internal_error')
    assert.deepEqual(operation.exchange.ends, told === '' ? [] : [told])
    isDone(operation)
  })
}

function begin(operation: Operation): void {
  operation.world.call.listener.onHead(200, HEADERS)
  operation.call.commit()
  operation.exchange.beginStream()
  operation.world.call.listener.onEnd()
}

test('a fault while the bill is computed still ends the hold', () => {
  const operation = held()
  operation.run.beginEnding()
  operation.run.crash(new Error('failed'))
  assert.deepEqual([booked(operation).status, operation.exchange.ends], [sluice.Status.FAILED, ['internal_error']])
  isDone(operation)
})

test('a second fault while ending after a fault still releases all resources', () => {
  const operation = held()
  operation.exchange.beginStream()
  Object.assign(operation, {
    billOfPart: () => {
      throw new Error('no bill')
    },
    onDone: () => {
      operation.done++
      throw new Error('not let go')
    },
    faultEvents: () => 'broken',
  })
  operation.run.crash(new Error('failed'))
  const shown = ['Error: failed', 'Error: no bill', 'Error: not let go']
  assert.deepEqual([operation.world.crashes.map(String), operation.exchange.text], [shown, 'broken'])
  assert.equal(operation.world.chargeUnits, -1)
  isDone(operation)
})
