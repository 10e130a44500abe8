import { EMPTY_NODE, heightOf, type SumNode, topOf } from './sumTree.ts'

/** Nodes of one level that are stored together: all below one node a number of levels up. */
export const TILE_LEVELS = 8
export const TILE_NODES = 2 ** TILE_LEVELS

/** Nodes of one tile level; level 1 has the tops of the tiles of level 0. */
export interface Tile {
  readonly level: number
  readonly place: number
  readonly nodes: readonly SumNode[]
  /** Of the first leaf; undefined above level 0. */
  readonly firstSalt: Buffer | undefined
}

/** The whole of a tree. */
export interface TreeTop extends SumNode {
  readonly leaves: number
  readonly height: number
}

/** The nodes of a tile level that are in no full tile yet. */
interface Open {
  nodes: SumNode[]
  place: number
  firstSalt: Buffer | undefined
}

/** Builds a tree from its leaves, one after the other, with one open tile a level in memory. */
export class TreeBuilder {
  private readonly open: Open[] = []
  private full: Tile[] = []
  private leaves = 0

  /** Adds the next leaf. @param salt of the leaf, greater than the one before */
  add(leaf: SumNode, salt: Buffer): void {
    this.leaves++
    this.push(0, leaf, salt)
  }

  /** The tiles that are full since the last call. */
  takeTiles(): readonly Tile[] {
    const tiles = this.full
    this.full = []
    return tiles
  }

  /** Ends the tree; `takeTiles` has the last ones then. */
  finish(): TreeTop {
    const { leaves } = this
    const height = heightOf(leaves)
    let top: SumNode = EMPTY_NODE
    for (let level = 0; level < this.open.length; level++) {
      const { nodes, place } = this.levelAt(level)
      if (place === 0) {
        // All of the level is in this tile, so that its top is the tree's.
        if (nodes.length > 0) top = topOf(nodes, height - level * TILE_LEVELS)
        this.closeTile(level)
        break
      }
      if (nodes.length > 0) this.closeAndRaise(level)
    }
    return { ...top, leaves, height }
  }

  private push(level: number, node: SumNode, salt: Buffer | undefined): void {
    const open = this.levelAt(level)
    // A full tile waits until a node follows it: a tree that ends with it has no level above.
    if (open.nodes.length === TILE_NODES) this.closeAndRaise(level)
    if (open.nodes.length === 0) open.firstSalt = salt
    open.nodes.push(node)
  }

  private closeAndRaise(level: number): void {
    const { nodes } = this.levelAt(level)
    const top = topOf(nodes, TILE_LEVELS)
    this.closeTile(level)
    this.push(level + 1, top, undefined)
  }

  private closeTile(level: number): void {
    const open = this.levelAt(level)
    if (open.nodes.length === 0) return
    this.full.push({ level, place: open.place, nodes: open.nodes, firstSalt: open.firstSalt })
    open.nodes = []
    open.place++
  }

  private levelAt(level: number): Open {
    const known = this.open[level]
    if (known !== undefined) return known
    const made: Open = { nodes: [], place: 0, firstSalt: undefined }
    this.open[level] = made
    return made
  }
}
