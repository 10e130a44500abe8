import { chargeUnits, type ModelRates, NO_USAGE } from '../../../../contract/money/charge.ts'
import { coinBoughtFor } from '../../../../contract/money/coin.ts'
import { newId } from '../../../../contract/wire/ids.ts'
import { PROVIDER_COST } from '../../../book/ledger/accounts.ts'
import { CoinRoom } from '../../../book/ledger/coinRoom.ts'
import { creditCoin } from '../../../book/ledger/creditCoin.ts'
import { bookPrice } from '../../../catalog/pricing/coinAmounts.ts'
import { type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import type { CallHttp } from '../../../runtime/net/httpCall.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { type Pay, PPM, type ProviderAdmission } from './admission.ts'
import { askModel } from './askModel.ts'
import { isOverReported, type ProbeAnswer, similarityPpm } from './compareAnswers.ts'
import { newComparison } from './comparison.ts'
import type { ProbedModel } from './probeModel.ts'
import type { ServedEndpoint } from './servedEndpoints.ts'

export interface ProbeParts {
  readonly pool: Pool
  readonly call: CallHttp
  /** Providers may have private addresses. */
  readonly allowPrivate: boolean
  readonly limits: MarketplaceLimits
}

/**
 * Compares a provider's answer to one of the gateway's own prompts with that of the model's route in the catalog, stores the
 * outcome, and pays the provider for its answer as for a request at the model's price. If the reference does not answer, the
 * provider is not asked.
 */
export async function probe(
  parts: ProbeParts,
  admission: ProviderAdmission,
  endpoint: ServedEndpoint,
  model: ProbedModel,
): Promise<void> {
  const { call, allowPrivate, limits } = parts
  const comparison = newComparison(model)
  const prompt = comparison.prompt.task
  const reference = await askModel(model.reference, comparison, call, limits)
  if (reference === undefined) return
  const asked = { ...endpoint, model: admission.upstreamModel, maxTokensField: '', allowPrivate }
  const answer = await askModel(asked, comparison, call, limits)
  if (answer === undefined) {
    await note(parts, admission, { prompt, outcome: 'failed', similarity: 0, units: 0 })
    return
  }
  const similarity = similarityPpm(answer.text, reference.text)
  const isSame = similarity >= limits.providerSameAnswerPpm
  const outcome = isOverReported(answer, reference) ? 'over_report' : isSame ? 'same' : 'different'
  const units = dueUnits(answer, reference, model.rates, admission.pay, limits)
  await note(parts, admission, { prompt, outcome, similarity, units })
}

/** The amount due for an answer. Its usage counts no further than the reference answer makes plausible. */
function dueUnits(
  answer: ProbeAnswer,
  reference: ProbeAnswer,
  rates: ModelRates,
  pay: Pay,
  limits: MarketplaceLimits,
): number {
  const input = Math.min(answer.promptTokens ?? 0, reference.promptTokens ?? 0)
  const output = Math.min(answer.outputTokens ?? 0, limits.providerProbeTokens)
  const charge = chargeUnits(rates, { ...NO_USAGE, input, output })
  if (pay.kind === 'share') return Number((BigInt(charge) * BigInt(pay.ppm)) / BigInt(PPM))
  const cost = (BigInt(input) * BigInt(pay.input) + BigInt(output) * BigInt(pay.output)) / BigInt(PPM)
  return Math.min(charge, Number(cost))
}

interface Noted {
  /** The number of its task. */
  readonly prompt: number
  readonly outcome: 'same' | 'different' | 'over_report' | 'failed'
  readonly similarity: number
  readonly units: number
}

function note({ pool }: ProbeParts, { id: admissionId, accountId }: ProviderAdmission, noted: Noted): Promise<void> {
  return withTransaction(pool, async (client) => {
    const id = newId('prb')
    const room = new CoinRoom()
    await room.read(client, [accountId])
    // As for requests, what the account is too full for is dropped: else it would be judged by no comparison.
    const nanos = room.take(accountId, coinBoughtFor(noted.units, await bookPrice(client)))
    const units = nanos > 0 ? noted.units : 0
    if (units > 0) {
      await creditCoin(client, { accountId, nanos, units, ref: id, kind: 'provider_probe', from: PROVIDER_COST })
    }
    await client.query(
      `INSERT INTO provider_probes (id, admission_id, prompt, outcome, similarity_ppm, units) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, admissionId, noted.prompt, noted.outcome, noted.similarity, units],
    )
  })
}
