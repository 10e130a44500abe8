import { lockUntilCommit } from '../../runtime/db/locks.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { CatalogLimits } from '../limits.ts'
import { currentRecord } from '../pricing/sheetStore.ts'
import type { SignCatalog, Signing } from '../pricing/signing.ts'
import type { CatalogKey } from './catalogKey.ts'
import {
  insertCatalog,
  insertSigner,
  lastCatalog,
  type SignedCatalog,
  type StoredSigner,
  sheetsBetween,
  signerOfNumber,
} from './catalogStore.ts'
import { type CatalogContent, catalogContent, catalogText } from './catalogText.ts'
import { catalogStatement, sha256Hex, signerStatement } from './statements.ts'

/** Signs by a key, as publications have it done. */
export function signingWith(key: CatalogKey | undefined, limits: CatalogLimits): SignCatalog | undefined {
  if (key === undefined) return undefined
  const read = readOnce()
  return (client, nowMs) => signCatalog(client, key, limits, nowMs, read)
}

/** `catalogContent` of a record that is mostly the one of before: a large one takes a tenth of a second. */
function readOnce(): (encoded: Buffer) => CatalogContent {
  let known: { readonly encoded: Buffer; readonly content: CatalogContent } | undefined
  return (encoded) => {
    if (known?.encoded.equals(encoded) !== true) known = { encoded, content: catalogContent(encoded) }
    return known.content
  }
}

/**
 * Signs the catalog in force as the next version, in the caller's transaction, when the last version has other content or
 * expires soon. The first key that signs is the book's first signer; every other one has to be named by the one before.
 * @param nowMs milliseconds since 1970
 * @param read `catalogContent`
 */
export async function signCatalog(
  client: Client,
  key: CatalogKey,
  limits: CatalogLimits,
  nowMs: number,
  read: (encoded: Buffer) => CatalogContent = catalogContent,
): Promise<Signing> {
  await lockUntilCommit(client, 'publication')
  const encoded = await currentRecord(client)
  if (encoded === undefined) return { state: 'unchanged' }
  const signer = (await signerOfNumber(client)) ?? (await firstSigner(client, key, nowMs))
  if (signer.keys.address !== key.keys.address) {
    return { state: 'other_signer', signer: signer.keys.address, key: key.keys.address }
  }
  const content = read(encoded)
  const last = await lastCatalog(client)
  const isKept =
    last?.contentHash === content.hash &&
    last.signer === signer.number &&
    last.validUntil.getTime() - nowMs > limits.catalogRenewMs
  if (isKept) return { state: 'unchanged' }
  return { state: 'signed', version: await signNext(client, { content, key, signer, last, limits, nowMs }) }
}

/** The parts of the next version. */
interface NextCatalog {
  readonly content: CatalogContent
  readonly key: CatalogKey
  readonly signer: StoredSigner
  readonly last: SignedCatalog | undefined
  readonly limits: CatalogLimits
  readonly nowMs: number
}

async function signNext(client: Client, next: NextCatalog): Promise<number> {
  const { content, key, signer, last, limits, nowMs } = next
  const { sheetVersion } = content
  const version = (last?.version ?? 0) + 1
  const [validFrom, validUntil] = [new Date(nowMs), new Date(nowMs + limits.catalogValidMs)]
  const text = catalogText(content, {
    version,
    previous: last,
    signer: signer.keys,
    validFromMs: validFrom.getTime(),
    validUntilMs: validUntil.getTime(),
    earlierSheets: await sheetsBetween(client, last?.sheetVersion ?? 0, sheetVersion, limits.catalogEarlierSheetsMax),
  })
  const digest = sha256Hex(text)
  const signatures = await key.sign(catalogStatement(version, digest))
  const { hash: contentHash } = content
  const times = { validFrom, validUntil }
  await insertCatalog(client, {
    version,
    signer: signer.number,
    sheetVersion,
    ...times,
    contentHash,
    text,
    digest,
    signatures,
  })
  return version
}

async function firstSigner(client: Client, key: CatalogKey, nowMs: number): Promise<StoredSigner> {
  const place = { number: 1, keys: key.keys, fromVersion: 1, previousDigest: '' }
  const statement = signerStatement(place)
  const signer = {
    ...place,
    since: new Date(nowMs),
    statement,
    own: await key.sign(statement),
    previous: undefined,
  }
  await insertSigner(client, signer)
  return signer
}
