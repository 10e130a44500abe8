// Goal: whatever processes ask, end, lose and however they die, no quota is exceeded in any minute, nothing is refused while there is
// room, and none of it stays lost. Method: random sequences with lost calls, lost answers, late calls and crashes over quota.lua on a
// real Redis whose clock the test sets, against all permits that were given.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Denial, Permit } from '../../../proxy/quotas/permit.ts'
import type { Quotas } from '../../../proxy/quotas/quotas.ts'
import { limits } from '../../support/limits.ts'
import { type CallFate, codeOf, QuotaWorld, take } from '../../support/parts/quotaWorld.ts'
import { rounds } from '../../support/rounds.ts'

const MINUTE_MS = 60_000
/** A minute, and what a slice of a second and the way to the provider add. */
const SPAN_MS = 62_000

let world: QuotaWorld
before(async () => {
  world = await QuotaWorld.start()
})
after(() => world.stop())

/** Until Redis knows what has ended. */
const settle = (quotas: Quotas): Promise<void> => quotas.delivered(5_000)

const FATES: readonly CallFate[] = ['lost', 'answer lost', 'late']
const QUOTAS = [
  { requestsPerMinute: 6, tokensPerMinute: 60 },
  { tokensPerMinute: 90, parallel: 3 },
  { requestsPerMinute: 9, parallel: 4 },
]

type Step =
  | { readonly kind: 'take'; readonly process: number; readonly pots: readonly number[]; readonly tokens: number }
  | { readonly kind: 'end'; readonly which: number; readonly share: number | null }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'crash'; readonly process: number }
  | { readonly kind: 'fate'; readonly fate: CallFate }
  | { readonly kind: 'late' }

const anyProcess = fc.nat({ max: 2 })
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      process: anyProcess,
      pots: fc.subarray([0, 1, 2], { minLength: 1 }),
      tokens: fc.nat({ max: 50 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(),
      share: fc.option(fc.integer({ min: 0, max: 100 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 900, 9_000, 31_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), process: anyProcess }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fate' as const), fate: fc.constantFrom(...FATES) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'late' as const }) },
)

/** A permit as the test has it. */
interface Given {
  readonly permit: Permit
  readonly atMs: number
  readonly pots: readonly number[]
  readonly process: number
  counted: number
  open: boolean
}

/** Plays steps, and checks each answer against all permits that were given. */
class Play {
  private readonly pots = QUOTAS.map((quota, i) => world.pot(`p${i}`, quota))
  private readonly fates: CallFate[] = []
  private readonly processes = [0, 1, 2].map(() => this.newProcess())
  private given: Given[] = []
  private faulty = false

  async step(step: Step): Promise<void> {
    if (step.kind === 'wait') await this.wait(step.ms)
    else if (step.kind === 'late') await world.deliverLate()
    else if (step.kind === 'fate') this.meet(step.fate)
    else if (step.kind === 'crash') this.crash(step.process)
    else if (step.kind === 'end') await this.end(step.which, step.share)
    else await this.take(step.process, step.pots, step.tokens)
  }

  /** With nothing in flight, and a minute later, there is room for all. */
  async finish(): Promise<void> {
    this.fates.length = 0
    for (const given of this.given) if (given.open) given.permit.end(0)
    for (const quotas of this.processes) await settle(quotas)
    await world.deliverLate()
    await world.advance(Math.max(SPAN_MS, limits.quotaHoldMs))
    assert.equal(codeOf(await take(this.quotas(0), this.pots, 60)), 'OK')
  }

  private newProcess(): Quotas {
    return world.process(() => {
      const fate = this.fates.shift() ?? 'done'
      if (fate !== 'done') this.faulty = true
      return fate
    })
  }

  /** No more than two in a row, which statements survive. */
  private meet(fate: CallFate): void {
    if (this.fates.length < 2) this.fates.push(fate)
  }

  /** Processes state what they have in flight meanwhile. */
  private async wait(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 9_000) {
      await world.advance(Math.min(left, 9_000))
      for (const quotas of this.processes) {
        quotas.state()
        await settle(quotas)
      }
    }
  }

  private quotas(process: number): Quotas {
    const found = this.processes[process]
    assert.ok(found !== undefined)
    return found
  }

  /** Its requests are gone; nobody says what they have used. */
  private crash(process: number): void {
    for (const given of this.given) if (given.process === process) given.open = false
    this.processes[process] = this.newProcess()
    this.faulty = true
  }

  private async end(which: number, share: number | null): Promise<void> {
    const open = this.given.filter((given) => given.open)
    const ended = open[which % Math.max(1, open.length)]
    if (ended === undefined) return
    const used = share === null ? undefined : Math.floor((ended.permit.tokens * share) / 100)
    ended.open = false
    ended.counted = used ?? ended.counted
    ended.permit.end(used)
    await settle(this.quotas(ended.process))
  }

  private async take(process: number, places: readonly number[], tokens: number): Promise<void> {
    const pots = places.flatMap((place) => this.pots[place] ?? [])
    const answer = await take(this.quotas(process), pots, tokens)
    if ('code' in answer) {
      if (!this.faulty) this.checkDenied(answer, places, tokens)
      return
    }
    this.given.push({ permit: answer, atMs: world.nowMs, pots: places, process, counted: tokens, open: true })
    for (const place of places) this.checkPot(place, MINUTE_MS)
  }

  private within(place: number, ms: number): { requests: number; tokens: number; flying: number } {
    const all = this.given.filter(({ pots }) => pots.includes(place))
    const recent = all.filter(({ atMs }) => atMs > world.nowMs - ms)
    const tokens = recent.reduce((sum, { counted }) => sum + counted, 0)
    return { requests: recent.length, tokens, flying: all.filter(({ open }) => open).length }
  }

  private checkPot(place: number, ms: number): void {
    const { requestsPerMinute = 0, tokensPerMinute = 0, parallel = 0 } = QUOTAS[place] ?? {}
    const { requests, tokens, flying } = this.within(place, ms)
    assert.ok(requestsPerMinute === 0 || requests <= requestsPerMinute, `${requests} requests`)
    assert.ok(tokensPerMinute === 0 || tokens <= tokensPerMinute, `${tokens} tokens`)
    assert.ok(parallel === 0 || flying <= parallel, `${flying} in flight`)
  }

  /** Where no call was lost, some quota would have been exceeded. */
  private checkDenied(answer: Denial, places: readonly number[], wanted: number): void {
    const isFull = places.some((place) => {
      const { requestsPerMinute = 0, tokensPerMinute = 0, parallel = 0 } = QUOTAS[place] ?? {}
      const { requests, tokens, flying } = this.within(place, SPAN_MS)
      if (requestsPerMinute > 0 && requests >= requestsPerMinute) return true
      if (tokensPerMinute > 0 && tokens + wanted > tokensPerMinute) return true
      return parallel > 0 && flying >= parallel
    })
    assert.ok(isFull, `${codeOf(answer)} with room`)
  }
}

const taken = (process: number, pots: number[], tokens: number): Step => ({ kind: 'take', process, pots, tokens })
const EXAMPLES: Step[][] = [
  // A late call of takes whose process has gone on.
  [
    { kind: 'fate', fate: 'late' },
    taken(0, [1], 9),
    taken(0, [1], 9),
    { kind: 'late' },
    taken(1, [1], 9),
    taken(1, [1], 9),
  ],
  // Permits of a dead process, waited for.
  [
    taken(0, [1], 1),
    taken(0, [1], 1),
    taken(0, [1], 1),
    { kind: 'crash', process: 0 },
    { kind: 'wait', ms: 31_000 },
    taken(1, [1], 1),
  ],
  // An ending whose answer is lost.
  [
    taken(0, [0, 1], 50),
    { kind: 'fate', fate: 'answer lost' },
    { kind: 'end', which: 0, share: 10 },
    taken(1, [0, 1], 50),
    taken(2, [0], 5),
  ],
  // An ending that is lost: the worst case stays.
  [
    taken(0, [0], 50),
    { kind: 'fate', fate: 'lost' },
    { kind: 'end', which: 0, share: 0 },
    taken(1, [0], 50),
    { kind: 'wait', ms: 31_000 },
    { kind: 'wait', ms: 31_000 },
  ],
]

test('random sequences of processes, lost calls and crashes never exceed a quota, nor lose room', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 60 }), async (steps) => {
      await world.reset()
      const play = new Play()
      for (const step of steps) await play.step(step)
      await play.finish()
    }),
    { numRuns: rounds({ short: 60, long: 400 }), examples: EXAMPLES.map((steps): [Step[]] => [steps]) },
  )
})
