import type { Address } from '../../../contract/payments/address.ts'
import { camelColumns } from '../../runtime/db/columns.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { Signatures, SignerKeys } from './catalogKey.ts'
import type { BoundSheet } from './catalogText.ts'

/** A catalog as it was signed. */
export interface SignedCatalog {
  readonly version: number
  /** The number of its signer. */
  readonly signer: number
  readonly sheetVersion: number
  readonly validFrom: Date
  readonly validUntil: Date
  readonly contentHash: string
  readonly text: string
  /** SHA-256 of the text, in hex. */
  readonly digest: string
  readonly signatures: Signatures
}

/** A key that signs catalogs, or has signed them. */
export interface StoredSigner {
  readonly number: number
  readonly keys: SignerKeys
  readonly fromVersion: number
  readonly since: Date
  readonly statement: string
  readonly own: Signatures
  /** Of the signer before; undefined for the first. */
  readonly previous: Signatures | undefined
}

const CATALOG = `${camelColumns('version, signer, sheet_version, valid_from, valid_until, content_hash, digest')}, catalog AS text,
  json_build_object('eip191', eip191, 'ed25519', ed25519) AS signatures`

async function oneCatalog(db: Queryable, which: string, values: readonly unknown[]) {
  const found = await db.query<SignedCatalog>(`SELECT ${CATALOG} FROM signed_catalogs ${which}`, [...values])
  return found.rows[0]
}

/** The newest catalog; undefined before the first. */
export function lastCatalog(db: Queryable): Promise<SignedCatalog | undefined> {
  return oneCatalog(db, 'ORDER BY version DESC LIMIT 1', [])
}

export function catalogOfVersion(db: Queryable, version: number): Promise<SignedCatalog | undefined> {
  return oneCatalog(db, 'WHERE version = $1', [version])
}

/** The first catalog that binds a price sheet: as its own, or among the earlier ones. */
export function catalogOfSheet(db: Queryable, sheetVersion: number): Promise<SignedCatalog | undefined> {
  const isPublished = 'EXISTS (SELECT FROM price_sheets p WHERE p.version = $1)'
  return oneCatalog(db, `WHERE sheet_version >= $1 AND ${isPublished} ORDER BY sheet_version, version LIMIT 1`, [
    sheetVersion,
  ])
}

/** A catalog as lists show it. */
export type ListedCatalog = Omit<SignedCatalog, 'text' | 'contentHash' | 'signatures'> & { readonly address: Address }

/** Catalogs, newest first. @param below the version that all of them are below */
export async function listCatalogs(db: Queryable, limit: number, below: number): Promise<ListedCatalog[]> {
  const found = await db.query<ListedCatalog>(
    `SELECT ${camelColumns('c.version, c.signer, c.sheet_version, c.valid_from, c.valid_until, c.digest, s.address')}
     FROM signed_catalogs c JOIN catalog_signers s ON s.number = c.signer
     WHERE c.version < $1 ORDER BY c.version DESC LIMIT $2`,
    [below, limit],
  )
  return found.rows
}

export async function insertCatalog(db: Queryable, catalog: SignedCatalog): Promise<void> {
  const columns =
    'version, signer, sheet_version, valid_from, valid_until, content_hash, catalog, digest, eip191, ed25519'
  await db.query(`INSERT INTO signed_catalogs (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, [
    catalog.version,
    catalog.signer,
    catalog.sheetVersion,
    catalog.validFrom,
    catalog.validUntil,
    catalog.contentHash,
    catalog.text,
    catalog.digest,
    catalog.signatures.eip191,
    catalog.signatures.ed25519,
  ])
}

type SignerRow = Omit<StoredSigner, 'previous'> & { readonly previous: Signatures | null }

const SIGNER = `number, from_version AS "fromVersion", since, statement,
  json_build_object('address', address, 'ed25519', ed25519) AS keys,
  json_build_object('eip191', own_eip191, 'ed25519', own_ed25519) AS own,
  CASE WHEN number > 1 THEN json_build_object('eip191', previous_eip191, 'ed25519', previous_ed25519) END AS previous`

const signerOf = (row: SignerRow): StoredSigner => ({ ...row, previous: row.previous ?? undefined })

/** Every signer, the first one first. */
export async function listSigners(db: Queryable): Promise<StoredSigner[]> {
  const found = await db.query<SignerRow>(`SELECT ${SIGNER} FROM catalog_signers ORDER BY number`)
  return found.rows.map(signerOf)
}

/** One signer. @param number that of the newest when absent */
export async function signerOfNumber(db: Queryable, number?: number): Promise<StoredSigner | undefined> {
  const which = number === undefined ? 'ORDER BY number DESC LIMIT 1' : 'WHERE number = $1'
  const found = await db.query<SignerRow>(
    `SELECT ${SIGNER} FROM catalog_signers ${which}`,
    number === undefined ? [] : [number],
  )
  return found.rows[0] && signerOf(found.rows[0])
}

export async function insertSigner(db: Queryable, signer: StoredSigner): Promise<void> {
  const columns =
    'number, address, ed25519, from_version, since, statement, own_eip191, own_ed25519, previous_eip191, previous_ed25519'
  await db.query(`INSERT INTO catalog_signers (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, [
    signer.number,
    signer.keys.address,
    signer.keys.ed25519,
    signer.fromVersion,
    signer.since,
    signer.statement,
    signer.own.eip191,
    signer.own.ed25519,
    signer.previous?.eip191,
    signer.previous?.ed25519,
  ])
}

/** The sheets between two versions, without both, in their order; the newest `most` of them. */
export async function sheetsBetween(db: Queryable, after: number, before: number, most: number): Promise<BoundSheet[]> {
  const found = await db.query<BoundSheet>(
    'SELECT version, sheet AS text FROM price_sheets WHERE version > $1 AND version < $2 ORDER BY version DESC LIMIT $3',
    [after, before, most],
  )
  return found.rows.toReversed()
}
