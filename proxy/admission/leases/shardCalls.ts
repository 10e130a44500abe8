import { coinPartText, parseCoinPart } from '../../../contract/wire/coinPart.ts'
import { parseLeaseText } from '../../../contract/wire/countedText.ts'
import { accountKeys, epochKey, leasesKey, ledgerStream, loadGuardKey } from '../../../contract/wire/redisKeys.ts'
import { LeaseCode, type Script, type ScriptArgument, type ScriptKey } from '../../../contract/wire/scripts.ts'
import { chargesField, parseCharges, withoutCharges } from '../../../contract/wire/unsettled.ts'
import { grantsText, type Parts, parseSplit } from '../parts.ts'
import { batchText, deliverArguments, type GivenBack, type LeasedEnding, type Unsettled } from './batch.ts'
import { type LeaseAnswer, type LeaseAsk, leaseAnswers, leaseArguments } from './leaseCall.ts'
import type { LeaseContext } from './leaseContext.ts'
import { hourOf, keyIdOf, type LeaseOrigin } from './leaseName.ts'
import type { LeaseScripts } from './leaseScripts.ts'
import { isSingle } from './singleHold.ts'

/** A lease, and units of it. */
export interface LeasedParts {
  readonly origin: LeaseOrigin
  readonly field: string
  readonly parts: Parts
  /** Charges that Redis has not settled; `parts` is without them. */
  readonly unsettled?: Parts
}

/** The permits that a key's rate has left once those of its lease were taken. */
export interface PermitsLeft {
  readonly keyId: string
  readonly count: number
}

/** Redis's answer to a call that it took. */
interface Taken {
  readonly code: typeof LeaseCode.OK
  /** On Redis's clock. */
  readonly nowMs: number
}

/** Redis has taken a delivery. */
interface Delivered extends Taken {
  readonly permitsLeft: readonly PermitsLeft[]
  /** The fields of the leases whose charges it has not settled. */
  readonly unsettled: ReadonlySet<string>
}

/** Why a call was not taken; it did nothing. */
export interface NotTaken {
  readonly code: Exclude<(typeof LeaseCode)[keyof typeof LeaseCode], typeof LeaseCode.OK>
}

/** The parts of the context that the calls need. */
export type CallContext = Pick<LeaseContext, 'owner' | 'scripts' | 'limits' | 'answered' | 'serverChanges'>

/** The calls of one process to one shard of the admission state. Each has a number, by which late arrivals are detected. */
export class ShardCalls {
  /** In which the leases were taken; empty while it is not known. */
  epoch = ''
  /** The epoch in force, as the last call that was refused for its epoch learned. */
  inForce = ''
  private readonly shard: number
  private readonly context: CallContext
  private readonly fixed: readonly [string, string, string]
  private lastCall = 0

  constructor(shard: number, context: CallContext) {
    this.shard = shard
    this.context = context
    this.fixed = [epochKey(shard), leasesKey(shard, context.owner), ledgerStream(shard)]
  }

  /** Goes on for an owner that has made calls up to this number. */
  resume(lastCall: number): void {
    this.lastCall = lastCall
  }

  /** @throws the error of a call whose answer was lost; it may have been taken */
  async lease(asks: readonly LeaseAsk[]): Promise<(Taken & { readonly answers: LeaseAnswer[] }) | NotTaken> {
    const { ledgerStreamEntriesMax, leaseRestParts } = this.context.limits
    const { keys, args } = leaseArguments(asks, leaseRestParts)
    const reply = await this.call('lease', [...this.fixed, ...keys], [ledgerStreamEntriesMax, ...args])
    if (!isTaken(reply)) return this.notTaken(reply[0], reply[2])
    return { code: reply[0], nowMs: reply[1], answers: leaseAnswers(reply, asks) }
  }

  /** @throws as `lease` */
  async deliver(
    endings: readonly LeasedEnding[],
    given: readonly GivenBack[],
    unsettledWith?: Unsettled,
  ): Promise<Delivered | NotTaken> {
    const { keys, args, unsettled, owing } = deliverArguments(endings, given, unsettledWith)
    const batch = endings.length === 0 ? '' : Buffer.from(batchText(this.context.owner, endings), 'latin1')
    const range = [endings[0]?.seq ?? 0, endings.at(-1)?.seq ?? 0]
    args.push(this.context.limits.rememberResultMinutes)
    const reply = await this.call('deliver', [...this.fixed, ...keys], [...range, batch, ...args])
    if (!isTaken(reply)) return this.notTaken(reply[0], reply[3])
    return { code: reply[0], nowMs: reply[1], permitsLeft: permitsLeftIn(String(reply[4]), owing), unsettled }
  }

  /**
   * The state in Redis, once no earlier call can change it any more.
   * @throws as `lease`
   */
  async sync(): Promise<(Taken & { readonly deliveredSeq: number; readonly leases: LeasedParts[] }) | NotTaken> {
    const reply = await this.call('syncLeases', this.fixed.slice(0, 2), [])
    if (!isTaken(reply)) return this.notTaken(reply[0], reply[3])
    return { code: reply[0], nowMs: reply[1], deliveredSeq: Number(reply[2]), leases: this.leasesIn(reply.slice(4)) }
  }

  /**
   * Reports to Redis the amounts that are out.
   * @param load the loading that asks; '' while admission is open
   * @throws as `lease`
   */
  async report(load: string, bookedSeq: number, leases: readonly LeasedParts[]): Promise<Taken | NotTaken> {
    const keys: ScriptKey[] = [...this.fixed.slice(0, 2), loadGuardKey(this.shard)]
    const args: ScriptArgument[] = [bookedSeq]
    for (const { origin, field, parts } of leases) {
      const { accountId } = origin
      keys.push(accountKeys(this.shard, accountId, keyIdOf(origin)))
      args.push(field, accountId, origin.keys, `${coinPartText(parts)}|${grantsText(parts.grants)}`)
    }
    this.epoch = load
    const reply = await this.call('reportLeases', keys, args)
    if (!isTaken(reply)) return this.notTaken(reply[0], reply[2])
    this.epoch = String(reply[2])
    return { code: reply[0], nowMs: reply[1] }
  }

  private async call(name: keyof LeaseScripts, keys: ScriptKey[], args: ScriptArgument[]): Promise<Reply> {
    const script: Script = this.context.scripts[name]
    const sentAtMs = performance.now()
    const changes = this.context.serverChanges()
    this.lastCall++
    const reply = (await script(keys, [this.epoch, this.lastCall, ...args])) as Reply
    if (this.context.serverChanges() !== changes) throw new Error('a Redis that took over may have answered')
    this.context.answered(sentAtMs, reply[1])
    return reply
  }

  private notTaken(code: number, epoch: unknown): NotTaken {
    const known = Object.values(LeaseCode).find((one) => one === code)
    if (known === undefined || known === LeaseCode.OK) throw new Error(`a script of leases answered code ${code}`)
    if (known === LeaseCode.UNKNOWN_EPOCH) this.inForce = String(epoch ?? '')
    return { code: known }
  }

  private leasesIn(fields: readonly unknown[]): LeasedParts[] {
    const texts = new Map<string, string>()
    for (let i = 0; i + 1 < fields.length; i += 2) texts.set(String(fields[i]), String(fields[i + 1]))
    const leases: LeasedParts[] = []
    for (const [field, text] of texts) {
      if (!field.startsWith('L:') || isSingle(field)) continue
      const lease = parseLeaseText(text)
      if (lease === undefined) throw new Error(`a lease of Redis has an unknown form: ${text}`)
      const { accountId, keys, coin } = lease
      const out = { ...parseCoinPart(coin), grants: parseSplit(lease.parts).grants }
      const unsettled = parseCharges(texts.get(chargesField(field)))
      const origin = { shard: this.shard, accountId, keys, hour: hourOf(field) }
      leases.push({ origin, field, parts: withoutCharges(out, unsettled), unsettled })
    }
    return leases
  }
}

/** @param owing the keys, in the order of the answer */
function permitsLeftIn(text: string, owing: readonly string[]): PermitsLeft[] {
  const counts = text === '' ? [] : text.split(';')
  return owing.map((keyId, i) => ({ keyId, count: Number(counts[i] ?? '') }))
}

type Reply = [code: number, nowMs: number, ...rest: unknown[]]

function isTaken(reply: Reply): reply is [typeof LeaseCode.OK, number, ...unknown[]] {
  return reply[0] === LeaseCode.OK
}
