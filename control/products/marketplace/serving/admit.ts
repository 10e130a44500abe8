import { sluice } from '../../../../contract/wire/generated/messages.js'
import { newId } from '../../../../contract/wire/ids.ts'
import { currentRecord } from '../../../catalog/pricing/sheetStore.ts'
import { type Actor, recordActivity } from '../../../runtime/activity/activity.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import { type Admission, admissionsOf, lockAdmissions, lockOpenAdmissions, PPM, type Terms } from './admission.ts'
import { changeState } from './transition.ts'

/** The operator's request cannot be carried out; the message says why. */
export class AdmissionError extends Error {
  override readonly name = 'AdmissionError'
}

interface Offered {
  readonly account_id: string
  readonly dialect: string
  readonly offered: boolean
  readonly models: string[]
}

/**
 * Admits a registered provider for a model of the catalog, on probation, in the caller's transaction.
 * @param upstreamModel how the provider calls the model
 * @throws AdmissionError when the provider is not offered, does not list the model, or is admitted for it already; when
 *   the catalog in force has no such chat model with its own route, or the model runs on attested hardware
 */
export async function admitProvider(
  client: Client,
  actor: Actor,
  providerId: string,
  model: string,
  upstreamModel: string,
  terms: Terms,
): Promise<Admission> {
  locking(client, 'providers', () => [providerId])
  const found = await client.query<Offered>(
    'SELECT account_id, dialect, offered, models FROM providers WHERE id = $1 AND removed_at IS NULL FOR UPDATE',
    [providerId],
  )
  const [provider] = found.rows
  if (provider === undefined) throw new AdmissionError(`no provider ${providerId} is registered; see provider list`)
  if (!provider.offered) {
    throw new AdmissionError(`${providerId} is not offered for serving; its owner registers it with "offered": true`)
  }
  if (!provider.models.includes(upstreamModel)) {
    throw new AdmissionError(`${providerId} does not list the model ${upstreamModel}; see provider list`)
  }
  await requireServed(client, model, provider.dialect)
  await requireRoom(client, model, terms)
  const accountId = provider.account_id
  const before = (await admissionsOf(client, [providerId])).filter((one) => one.model === model)
  if (before.some(({ state }) => state !== 'removed')) {
    throw new AdmissionError(`${providerId} is admitted for ${model} already; remove that first to change its terms`)
  }
  const id = await insert(client, { providerId, accountId, model, upstreamModel, terms, isFirst: before.length === 0 })
  const details = { model, upstream_model: upstreamModel, canary_ppm: terms.canaryPpm, full_ppm: terms.fullPpm }
  await recordActivity(client, actor, [{ accountId, type: 'provider.admitted', target: providerId, details }])
  const made = (await admissionsOf(client, [providerId])).find((one) => one.id === id)
  if (made === undefined) throw new Error('the database returned no row for a new admission')
  return made
}

/**
 * @throws AdmissionError unless the catalog in force has a route for a model of this kind, so that failures have somewhere to
 * go; of the same dialect, because requests are held for by the dialects of the catalog's routes
 */
async function requireServed(db: Queryable, model: string, dialect: string): Promise<void> {
  const encoded = await currentRecord(db)
  const record = encoded && sluice.CatalogRecord.decode(encoded)
  const listed = record?.models.find(({ id }) => id === model)
  if (!listed) throw new AdmissionError(`the catalog in force has no model ${model}`)
  const { modality, attested, routes } = sluice.ModelRecord.create(listed)
  if (modality !== 'chat') throw new AdmissionError(`${model} is not a chat model; no other kind is admitted`)
  if (attested)
    throw new AdmissionError(`${model} runs on attested hardware, which a registered provider does not prove`)
  const enabled = routes.filter((route) => route.enabled === true)
  if (enabled.length === 0) {
    throw new AdmissionError(`${model} has no enabled route in the catalog that requests could fall back to`)
  }
  const dialects = enabled.map((route) => record?.providers.find(({ id }) => id === route.provider)?.dialect)
  if (!dialects.includes(dialect)) {
    throw new AdmissionError(`${model} has no route of the dialect ${dialect}, which the provider speaks`)
  }
}

/** @throws AdmissionError when all that are admitted for a model would have more than all of its requests */
async function requireRoom(client: Client, model: string, { fullPpm }: Terms): Promise<void> {
  const open = (await lockOpenAdmissions(client)).filter((one) => one.model === model)
  const taken = open.reduce((sum, one) => sum + one.fullPpm, 0)
  if (taken + fullPpm <= PPM) return
  throw new AdmissionError(`others are admitted for ${taken / PPM} of the requests to ${model}; lower --full`)
}

interface NewAdmission {
  readonly providerId: string
  readonly accountId: string
  readonly model: string
  readonly upstreamModel: string
  readonly terms: Terms
  readonly isFirst: boolean
}

async function insert(client: Client, made: NewAdmission): Promise<string> {
  const { terms, isFirst } = made
  const { pay } = terms
  const id = newId('adm')
  // The first terms also apply to requests that were served before them: there are no others.
  const fromId = isFirst ? '' : newId('req')
  await client.query(
    `INSERT INTO provider_admissions (id, provider_id, account_id, model, upstream_model, from_id, share_ppm, input_price,
       cached_input_price, output_price, canary_ppm, full_ppm, probation_ms, probation_requests, error_ppm_max,
       first_output_max_ms, mismatch_ppm_max)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    [
      id,
      made.providerId,
      made.accountId,
      made.model,
      made.upstreamModel,
      fromId,
      pay.kind === 'share' ? pay.ppm : null,
      pay.kind === 'price' ? pay.input : null,
      pay.kind === 'price' ? pay.cachedInput : null,
      pay.kind === 'price' ? pay.output : null,
      terms.canaryPpm,
      terms.fullPpm,
      terms.probationMs,
      terms.probationRequests,
      terms.errorPpmMax,
      terms.firstOutputMaxMs,
      terms.mismatchPpmMax,
    ],
  )
  return id
}

/**
 * Takes a provider out of service until the operator resumes it, in the caller's transaction.
 * @param model of one model only; undefined for all
 * @returns the admissions that were in service or suspended for a time
 * @throws AdmissionError without such an admission
 */
export async function suspendProvider(
  client: Client,
  actor: Actor,
  providerId: string,
  model: string | undefined,
  reason: string,
): Promise<Admission[]> {
  const admissions = await requireAdmissions(client, providerId, model)
  await takeOut(client, actor, admissions, 'suspended', reason)
  return admissions
}

/**
 * Puts a suspended provider back on probation and forgets its suspensions, in the caller's transaction.
 * @throws AdmissionError without an admission, or if none is suspended
 */
export async function resumeProvider(
  client: Client,
  actor: Actor,
  providerId: string,
  model: string | undefined,
): Promise<Admission[]> {
  const admissions = await requireAdmissions(client, providerId, model)
  const suspended = admissions.filter(({ state }) => state === 'suspended')
  if (suspended.length === 0) throw new AdmissionError(`${providerId} is not suspended`)
  for (const admission of suspended) {
    await changeState(client, actor, admission, { to: 'probation', reason: '', suspensions: 0, resumesAtMs: null })
  }
  return suspended
}

/**
 * Ends admissions of a provider, in the caller's transaction: when its owner or the operator removes it. Requests that it has
 * served are paid all the same.
 * @param model of one model only; undefined for all
 */
export async function retireProvider(
  client: Client,
  actor: Actor,
  providerId: string,
  model: string | undefined,
  reason: string,
): Promise<Admission[]> {
  const admissions = await lockAdmissions(client, providerId, model)
  await takeOut(client, actor, admissions, 'removed', reason)
  return admissions
}

async function takeOut(
  client: Client,
  actor: Actor,
  admissions: readonly Admission[],
  to: 'suspended' | 'removed',
  reason: string,
): Promise<void> {
  for (const admission of admissions) {
    const { suspensions } = admission
    await changeState(client, actor, admission, { to, reason, suspensions, resumesAtMs: null })
  }
}

async function requireAdmissions(client: Client, providerId: string, model: string | undefined): Promise<Admission[]> {
  const admissions = await lockAdmissions(client, providerId, model)
  if (admissions.length > 0) return admissions
  throw new AdmissionError(`${providerId} is not admitted for ${model ?? 'any model'}; see provider list`)
}
