import { setImmediate as turn } from 'node:timers/promises'
import { lastCheckpoint } from '../../book/checkpoint/checkpointReads.ts'
import { lockTransfers } from '../../book/ledger/postTransfers.ts'
import type { CatalogKey } from '../../catalog/signing/catalogKey.ts'
import { signerOfNumber } from '../../catalog/signing/catalogStore.ts'
import { sha256Hex } from '../../catalog/signing/statements.ts'
import { type Client, type Pool, withTransaction } from '../../runtime/db/pool.ts'
import { type Attestation, insertAttestation, lastAttestation } from './attestationStore.ts'
import { type AttestationReason, attestationStatement, attestationText } from './attestationText.ts'
import type { ReserveLimits } from './limits.ts'
import { type ReserveChain, readReserve } from './reading.ts'
import { liabilitySecret, saltedAccounts, saltKey } from './salts.ts'
import { statedReserve } from './statedReserve.ts'
import { sumLeaf } from './sumTree.ts'
import { TreeBuilder, type TreeTop } from './treeBuilder.ts'
import { forgetTrees, insertTiles } from './treeStore.ts'

export interface AttestationOptions {
  readonly pool: Pool
  readonly key: CatalogKey
  /** Undefined where the gateway has no chain. */
  readonly chain: ReserveChain | undefined
  readonly limits: ReserveLimits
}

/** Another key signs the catalogs of this book, and so its attestations. */
export class OtherSignerError extends Error {
  override readonly name = 'OtherSignerError'
}

/**
 * Makes the next attestation, and stores it with its tree in one transaction, so it is complete or absent. It shows one
 * moment of the book, at which no transfer was under way.
 * @returns undefined while the coin has no price or the catalog's key has never signed
 * @throws OtherSignerError; GatewayError chain_unavailable; errors of PostgreSQL
 */
export async function makeAttestation(
  options: AttestationOptions,
  reason: AttestationReason,
): Promise<Attestation | undefined> {
  const secret = await liabilitySecret(options.pool)
  return withTransaction(options.pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await client.query('SET LOCAL statement_timeout = 0')
    const transfersUntil = await atRest(options, () => lastTransfer(client))
    const { signer, last } = { signer: await signerOfNumber(client), last: await lastAttestation(client) }
    if (signer === undefined) return undefined
    const { address } = options.key.keys
    if (signer.keys.address !== address) {
      throw new OtherSignerError(`attestations are signed by ${signer.keys.address}, and the key is ${address}`)
    }
    const number = (last?.number ?? 0) + 1
    const [reading, checkpoint] = [await readReserve(client, options.chain), await lastCheckpoint(client)]
    if (reading === undefined) return undefined
    const tree = await storeTree(client, number, saltKey(secret, number), options.limits)
    const attestedAt = await momentOf(client)
    const reserve = statedReserve(reading)
    const statement = attestationText({ number, previous: last, reason, attestedAt, signer, checkpoint, reserve, tree })
    const digest = sha256Hex(statement)
    const signatures = await options.key.sign(attestationStatement(number, digest))
    const { leaves, hash: root, sum: sumNanos } = tree
    const addresses = addressesText(options.chain)
    const signed = { number, signer: signer.number, statement, digest, signatures, addresses }
    const attestation = { ...signed, leaves, root, sumNanos, transfersUntil, attestedAt }
    await insertAttestation(client, attestation)
    await forgetTrees(client, number, options.limits.attestationTreesKept)
    return attestation
  })
}

/** The contracts and addresses that are attested, as text. */
export function addressesText(chain: ReserveChain | undefined): string {
  if (chain === undefined) return ''
  const tokens = chain.assets.map(({ id, address }) => `${id} ${address}`)
  return [`chain ${chain.chainId}`, ...chain.holders.map(({ role, address }) => `${role} ${address}`), ...tokens].join(
    '\n',
  )
}

/** Begins the snapshot of a transaction by its first read, at a moment at which no transfer is being booked. */
async function atRest<T>({ pool, limits }: AttestationOptions, begin: () => Promise<T>): Promise<T> {
  return withTransaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${limits.attestationLockMs}`)
    await lockTransfers(client)
    return begin()
  })
}

/** The number of the last transfer; identities are given out in the order in which they are taken. */
async function lastTransfer(client: Client): Promise<number> {
  const found = await client.query<{ last: number }>(
    'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM transfers_id_seq',
  )
  return found.rows[0]?.last ?? 0
}

/** When the transaction began, by the clock of the database. */
async function momentOf(client: Client): Promise<Date> {
  const found = await client.query<{ now: Date }>('SELECT now() AS now')
  return found.rows[0]?.now ?? new Date()
}

async function storeTree(client: Client, number: number, key: Buffer, limits: ReserveLimits): Promise<TreeTop> {
  const builder = new TreeBuilder()
  for await (const accounts of saltedAccounts(client, key, limits.attestationRowsMax)) {
    for (const { id, balance, salt } of accounts) builder.add(sumLeaf(salt, id, balance), salt)
    await insertTiles(client, number, builder.takeTiles())
    // Requests are answered in between.
    await turn()
  }
  const top = builder.finish()
  await insertTiles(client, number, builder.takeTiles())
  return top
}
