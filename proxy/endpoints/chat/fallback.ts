import { ANY_REASON, type FallbackReason } from '../../../contract/catalog/fallback.ts'
import { type ErrorCode, GatewayError } from '../../../contract/errors/errors.ts'
import type { ModelRates } from '../../../contract/money/charge.ts'
import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { ReadRequest } from '../../dialects/shared/chatRequest.ts'
import type { ChatSurface } from '../../dialects/shared/codec.ts'
import { limited } from '../../upstream/keyVerdict.ts'
import { modelNotFound } from '../run/checkModel.ts'
import { type Admitted, admit, type Candidate, type Moment, ratesFor, sizeFor } from './admit.ts'

const REASON_OF: ReadonlyMap<string, FallbackReason> = new Map<ErrorCode, FallbackReason>([
  ['upstream_unavailable', 'unavailable'],
  ['upstream_timeout', 'unavailable'],
  ['model_unavailable', 'unavailable'],
  ['model_unverified', 'unavailable'],
  ['rate_limited', 'rate_limited'],
  ['context_length_exceeded', 'context_length'],
])
/** The key may not use the model. A caller who lists several gets the others. */
const NOT_FOR_KEY: ReadonlySet<string> = new Set<ErrorCode>(['model_not_allowed', 'no_route_for_policy'])

/** A model that may serve a request, by the request's own list or by the catalog. */
interface Named {
  readonly modelId: string
  readonly on: ReadonlySet<FallbackReason>
}

/** A request, its sender, and the format and the moment that it arrived in. */
interface Asked {
  readonly request: ReadRequest
  readonly surface: ChatSurface
  readonly principal: Principal
  readonly moment: Moment
}

/** Why another model may serve a request that ended with this error; undefined where none may. */
export function reasonOf({ row }: Pick<GatewayError, 'row'>): FallbackReason | undefined {
  return REASON_OF.get(row)
}

/**
 * Admits a request for its model, and for those that may serve in its place: the ones that it lists, else those of the catalog.
 * Models that its key may not use are left out.
 * @throws GatewayError as of `admit`
 */
export function admitAny(
  request: ReadRequest,
  surface: ChatSurface,
  principal: Principal,
  catalog: Pick<CatalogStore, 'model'>,
  moment: Moment,
): Admitted {
  const model = catalog.model(request.modelId)
  const { models } = request
  if (request.batch || (models === undefined && (model === undefined || model.fallbacks.length === 0))) {
    return admit(request, surface, principal, model, moment)
  }
  const others = models?.map((modelId): Named => ({ modelId, on: ANY_REASON })) ?? model?.fallbacks ?? []
  return new Choice({ request, surface, principal, moment }, models !== undefined).admit(model, others, catalog)
}

/** The model that a request names, and those that may serve in its place, as its key may use them. */
class Choice {
  private readonly asked: Asked
  /** The request itself lists the models. */
  private readonly isListed: boolean
  private first: Admitted | undefined
  private since: FallbackReason | undefined
  private wantUnits = 0
  private waitSeconds: number | undefined
  private isLimited = false
  private readonly candidates: Candidate[] = []

  constructor(asked: Asked, isListed: boolean) {
    this.asked = asked
    this.isListed = isListed
  }

  admit(model: Model | undefined, others: readonly Named[], catalog: Pick<CatalogStore, 'model'>): Admitted {
    const found = this.tried(model)
    if (found instanceof GatewayError) {
      this.noteWait(found)
      this.since = reasonOf(found)
      if (this.since === undefined && !(this.isListed && NOT_FOR_KEY.has(found.row))) throw found
    } else this.first = found
    for (const other of others) this.add(other, catalog.model(other.modelId), model)
    const { first } = this
    if (first === undefined) throw found instanceof GatewayError ? this.noneNow(found) : found
    // Tokens of a lock pay for one model, and a hold that has some pays for no other.
    if (first.lock !== undefined) return first
    const { wantUnits, candidates, since, waitSeconds } = this
    return { fallback: { wantUnits, candidates, since, waitSeconds }, ...first }
  }

  private add({ modelId, on }: Named, other: Model | undefined, model: Model | undefined): void {
    if (other === undefined && this.isListed) throw modelNotFound(modelId, 'models')
    if (other === undefined || (this.since !== undefined && this.first === undefined && !on.has(this.since))) return
    // Nobody pays for a model that the operator chose in place of a free one.
    if (!this.isListed && model !== undefined && this.isFree(model) && !this.isFree(other)) return
    const admitted = this.tried(other)
    if (admitted instanceof GatewayError) {
      if (this.first === undefined || on.has('rate_limited')) this.noteWait(admitted)
      return
    }
    if (this.first === undefined) this.first = admitted
    else this.candidates.push({ admitted: { ...admitted, lock: undefined }, on })
  }

  /** The request admitted for a model, and what it can cost there; else the reason why not. */
  private tried(model: Model | undefined): Admitted | GatewayError {
    const { request, surface, principal, moment } = this.asked
    try {
      const admitted = admit(request, surface, principal, model, moment)
      this.wantUnits = Math.max(this.wantUnits, admitted.size.wantUnits)
      return admitted
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      // A model counts even while it cannot be asked, so that a quote stays what it was.
      if (model !== undefined && isOut(error)) {
        const { wantUnits } = sizeFor(request, model, ratesFor(model, principal, request))
        this.wantUnits = Math.max(this.wantUnits, wantUnits)
      }
      return error
    }
  }

  private noteWait(error: GatewayError): void {
    if (!isOut(error)) return
    this.waitSeconds = sooner(this.waitSeconds, error.retryAfterSeconds)
    this.isLimited ||= error.row === 'rate_limited'
  }

  /** The error while no model can be asked: what is wrong with the first, or the time until any of them can. */
  private noneNow(found: GatewayError): GatewayError {
    const { waitSeconds: retryAfterSeconds, isLimited } = this
    if (retryAfterSeconds === undefined) return found
    return isLimited ? limited(retryAfterSeconds * 1000) : new GatewayError('model_unavailable', { retryAfterSeconds })
  }

  private isFree({ rates, ratesPrivate }: Model): boolean {
    const paid = this.asked.principal.privateTier ? ratesPrivate : rates
    return paid !== null && isZero(paid)
  }
}

/** The model that is asked after one has failed: the next that the reason allows, and that the hold pays for. */
export function nextCandidate(
  candidates: readonly Candidate[],
  failed: Admitted,
  error: GatewayError,
  heldUnits: number,
): Candidate | undefined {
  const reason = reasonOf(error)
  if (reason === undefined) return undefined
  return candidates.find(({ admitted, on }) => {
    if (!on.has(reason) || admitted.size.leastUnits > heldUnits) return false
    return reason !== 'context_length' || admitted.model.context > failed.model.context
  })
}

/** The shorter of two waits; undefined is one that nobody states. */
export function sooner(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

/** The model cannot be asked now. */
function isOut({ row }: GatewayError): boolean {
  return row === 'model_unavailable' || row === 'rate_limited'
}

function isZero({ long, ...base }: ModelRates): boolean {
  return [base, long].every(({ input, output, cachedInput, cacheWrite5m, cacheWrite1h }) =>
    [input, output, cachedInput, cacheWrite5m, cacheWrite1h].every((rate) => rate === 0),
  )
}
