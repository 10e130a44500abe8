import { GatewayError } from '../../../contract/errors/errors.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { Signatures, SignerKeys } from './catalogKey.ts'
import {
  catalogOfSheet,
  catalogOfVersion,
  type ListedCatalog,
  lastCatalog,
  listSigners,
  type SignedCatalog,
  type StoredSigner,
  signerOfNumber,
} from './catalogStore.ts'
import { catalogStatement } from './statements.ts'

/** Which catalog is asked for: that in force when both are absent. */
export interface CatalogChoice {
  readonly version: number | undefined
  readonly priceSheet: number | undefined
}

/** @throws GatewayError catalog_unsigned, catalog_not_found */
export async function chosenCatalog(db: Queryable, { version, priceSheet }: CatalogChoice): Promise<SignedCatalog> {
  const last = await lastCatalog(db)
  if (last === undefined) throw new GatewayError('catalog_unsigned')
  const bound = priceSheet === undefined ? last : await catalogOfSheet(db, priceSheet)
  const chosen = version === undefined || version === bound?.version ? bound : await catalogOfVersion(db, version)
  // A request with both asks for one catalog, which has to be the one that binds the sheet first.
  const isOther = version !== undefined && priceSheet !== undefined && version !== bound?.version
  if (chosen === undefined || isOther) throw new GatewayError('catalog_not_found')
  return chosen
}

/** GET /v1/catalog/signature of a catalog. */
export async function signatureJson(db: Queryable, catalog: SignedCatalog) {
  const signer = await signerOfNumber(db, catalog.signer)
  if (signer === undefined) throw new Error(`signer ${catalog.signer} of a catalog is not in the book`)
  return {
    object: 'catalog_signature' as const,
    version: String(catalog.version),
    digest: { algorithm: 'sha-256' as const, hex: catalog.digest },
    message: catalogStatement(catalog.version, catalog.digest),
    signer: String(signer.number),
    signatures: signaturesJson(signer.keys, catalog.signatures),
    signed_at: catalog.validFrom.toISOString(),
  }
}

function signaturesJson(keys: SignerKeys, { eip191, ed25519 }: Signatures) {
  return [
    { algorithm: 'eip191' as const, signer: keys.address, signature: eip191 },
    { algorithm: 'ed25519' as const, signer: keys.ed25519, signature: ed25519 },
  ]
}

/**
 * GET /v1/catalog/signer: the current signer, and every signer with the statement that names it.
 * @throws GatewayError catalog_unsigned
 */
export async function signersJson(db: Queryable) {
  const signers = await listSigners(db)
  const current = signers.at(-1)
  if (current === undefined) throw new GatewayError('catalog_unsigned')
  return {
    object: 'catalog_signer' as const,
    number: String(current.number),
    ...current.keys,
    from_version: String(current.fromVersion),
    chain: signers.map((signer, place) => linkJson(signer, signers[place - 1])),
  }
}

function linkJson(signer: StoredSigner, before: StoredSigner | undefined) {
  const { number, keys, fromVersion, since, statement, own, previous } = signer
  return {
    object: 'catalog_signer_link' as const,
    number: String(number),
    ...keys,
    from_version: String(fromVersion),
    since: since.toISOString(),
    message: statement,
    own_signatures: signaturesJson(keys, own),
    previous_signatures: before && previous ? signaturesJson(before.keys, previous) : [],
  }
}

/** An entry of GET /v1/catalog/versions. */
export function versionJson({ version, digest, sheetVersion, validFrom, validUntil, signer, address }: ListedCatalog) {
  return {
    object: 'catalog_version' as const,
    version: String(version),
    sha256: digest,
    price_sheet: String(sheetVersion),
    valid_from: validFrom.toISOString(),
    valid_until: validUntil.toISOString(),
    signer: String(signer),
    address,
  }
}
