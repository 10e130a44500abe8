import { formatTokens } from '../../../contract/money/lockTokens.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { soldUnits } from '../../book/ledger/lockProceeds.ts'
import { GATEWAY, GATEWAY_WIDE, OPERATOR, recordActivity } from '../../runtime/activity/activity.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { Catalog } from './catalogFile.ts'
import { placeOf } from './promiseViolation.ts'

/** The parts of a model that decide whether requests that burn tokens can be served. */
export interface ServedModel {
  readonly id: string
  readonly isChat: boolean
  readonly isVerified: boolean
  /** The providers of its enabled routes. */
  readonly providers: readonly string[]
}

interface SeriesRow {
  readonly id: string
  readonly model: string
  readonly month: string
  readonly provider: string
  readonly ends_at_ms: number
  readonly micro_units: number
  readonly unavailable: string
}

/** A series that a catalog cannot serve although customers have tokens of it. */
export interface BrokenSeries {
  readonly id: string
  readonly model: string
  readonly provider: string
  /** The part that the catalog lacks. */
  readonly fault: string
  /** One line for the operator. */
  readonly text: string
}

/** The models of a catalog file. */
function modelsOfCatalog({ models }: Catalog): ServedModel[] {
  return models.map(({ id, modality, verified, routes }) => ({
    id,
    isChat: modality === 'chat',
    isVerified: verified,
    providers: routes.filter(({ enabled }) => enabled).map(({ provider }) => provider),
  }))
}

/** The models of a catalog record, without the routes that are disabled by hand. */
export function modelsOfRecord(encoded: Uint8Array): ServedModel[] {
  return sluice.CatalogRecord.decode(encoded).models.map(({ id, modality, unverified, routes }) => ({
    id: id ?? '',
    isChat: modality === 'chat',
    isVerified: unverified !== true,
    providers: (routes ?? []).flatMap(({ provider, enabled, switchedOff }) =>
      enabled === true && switchedOff !== true ? [provider ?? ''] : [],
    ),
  }))
}

/** Why requests for a model cannot burn tokens of a series at a provider; undefined where they can. */
export function seriesFault(
  models: readonly ServedModel[],
  { model: id, provider }: { readonly model: string; readonly provider: string },
): string | undefined {
  const model = models.find((one) => one.id === id)
  if (model === undefined) return `the catalog has no model ${id}`
  if (!model.isChat) return `${id} is no chat model; only those have locks`
  if (!model.isVerified) return `${id} is not verified, so that it is not served`
  if (model.providers.includes(provider)) return undefined
  return `no route of ${id} that is enabled goes to ${provider}`
}

/**
 * Compares a catalog with the open series of which customers hold, offer or have withdrawn tokens.
 * @param lock whether the series are locked, so that nobody buys the first tokens of one until the transaction ends
 */
export async function brokenSeries(
  db: Queryable,
  catalog: Catalog,
  nowMs: number,
  lock: boolean,
): Promise<BrokenSeries[]> {
  const models = modelsOfCatalog(catalog)
  if (lock) locking(db, 'series')
  const found = await db.query<SeriesRow>(`${OPEN_SERIES} ${lock ? 'FOR NO KEY UPDATE' : ''}`, [nowMs])
  const faulty = found.rows.filter((row) => seriesFault(models, row) !== undefined)
  const sold = await soldUnits(
    db,
    faulty.map(({ id }) => id),
  )
  return faulty.flatMap((row) => {
    const [units, fault] = [Number(sold.get(row.id) ?? 0n), seriesFault(models, row) ?? '']
    if (units === 0) return []
    const index = catalog.models.findIndex(({ id }) => id === row.model)
    const place = placeOf(catalog.source, index < 0 ? ['models'] : ['models', index, 'routes'])
    const until = new Date(row.ends_at_ms).toISOString()
    const text =
      `${place}: ${row.model}: ${fault}: compute lock ${row.id} (${row.month}) promises until ${until} that ${row.provider} ` +
      `serves it, and customers have ${formatTokens(units / row.micro_units)} tokens; "catalog publish --break-series REASON" ends it and pays ` +
      'them back'
    return [{ id: row.id, model: row.model, provider: row.provider, fault, text }]
  })
}

const OPEN_SERIES = `SELECT id, model, month, provider, ends_at_ms, locked_price_units / 1000000 AS micro_units,
  unavailable FROM lock_series
  WHERE state = 'open' AND ends_at_ms > $1 ORDER BY id`

/** Ends series before their month, in the transaction that puts their catalog in force. @param reason goes into the trail */
export async function breakSeries(client: Client, broken: readonly BrokenSeries[], reason: string): Promise<void> {
  for (const series of broken) await endBefore(client, OPERATOR, series, reason)
}

/**
 * Ends a series that has been unavailable to the end of its month, so that its holders are paid back.
 * @param series locked in this transaction
 */
export async function breakUnserved(
  client: Client,
  series: { readonly id: string; readonly model: string; readonly provider: string; readonly unavailable: string },
): Promise<void> {
  const reason = 'It could not be served at the end of its month.'
  await endBefore(client, GATEWAY, { ...series, fault: series.unavailable }, reason)
}

async function endBefore(
  client: Client,
  actor: typeof OPERATOR,
  { id, model, provider, fault }: Omit<BrokenSeries, 'text'>,
  reason: string,
): Promise<void> {
  await client.query(`UPDATE lock_series SET state = 'broken', unavailable = $2 WHERE id = $1 AND state = 'open'`, [
    id,
    fault,
  ])
  const details = { model, provider, fault, reason }
  await recordActivity(client, actor, [{ accountId: GATEWAY_WIDE, type: 'lock.broken', target: id, details }])
}

/**
 * Notes of each open series whether a catalog record can serve it. Orders wait for it: they lock their series first.
 * @param record that is in force from this transaction on
 */
export async function noteUnavailable(db: Queryable, record: Uint8Array): Promise<void> {
  const found = await db.query<SeriesRow>(OPEN_SERIES, [Date.now()])
  if (found.rows.length === 0) return
  const models = modelsOfRecord(record)
  for (const row of found.rows) {
    const fault = seriesFault(models, row) ?? ''
    if (fault === row.unavailable) continue
    await db.query(`UPDATE lock_series SET unavailable = $2 WHERE id = $1 AND state = 'open'`, [row.id, fault])
  }
}
