import {
  catalogOfVersion,
  listSigners,
  type SignedCatalog,
  type StoredSigner,
} from '../catalog/signing/catalogStore.ts'
import { catalogStatement, sha256Hex, signerStatement } from '../catalog/signing/statements.ts'
import { verifySignatures } from '../catalog/signing/verifySignatures.ts'
import { countOf } from '../runtime/db/count.ts'
import type { Client } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'

/** Follows the signed catalogs and their signers from the first one on, as a stranger would. */
export async function checkCatalogs(client: Client): Promise<AuditCheck[]> {
  const [chained, signed, named] = [new Faults(), new Faults(), new Faults()]
  const signers = await listSigners(client)
  let last: SignedCatalog | undefined
  for (;;) {
    const version = (last?.version ?? 0) + 1
    await checkSigner(signers, last, version, named)
    const catalog = await catalogOfVersion(client, version)
    if (catalog === undefined) break
    const fault = chainFault(catalog, last)
    if (fault !== undefined) chained.add(fault)
    const signer = signers.findLast(({ fromVersion }) => fromVersion <= version)
    const statement = catalogStatement(version, sha256Hex(catalog.text))
    if (signer?.number !== catalog.signer || !(await verifySignatures(statement, signer.keys, catalog.signatures))) {
      signed.add(`version ${version} is not signed by its signer`)
    }
    last = catalog
  }
  const count = await countOf(client, 'SELECT count(*) AS count FROM signed_catalogs')
  if (count !== (last?.version ?? 0)) chained.add(`version ${(last?.version ?? 0) + 1} is missing`)
  return [
    chained.check('signed catalogs name their predecessors', `${count} versions`),
    signed.check('catalogs are signed by the signers of their time', `${count} versions`),
    named.check('signers are named by those before them', `${signers.length} signers`),
  ]
}

/** @returns the fault of a catalog, by itself or as the successor of the last one */
function chainFault({ version, text, digest }: SignedCatalog, last: SignedCatalog | undefined): string | undefined {
  if (sha256Hex(text) !== digest) return `the hash of version ${version} is not of its text`
  const json = JSON.parse(text) as { version: string; previous: { version: string; sha256: string } | null }
  const { previous } = json
  const isNext =
    last === undefined
      ? previous === null
      : previous?.version === String(last.version) && previous.sha256 === sha256Hex(last.text)
  return isNext && json.version === String(version) ? undefined : `version ${version} does not follow the one before`
}

/** Checks the signer whose term begins with a version, if there is one. */
async function checkSigner(
  signers: readonly StoredSigner[],
  last: SignedCatalog | undefined,
  version: number,
  faults: Faults,
): Promise<void> {
  const place = signers.findIndex(({ fromVersion }) => fromVersion === version)
  const signer = signers[place]
  if (signer === undefined) return
  const { number, keys, fromVersion, own, previous } = signer
  const previousDigest = last === undefined ? '' : sha256Hex(last.text)
  const statement = signerStatement({ number, keys, fromVersion, previousDigest })
  const before = signers[place - 1]
  const isNamed =
    before === undefined || (previous !== undefined && (await verifySignatures(statement, before.keys, previous)))
  if (isNamed && statement === signer.statement && (await verifySignatures(statement, keys, own))) return
  faults.add(`signer ${number} is not named as its chain says`)
}
