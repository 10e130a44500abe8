import { sluice } from '../../../contract/wire/generated/messages.js'
import { type AgentPolicy, type Principal, toPrincipal } from '../../../proxy/access/principal.ts'
import type { Ending, EndingWaiter } from '../../../proxy/admission/ending.ts'
import type { HoldWaiter } from '../../../proxy/admission/holds.ts'
import type { PricedItem, Provider, Route } from '../../../proxy/catalog/pricedItem.ts'
import { ActiveRuns } from '../../../proxy/endpoints/run/activeRuns.ts'
import type { Metered } from '../../../proxy/endpoints/run/metered.ts'
import type { RunServices } from '../../../proxy/endpoints/run/services.ts'
import { RequestMetrics } from '../../../proxy/metrics/requestMetrics.ts'
import { OutBuffer } from '../../../proxy/sse/outBuffer.ts'
import { AnswerMemory } from '../../../proxy/upstream/answerMemory.ts'
import { CanaryWatch } from '../../../proxy/upstream/canaryWatch.ts'
import { RouteHealth } from '../../../proxy/upstream/routeHealth.ts'
import { HeaderBlock } from '../../../proxy/upstream/transport/headerBlock.ts'
import type { UpstreamListener, UpstreamRequest } from '../../../proxy/upstream/transport/transport.ts'
import { limitsWith } from '../limits.ts'

/** A provider that never answers by itself. */
export const testProvider: Provider = {
  id: 'mock',
  origin: 'http://127.0.0.1:1',
  host: '127.0.0.1:1',
  basePath: '/v1',
  dialect: 'openai',
  apiKey: '',
  missingKey: '',
  dataPolicy: 'none',
  maxTokensField: '',
  form: null,
  privateImages: false,
  report: null,
}

const OFFERED = { enabled: true, switchedOff: false, offered: true, costUnits: null }

/** Routes to that provider, which are tried in this order. */
export function testRoutes(count: number): Route[] {
  return Array.from({ length: count }, (_, index) => {
    return { id: `mock/${index}`, provider: testProvider, upstreamModel: String(index), ...OFFERED }
  })
}

const item: PricedItem = {
  id: 'test/model',
  unit: 'call',
  sheet: { version: 3, coinUsdUnits: 500_000_000, publishedAtMs: 0, validUntilMs: 0, json: Buffer.from('{}') },
}

/** A request for an item at 1,000 units at most, over two routes. */
export const metered: Metered = {
  endpoint: 'rerank',
  model: item,
  routes: testRoutes(2),
  wantUnits: 1_000,
  leastUnits: 1_000,
  streamed: false,
}

const limits = limitsWith({ lingerMs: 20, detachedRequestsMax: 1, breakerFailures: Number.MAX_SAFE_INTEGER })
const known = { privacyKnown: true, settingsKnown: true }
const record = sluice.KeyRecord.create({ ...known, keyId: 'key_1', accountId: 'acct_1', shard: 7 })
const keyPrincipal = toPrincipal(record, limits)

/** A key. @param agent its policy where it is an agent's */
export function testPrincipal(agent: AgentPolicy | null = null): Principal {
  return { ...keyPrincipal, agent }
}

/** A request to a provider for a route, whatever the route. */
export function testRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
  return {
    origin: testProvider.origin,
    host: testProvider.host,
    path: `/${route.upstreamModel}`,
    method: 'POST',
    headers: new HeaderBlock([]),
    requestId: 'req_1',
    body: '',
    connectTimeoutMs: 1,
    firstByteTimeoutMs: 1,
    idleTimeoutMs: 1,
    totalTimeoutMs,
    fresh,
  }
}

/** A call to a provider, which the test answers through `listener`. */
export interface SentCall {
  readonly request: UpstreamRequest
  readonly listener: UpstreamListener
  cancelled: boolean
  paused: boolean
  /** How long its end is still awaited, in milliseconds; absent where all of it is wanted. */
  letGoMs?: number
}

/**
 * What surrounds a run, without Redis, providers or control: the test answers holds, endings and calls, and sees what was
 * asked.
 */
export class RunWorld {
  readonly holds: HoldWaiter[] = []
  readonly endings: { readonly ending: Ending; readonly waiter: EndingWaiter | null }[] = []
  readonly calls: SentCall[] = []
  /** Approvals that were given back. */
  readonly released: string[] = []
  readonly crashes: unknown[] = []
  readonly active = new ActiveRuns()
  readonly answers = new AnswerMemory(limits.answerBytesOpenMax)
  readonly registeredAnswers = new AnswerMemory(limits.registeredAnswerBytesOpenMax, this.answers)
  readonly metrics = new RequestMetrics(limits)
  /** What an agent's policy says to a request, and what the tokenizer counts. */
  passes: () => { wantUnits: number; approvalId: string } | Promise<{ wantUnits: number; approvalId: string }>
  counts: () => Promise<number[] | null> = () => Promise.resolve(null)
  readonly services: RunServices

  /** @param endsInTurn of what settles */
  constructor(endsInTurn = false) {
    this.passes = () => ({ wantUnits: 500, approvalId: '' })
    this.services = {
      limits,
      owner: 'own_1',
      publicUrl: '',
      active: this.active,
      metrics: this.metrics,
      outgoing: new OutBuffer(),
      answers: this.answers,
      registeredAnswers: this.registeredAnswers,
      health: new RouteHealth(limits),
      canaries: new CanaryWatch(),
      holds: { take: (waiter: HoldWaiter) => void this.holds.push(waiter) },
      settlements: {
        endsInTurn,
        end: (ending: Ending, _keys: unknown, waiter: EndingWaiter | null) =>
          void this.endings.push({ ending, waiter }),
      },
      transport: {
        send: (request: UpstreamRequest, listener: UpstreamListener) => this.send(request, listener),
        close: () => Promise.resolve(),
      },
      agents: {
        pass: async () => this.passes(),
        release: (approvalId: string) => void this.released.push(approvalId),
      },
      tokens: { countSoon: () => this.counts() },
      large: { of: () => undefined, atOnceBytesMax: () => Number.POSITIVE_INFINITY },
      onCrash: (error: unknown) => void this.crashes.push(error),
      onUsageContradicted: () => undefined,
      onRouteFault: () => undefined,
    } as unknown as RunServices
  }

  /** The hold that was asked for last. */
  get hold(): HoldWaiter {
    return last(this.holds)
  }

  /** The call that was made last. */
  get call(): SentCall {
    return last(this.calls)
  }

  /** What was charged for the request that ended last, -1 for nothing. */
  get chargeUnits(): number {
    return last(this.endings).ending.chargeUnits
  }

  /** The ledger accepts what ended last. */
  accept(): void {
    const { ending, waiter } = last(this.endings)
    waiter?.onSettled(Math.max(0, ending.chargeUnits))
  }

  private send(request: UpstreamRequest, listener: UpstreamListener): object {
    const call: SentCall = { request, listener, cancelled: false, paused: false }
    this.calls.push(call)
    return {
      pause: () => {
        call.paused = true
      },
      resume: () => {
        call.paused = false
      },
      cancel: () => {
        call.cancelled = true
      },
      letGo: (withinMs: number) => {
        call.letGoMs = withinMs
      },
    }
  }
}

function last<Value>(list: readonly Value[]): Value {
  const value = list.at(-1)
  if (value === undefined) throw new RangeError('there is none')
  return value
}
