import { byteaArray, intArray } from '../../runtime/db/arrays.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { HASH_BYTES, heightOf, NODE_BYTES, neighbours, type SumNode, sumAt, sumBytes, sumLeaf } from './sumTree.ts'
import { TILE_LEVELS, TILE_NODES, type Tile } from './treeBuilder.ts'

/** Stores tiles of an attestation's tree. */
export async function insertTiles(client: Client, attestation: number, tiles: readonly Tile[]): Promise<void> {
  if (tiles.length === 0) return
  await client.query(
    `INSERT INTO liability_tiles (attestation, level, place, nodes, first_salt)
     SELECT $1, t.level, t.place, t.nodes, CASE WHEN t.level = 0 THEN t.salt END
     FROM unnest($2::smallint[], $3::bigint[], $4::bytea[], $5::bytea[]) AS t (level, place, nodes, salt)`,
    [
      attestation,
      intArray(tiles.map(({ level }) => level)),
      intArray(tiles.map(({ place }) => place)),
      byteaArray(tiles.map(({ nodes }) => encodeNodes(nodes))),
      byteaArray(tiles.map(({ firstSalt }) => firstSalt ?? Buffer.alloc(0))),
    ],
  )
}

/** Removes the trees of all but the last attestations. */
export async function forgetTrees(client: Client, last: number, kept: number): Promise<void> {
  await client.query('DELETE FROM liability_tiles WHERE attestation <= $1', [last - kept])
}

/** A leaf with the neighbours on its way up. */
export interface LeafProof {
  readonly position: number
  readonly leaf: SumNode
  /** From the leaf upwards. */
  readonly path: readonly SumNode[]
}

/** The tree that a leaf is looked for in. */
export interface TreeChoice {
  readonly attestation: number
  readonly leaves: number
}

/**
 * Proves that a ledger account is in the tree of an attestation.
 * @param salt of its leaf
 * @returns undefined where the tree has no leaf of it
 */
export async function leafProof(
  db: Queryable,
  { attestation, leaves }: TreeChoice,
  account: string,
  salt: Buffer,
): Promise<LeafProof | undefined> {
  const tile = await db.query<{ place: number; nodes: Buffer }>(
    `SELECT place, nodes FROM liability_tiles WHERE attestation = $1 AND level = 0 AND first_salt <= $2
     ORDER BY first_salt DESC LIMIT 1`,
    [attestation, salt],
  )
  const [row] = tile.rows
  if (row === undefined) return undefined
  const nodes = decodeNodes(row.nodes)
  const at = nodes.findIndex(({ hash, sum }) => sumLeaf(salt, account, sum).hash.equals(hash))
  const leaf = nodes[at]
  if (leaf === undefined) return undefined
  const position = row.place * TILE_NODES + at
  return { position, leaf, path: await pathFrom(db, { attestation, leaves }, position, nodes) }
}

async function pathFrom(
  db: Queryable,
  { attestation, leaves }: TreeChoice,
  position: number,
  first: readonly SumNode[],
): Promise<SumNode[]> {
  const height = heightOf(leaves)
  const path: SumNode[] = []
  let [nodes, place] = [first, position]
  for (let level = 0; path.length < height; level++) {
    if (level > 0) nodes = await tileAt(db, attestation, level, Math.floor(place / TILE_NODES))
    path.push(...neighbours(nodes, place % TILE_NODES, Math.min(TILE_LEVELS, height - path.length)))
    place = Math.floor(place / TILE_NODES)
  }
  return path
}

async function tileAt(db: Queryable, attestation: number, level: number, place: number): Promise<SumNode[]> {
  const found = await db.query<{ nodes: Buffer }>(
    'SELECT nodes FROM liability_tiles WHERE attestation = $1 AND level = $2 AND place = $3',
    [attestation, level, place],
  )
  const [row] = found.rows
  if (row === undefined) throw new Error(`attestation ${attestation} lacks tile ${place} of level ${level}`)
  return decodeNodes(row.nodes)
}

function encodeNodes(nodes: readonly SumNode[]): Buffer {
  return Buffer.concat(nodes.flatMap(({ hash, sum }) => [hash, sumBytes(sum)]))
}

/** The nodes of a stored tile. */
export function decodeNodes(bytes: Buffer): SumNode[] {
  return Array.from({ length: bytes.length / NODE_BYTES }, (_, at) => {
    const offset = at * NODE_BYTES
    return { hash: bytes.subarray(offset, offset + HASH_BYTES), sum: sumAt(bytes, offset + HASH_BYTES) }
  })
}
