import { CatalogKey, generateCatalogKey } from '../catalog/signing/catalogKey.ts'
import { signerOfNumber } from '../catalog/signing/catalogStore.ts'
import { RotationError, rotateSigner } from '../catalog/signing/rotateSigner.ts'
import { provideNextCatalogKey, takeNextCatalogKey } from '../launch/catalogKey.ts'
import { withTransaction } from '../runtime/db/pool.ts'
import type { Arguments, Command } from './command.ts'
import { type CliContext, CommandError } from './context.ts'

async function key(_args: Arguments, context: CliContext): Promise<undefined> {
  const secret = generateCatalogKey()
  const { keys } = CatalogKey.of(secret)
  context.print({ key: secret, ...keys }, `SLUICE_CATALOG_KEY=${secret}\nits address: ${keys.address}`)
}

async function rotate(_args: Arguments, context: CliContext): Promise<undefined> {
  const present = context.catalogKey
  if (present === undefined)
    throw new CommandError('the key that signs the catalog is not known: set SLUICE_CATALOG_KEY')
  const folder = context.nextCatalogKey === undefined ? context.catalogKeyDir : undefined
  const next = context.nextCatalogKey ?? (folder && CatalogKey.of(provideNextCatalogKey(folder)))
  if (!next) throw new CommandError('the next key is not known: make one by `catalog key`, set SLUICE_CATALOG_NEXT_KEY')
  const rotation = await rotated(context, present, next)
  if (folder !== undefined) takeNextCatalogKey(folder)
  const { number, keys, fromVersion } = rotation
  const start = folder === undefined ? 'control starts with it as SLUICE_CATALOG_KEY' : '`make run` starts again'
  context.print(
    { number: String(number), ...keys, from_version: String(fromVersion) },
    `${keys.address} signs the catalog from version ${fromVersion}; nothing new is signed until ${start}`,
  )
}

/** Rotates the key; a rotation that was interrupted after its commit is only reported again. */
async function rotated(context: CliContext, present: CatalogKey, next: CatalogKey) {
  const pool = await context.pool()
  const signer = await signerOfNumber(pool)
  if (signer?.keys.address === next.keys.address) return signer
  try {
    return await withTransaction(pool, (client) => rotateSigner(client, present, next, context.limits))
  } catch (error) {
    if (error instanceof RotationError) throw new CommandError(error.message)
    throw error
  }
}

/** Commands of the key that signs the catalog. */
export const CATALOG_SIGNER: readonly Command[] = [
  { synopsis: 'key', summary: 'Generates a key that signs the catalog and prints it; it is not stored.', run: key },
  {
    synopsis: 'rotate-signer',
    summary: 'Rotates the key that signs the catalog to SLUICE_CATALOG_NEXT_KEY, or to a new one for `make run`.',
    run: rotate,
  },
]
