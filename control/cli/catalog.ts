import { stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { type Catalog, readCatalogFile } from '../catalog/pricing/catalogFile.ts'
import { publishCatalog, refuseBrokenPromises } from '../catalog/pricing/publish.ts'
import { listSheets } from '../catalog/pricing/sheetStore.ts'
import { unattestedModels } from '../catalog/pricing/unattested.ts'
import { signingWith } from '../catalog/signing/signCatalog.ts'
import { publishCatalogRecord } from '../runtime/bus/feed.ts'
import { FileError } from '../runtime/files/yamlFile.ts'
import { CATALOG_SIGNER } from './catalogSigner.ts'
import { type Arguments, type CommandGroup, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

/** Runs `work` on the file; its faults are printed line by line, and the status is 1. */
async function withCatalog(
  args: Arguments,
  context: CliContext,
  work: (catalog: Catalog, path: string) => Promise<number | undefined>,
): Promise<number | undefined> {
  const given = args.named.get('FILE')
  const path = context.catalogPath(given)
  try {
    if (given !== undefined && !(await isFile(path))) throw new FileError([`${path}: there is no such file`])
    return await work(await readCatalogFile(path), path)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    context.print({ ok: false, problems: error.problems }, error.problems.join('\n'))
    return 1
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}

/** Keys that are not in this environment; control or the proxies may well have them in theirs. */
function warnOfUnsetKeys(catalog: Catalog, context: CliContext): void {
  for (const { id, apiKeyEnv } of catalog.tools) {
    if (apiKeyEnv === '' || process.env[apiKeyEnv]) continue
    context.warn(`note: ${apiKeyEnv} is not set here; a proxy without it does not sell ${id}`)
  }
  for (const { id, apiKeyEnv } of catalog.providers) {
    if (apiKeyEnv === '' || process.env[apiKeyEnv]) continue
    context.warn(`note: ${apiKeyEnv} is not set here; a proxy without it leaves out the routes to ${id}`)
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
    ...CATALOG_SIGNER,
  ],
}
