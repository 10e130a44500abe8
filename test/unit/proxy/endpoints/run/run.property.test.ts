// Whatever happens to a chat request in whatever order, streamed and not: holds granted, refused and lost, providers that
// answer, fail and talk nonsense, clients and processes that leave, faults of the gateway itself. The real operations run
// over a world that the test plays. What is held is ended exactly once, clients are told one end, nothing is left behind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { encodeRecord } from '../../../../../control/catalog/pricing/record.ts'
import { heldMoney } from '../../../../../proxy/admission/held.ts'
import { LOST_ANSWER } from '../../../../../proxy/admission/holds.ts'
import { notifyWaiter } from '../../../../../proxy/admission/notifyWaiter.ts'
import { decodeCatalog } from '../../../../../proxy/catalog/catalog.ts'
import type { CatalogStore } from '../../../../../proxy/catalog/catalogStore.ts'
import { chatSurface } from '../../../../../proxy/dialects/chatSurface.ts'
import { chatServe } from '../../../../../proxy/endpoints/chat/chat.ts'
import { PhaseFault } from '../../../../../proxy/phases.ts'
import { TransportFailure } from '../../../../../proxy/upstream/transport/transport.ts'
import { RecordedExchange } from '../../../../support/parts/recordedExchange.ts'
import { RunWorld, testPrincipal } from '../../../../support/parts/runWorld.ts'
import { testCatalog } from '../../../../support/testCatalog.ts'

const ROUTES = [
  { provider: 'mock', model: 'a' },
  { provider: 'mock', model: 'b' },
]
const parsed = parseCatalog(
  'test',
  testCatalog('http://127.0.0.1:1/v1', { models: [{ id: 'test/m', routes: ROUTES }] }),
)
const publication = { version: 1, publishedAtMs: 0, validUntilMs: 0, sheetJson: '{}', listedAtMs: new Map() }
const catalog = decodeCatalog(encodeRecord(parsed, publication), { SLUICE_TEST_PROVIDER_KEY: 'k' })
const store = { current: catalog, model: (id: string) => catalog.models.get(id) } as unknown as CatalogStore
const serve = chatServe(chatSurface, store)

const chunk = (members: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...members })}\n\n`
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const whole = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }],
}
/** What a provider says, to a streamed request and to another. */
const SAYS: Readonly<Record<string, readonly [streamed: string, whole: string]>> = {
  role: [chunk({ choices: [{ index: 0, delta: { role: 'assistant' } }] }), ' '],
  output: [chunk({ choices: [{ index: 0, delta: { content: 'hi' } }] }), JSON.stringify({ ...whole, usage })],
  stop: [chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), JSON.stringify(whole)],
  usage: [chunk({ choices: [], usage }), ' '],
  done: ['data: [DONE]\n\n', ' '],
  error: ['data: {"error":{"message":"no"}}\n\n', '{"error":{"message":"no"}}'],
  nonsense: ['data: {nonsense\n\n', '{nonsense'],
}

const EVENTS = [
  'held',
  'refused',
  'lost',
  'gone',
  'cut',
  'head',
  'head 500',
  'head json',
  ...Object.keys(SAYS),
  'end',
  'reset',
  'slow',
  'broken write',
  'no count',
  'moment',
  'settled',
  'delayed',
] as const
type Event = (typeof EVENTS)[number]

/** One request and everything around it, played event by event; what cannot happen now does not. */
class Play {
  readonly world: RunWorld
  readonly exchange = new RecordedExchange()
  private readonly streamed: boolean
  private headOf = -1
  private overOf = -1
  private isAnswered = false
  private isVoidable = false
  private isTold = false
  private faults = 0

  constructor(streamed: boolean, endsInTurn: boolean) {
    this.streamed = streamed
    this.world = new RunWorld(endsInTurn)
    const body = Buffer.from(
      JSON.stringify({ model: 'test/m', stream: streamed, messages: [{ role: 'user', content: 'x' }] }),
    )
    void serve(this.exchange, body, testPrincipal(), this.world.services)
  }

  async play(event: Event): Promise<void> {
    const said = SAYS[event]
    if (said !== undefined) this.say(said[this.streamed ? 0 : 1])
    else if (event === 'held' || event === 'refused' || event === 'lost') this.answerHold(event)
    else if (event === 'gone') this.exchange.leave()
    else if (event === 'cut') this.world.active.cutAll()
    else if (event.startsWith('head')) this.head(event)
    else if (event === 'end' || event === 'reset') this.endCall(event)
    else if (event === 'slow') this.exchange.keepsUp = !this.exchange.keepsUp
    else if (event === 'broken write') this.exchange.fault = new Error('planted')
    else if (event === 'no count') this.world.counts = () => Promise.reject(new Error('planted'))
    else if (event === 'moment') await nextTurn()
    else this.answerEnding(event)
  }

  /** Whatever is still open ends. */
  async finish(): Promise<void> {
    this.answerHold('held')
    for (let i = 0; i <= ROUTES.length; i++) this.endCall('reset')
    await nextTurn()
    await nextTurn()
    this.answerEnding('settled')
    this.check()
  }

  private answerHold(how: 'held' | 'refused' | 'lost'): void {
    if (this.isAnswered) return
    this.isAnswered = true
    this.isVoidable = how !== 'refused'
    const mayBeServed = how === 'held' && !this.exchange.gone && this.exchange.ends.length === 0
    const cause = how === 'lost' ? LOST_ANSWER : undefined
    this.tell(this.world.hold, (waiter) => {
      if (how === 'held') waiter.onHeld(heldMoney(waiter.wantUnits, 7))
      else waiter.onHoldRefused(new GatewayError('admission_unavailable', { cause }))
    })
    assert.equal(this.world.calls.length, mayBeServed ? 1 : 0, 'providers are asked for what is held and awaited')
  }

  private answerEnding(how: string): void {
    const waiter = this.world.endings[0]?.waiter
    if (this.isTold || waiter === null || waiter === undefined) return
    this.isTold = true
    this.tell(waiter, () => {
      if (how === 'settled') waiter.onSettled(Math.max(0, this.world.chargeUnits))
      else waiter.onSettleDelayed()
    })
  }

  /** The call under way, if it may still say something. */
  private get call() {
    const { calls } = this.world
    const call = calls.at(-1)
    return call === undefined || call.cancelled || this.overOf === calls.length ? undefined : call
  }

  private head(event: string): void {
    const { call } = this
    if (call === undefined || this.headOf === this.world.calls.length) return
    this.headOf = this.world.calls.length
    const type = event === 'head json' ? 'application/json' : 'text/event-stream'
    call.listener.onHead(event === 'head 500' ? 500 : 200, {
      get: (name) => (name === 'content-type' ? type : undefined),
    })
  }

  say(text: string): void {
    if (this.headOf === this.world.calls.length) this.call?.listener.onData(Buffer.from(text))
  }

  private endCall(how: 'end' | 'reset'): void {
    const { call } = this
    const isAnswered = this.headOf === this.world.calls.length
    if (call === undefined || (how === 'end' && !isAnswered)) return
    this.overOf = this.world.calls.length
    if (how === 'end') call.listener.onEnd()
    else call.listener.onFailure(new TransportFailure('malformed'))
  }

  private tell<Waiter extends { onCrashed(error: unknown): void }>(
    waiter: Waiter,
    call: (waiter: Waiter) => void,
  ): void {
    notifyWaiter(waiter, call, () => this.faults++)
  }

  private check(): void {
    const { world, exchange } = this
    assert.equal(world.endings.length <= 1, true, 'a hold is ended once at most')
    if (this.isVoidable) assert.equal(world.endings.length, 1, 'what may be held is ended')
    for (const { ending } of world.endings) assert.ok(ending.chargeUnits <= world.hold.wantUnits)
    assert.ok(exchange.gone || exchange.ends.length === 1, 'the client is told one end')
    assert.deepEqual([world.active.size, world.metrics.detached], [0, 0])
    const unplanted = world.crashes.filter((error) => String(error) !== 'Error: planted')
    assert.deepEqual(unplanted, [], 'nothing but what was planted goes wrong')
    assert.equal(
      world.crashes.some((error) => error instanceof PhaseFault),
      false,
    )
    assert.equal(this.faults, 0)
  }
}

for (const streamed of [true, false]) {
  test(`for any events, a hold and its response end once (${streamed ? 'streamed' : 'in one piece'})`, async () => {
    const rest = fc.array(fc.constantFrom(...EVENTS), { maxLength: 14 })
    // Half of the requests get as far as an answer, which is where most can happen.
    const start = fc.constantFrom<Event[]>([], ['held', 'head'], ['held', 'head', 'role', 'output'])
    await fc.assert(
      fc.asyncProperty(start, rest, fc.boolean(), async (first, then, endsInTurn) => {
        const play = new Play(streamed, endsInTurn)
        for (const event of [...first, ...then]) await play.play(event)
        await play.finish()
      }),
      { numRuns: 1_000 },
    )
  })
}

for (const endsInTurn of [true, false]) {
  test(`the end of a response and the end of its stream are ${endsInTurn ? 'one write' : 'two writes'}`, async () => {
    const play = new Play(true, endsInTurn)
    const { exchange } = play
    for (const event of ['held', 'head', 'role', 'output'] as const) await play.play(event)
    const before = exchange.text
    assert.match(before, /hi/)
    const last = ['stop', 'usage', 'done'].map((name) => SAYS[name]?.[0] ?? '').join('')
    play.say(last)
    assert.equal(exchange.text === before, endsInTurn)
    await play.finish()
    assert.match(exchange.text, /"finish_reason":"stop".*\n\n: receipt .*\n\ndata: \[DONE\]\n\n$/s)
    assert.equal(exchange.text.split('"finish_reason":"stop"').length, 2)
  })

  test(`a crash after the end of a response loses none of it (${endsInTurn ? 'one write' : 'two writes'})`, async () => {
    const play = new Play(true, endsInTurn)
    const { exchange, world } = play
    for (const event of ['held', 'head', 'role'] as const) await play.play(event)
    play.say(['output', 'stop', 'usage', 'done'].map((name) => SAYS[name]?.[0] ?? '').join(''))
    world.endings[0]?.waiter?.onCrashed(new Error('planted'))
    await play.finish()
    assert.match(exchange.text, /hi.*"finish_reason":"stop".*internal_error/s)
  })
}
