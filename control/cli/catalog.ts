import { relative } from 'node:path'
import { readSecret } from '../../contract/providers/providerKeys.ts'
import type { Catalog } from '../catalog/pricing/catalogFile.ts'
import { publishCatalog, refuseBrokenPromises } from '../catalog/pricing/publish.ts'
import { listSheets } from '../catalog/pricing/sheetStore.ts'
import { unattestedModels } from '../catalog/pricing/unattested.ts'
import { signingWith } from '../catalog/signing/signCatalog.ts'
import { publishCatalogRecord } from '../runtime/bus/feed.ts'
import { withCatalog } from './catalogOf.ts'
import { CATALOG_SIGNER } from './catalogSigner.ts'
import { TRY } from './catalogTry.ts'
import { type Arguments, type CommandGroup, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

/** Keys that are not in this environment; control or the proxies may well have them in theirs. */
function warnOfUnsetKeys(catalog: Catalog, context: CliContext): void {
  for (const { id, apiKeyEnv } of catalog.tools) {
    if (apiKeyEnv === '' || process.env[apiKeyEnv]) continue
    context.warn(`note: ${apiKeyEnv} is not set here; a proxy without it does not sell ${id}`)
  }
  for (const { id, keys } of catalog.providers) {
    for (const key of keys) {
      const { fault } = readSecret(key, process.env)
      if (fault === '') continue
      const lost = keys.length === 1 ? `the routes to ${id}` : `the key ${key.id} of ${id}`
      const state = key.file === '' ? `${key.env} is not set` : `${key.file} cannot be read (${fault})`
      context.warn(`note: ${state} here; a proxy without it leaves out ${lost}`)
    }
  }
}

/** Warns of models on the private tier without attested hardware. */
function warnOfUnattested(catalog: Catalog, context: CliContext): void {
  for (const id of unattestedModels(catalog)) {
    context.warn(`note: no provider of ${id} has attestation, so that its private tier is off`)
  }
}

async function check(args: Arguments, context: CliContext): Promise<number | undefined> {
  return withCatalog(args, context, async (catalog, path) => {
    let promises = 'the promises of prices and compute locks hold'
    const checked = await context.pool().then(
      async (pool) => {
        await refuseBrokenPromises(pool, catalog)
        return true
      },
      (error: Error) => {
        promises = 'the promises of prices and compute locks are not checked'
        context.warn(`note: ${error.message}`)
        return false
      },
    )
    warnOfUnsetKeys(catalog, context)
    warnOfUnattested(catalog, context)
    const counts = { models: catalog.models.length, providers: catalog.providers.length }
    context.print(
      { ok: true, ...counts, promises_checked: checked },
      `${path} holds: ${counts.models} models, ${counts.providers} providers; ${promises}`,
    )
    return 0
  })
}

async function publish(args: Arguments, context: CliContext): Promise<number | undefined> {
  const coinChangeReason = flag(args, 'change-coin')
  if (coinChangeReason?.trim() === '') throw new UsageError('--change-coin needs the reason, which goes into the trail')
  const breakSeriesReason = flag(args, 'break-series')
  if (breakSeriesReason?.trim() === '')
    throw new UsageError('--break-series needs the reason, which goes into the trail')
  return withCatalog(args, context, async (catalog, path) => {
    const pool = await context.pool()
    const { limits } = context
    const sign = signingWith(context.catalogKey, limits)
    const options = { coinChangeReason, breakSeriesReason, sign }
    const published = await publishCatalog(pool, catalog, limits, Date.now(), options)
    if (published.signing?.state === 'other_signer') {
      context.warn(`note: ${published.signing.signer} signs the catalog, and its key is not here; control signs it`)
    }
    await publishCatalogRecord(await context.redis(), published.version, published.record, limits)
    const { version, isNewSheet, isNewRecord } = published
    const what = isNewSheet
      ? `price sheet ${version} is published`
      : isNewRecord
        ? `price sheet ${version} stays; the routes are replaced`
        : `nothing changed; price sheet ${version} is in force`
    warnOfUnsetKeys(catalog, context)
    warnOfUnattested(catalog, context)
    context.print(
      { ok: true, version: String(version), new_sheet: isNewSheet, changed: isNewRecord },
      `${relative('.', path)}: ${what}`,
    )
    return 0
  })
}

async function sheets(_args: Arguments, context: CliContext): Promise<undefined> {
  const published = await listSheets(await context.pool())
  const data = published.map(({ version, publishedAtMs, validUntilMs }) => ({
    version: String(version),
    published_at: formatTime(publishedAtMs),
    valid_until: formatTime(validUntilMs),
  }))
  const rows = data.map((sheet) => [sheet.version, sheet.published_at, sheet.valid_until])
  context.print({ data }, table(['SHEET', 'PUBLISHED', 'PROMISED UNTIL'], rows))
}

export const CATALOG: CommandGroup = {
  name: 'catalog',
  summary: 'check, publish and sign the catalog',
  commands: [
    {
      synopsis: 'check [FILE]',
      summary:
        'Validates a catalog, with line and reason, and checks that it keeps the promises of prices and compute locks.',
      run: check,
    },
    {
      synopsis: 'publish [FILE]',
      summary: 'Puts a catalog in force now. Without FILE, the catalog of the running control.',
      flags: {
        'change-coin': {
          value: 'REASON',
          help: 'change coin.usd within its price promise; the reason is recorded in the trail',
        },
        'break-series': {
          value: 'REASON',
          help: 'end compute locks that the catalog cannot serve, and pay their holders back; the reason is recorded in the trail',
        },
      },
      run: publish,
    },
    { synopsis: 'sheets', summary: 'Lists the published price sheets, newest first.', run: sheets },
    TRY,
    ...CATALOG_SIGNER,
  ],
}
