import type { DataPolicy } from '../../../../contract/catalog/catalog.ts'
import type { Dialect } from '../../../../contract/catalog/dialects.ts'
import { GatewayError, invalidRequest } from '../../../../contract/errors/errors.ts'
import { newId } from '../../../../contract/wire/ids.ts'
import { lockAccount } from '../../../book/ledger/accountRow.ts'
import { type Actor, recordActivity } from '../../../runtime/activity/activity.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import { camelColumns, msColumns } from '../../../runtime/db/columns.ts'
import { countOf } from '../../../runtime/db/count.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { retireProvider } from '../serving/admit.ts'

/** The registration of a checked endpoint. */
export interface NewProvider {
  readonly accountId: string
  readonly name: string
  readonly baseUrl: string
  readonly dialect: Dialect
  readonly dataPolicy: DataPolicy
  readonly models: readonly string[]
  /** The owner offers it for serving. */
  readonly offered: boolean
}

export interface Provider extends NewProvider {
  readonly id: string
  readonly checkedAtMs: number
  readonly createdAtMs: number
}

const COLUMNS = `${camelColumns('id, account_id, name, base_url, dialect, data_policy, models, offered')},
  ${msColumns('checked_at, created_at')}`

/**
 * Registers an endpoint, or overwrites the account's registration of the same address, inside the caller's transaction. An
 * endpoint stops serving when it is no longer offered, or when its data policy or dialect differs from its admission's.
 * @param apiKey stored for an endpoint that is offered
 * @returns the provider, and whether it is new
 * @throws GatewayError invalid_request beyond limits.providersPerAccountMax
 */
export async function registerProvider(
  client: Client,
  actor: Actor,
  provider: NewProvider,
  apiKey: string | undefined,
  limits: MarketplaceLimits,
): Promise<{ provider: Provider; isNew: boolean }> {
  const { accountId, name, baseUrl, dialect, dataPolicy, models, offered } = provider
  // The account's row is locked, so that concurrent registrations are counted one after the other.
  await lockAccount(client, accountId)
  const values = [accountId, baseUrl, name, dialect, dataPolicy, textArray(models), offered]
  const served = await servedAs(client, accountId, baseUrl)
  const changed = await client.query<Provider>(
    `UPDATE providers SET name = $3, dialect = $4, data_policy = $5, models = $6::text[], offered = $7, checked_at = now()
     WHERE account_id = $1 AND base_url = $2 AND removed_at IS NULL RETURNING ${COLUMNS}`,
    values,
  )
  const [before] = changed.rows
  const row = before ?? (await insert(client, accountId, values, limits))
  const type = before === undefined ? 'provider.registered' : 'provider.updated'
  await keepKey(client, row.id, offered ? apiKey : undefined)
  const isSame = offered && served?.dialect === dialect && served.dataPolicy === dataPolicy
  if (served?.offered === true && !isSame)
    await retireProvider(client, actor, row.id, undefined, 'changed by its owner')
  const details = { name, base_url: baseUrl, dialect, data_policy: dataPolicy, models: models.length, offered }
  await recordActivity(client, actor, [{ accountId, type, target: row.id, details }])
  return { provider: row, isNew: before === undefined }
}

/** The provider that is registered under an address. */
async function servedAs(client: Client, accountId: string, baseUrl: string): Promise<Provider | undefined> {
  locking(client, 'providers', () => [baseUrl])
  const found = await client.query<Provider>(
    `SELECT ${COLUMNS} FROM providers WHERE account_id = $1 AND base_url = $2 AND removed_at IS NULL FOR UPDATE`,
    [accountId, baseUrl],
  )
  return found.rows[0]
}

async function keepKey(client: Client, id: string, apiKey: string | undefined): Promise<void> {
  await client.query('DELETE FROM provider_keys WHERE provider_id = $1', [id])
  if (apiKey !== undefined) {
    await client.query('INSERT INTO provider_keys (provider_id, api_key) VALUES ($1, $2)', [id, apiKey])
  }
}

async function insert(
  client: Client,
  accountId: string,
  values: readonly unknown[],
  limits: MarketplaceLimits,
): Promise<Provider> {
  const counted = await countOf(client, 'SELECT count(*) FROM providers WHERE account_id = $1 AND removed_at IS NULL', [
    accountId,
  ])
  if (counted >= limits.providersPerAccountMax) {
    throw invalidRequest(`An account has at most ${limits.providersPerAccountMax} providers; remove one.`)
  }
  const made = await client.query<Provider>(
    `INSERT INTO providers (account_id, base_url, name, dialect, data_policy, models, offered, id)
     VALUES ($1, $2, $3, $4, $5, $6::text[], $7, $8) RETURNING ${COLUMNS}`,
    [...values, newId('prov')],
  )
  const [row] = made.rows
  if (row === undefined) throw new Error('the database returned no row for a new provider')
  return row
}

/**
 * Removes an endpoint from the list, inside the caller's transaction.
 * @param accountId the required owner; undefined for the operator, who may remove any
 * @throws GatewayError provider_not_found; permission_denied for another account's endpoint
 */
export async function removeProvider(
  client: Client,
  actor: Actor,
  id: string,
  accountId: string | undefined,
): Promise<Provider> {
  locking(client, 'providers', () => [id])
  const found = await client.query<Provider>(
    `SELECT ${COLUMNS} FROM providers WHERE id = $1 AND removed_at IS NULL FOR UPDATE`,
    [id],
  )
  const [row] = found.rows
  if (row === undefined) throw new GatewayError('provider_not_found')
  if (accountId !== undefined && row.accountId !== accountId) throw new GatewayError('permission_denied')
  const removed = await client.query<Provider>(
    `UPDATE providers SET removed_at = now(), offered = false WHERE id = $1 RETURNING ${COLUMNS}`,
    [id],
  )
  await keepKey(client, id, undefined)
  await retireProvider(client, actor, id, undefined, 'taken off the list')
  const details = { base_url: row.baseUrl }
  await recordActivity(client, actor, [{ accountId: row.accountId, type: 'provider.removed', target: id, details }])
  return removed.rows[0] ?? row
}

/** The providers that are registered, newest first. @param after the id of the provider to continue after, or '' */
export async function pageOfProviders(db: Queryable, limit: number, after: string): Promise<Provider[]> {
  const found = await db.query<Provider>(
    `SELECT ${COLUMNS} FROM providers WHERE removed_at IS NULL AND ($1 = '' OR id < $1) ORDER BY id DESC LIMIT $2`,
    [after, limit],
  )
  return found.rows
}
