import { type Cell, OTHERS, type OwnedCell, together, UNDATED } from './cell.ts'

export interface Released {
  /** Cells to add to the public statistics. */
  readonly published: Cell[]
  /** Cells that keep waiting. */
  readonly waiting: OwnedCell[]
}

/**
 * Divides counted cells into those that may be published and those that have to wait. A reader who compares the statistics
 * before and after learns the difference, so that each publication needs usage of enough accounts, regardless of earlier ones:
 * - a model on a day, when enough accounts used it;
 * - the rest of a day that is over, as its others, when enough accounts used the models of the rest together;
 * - the rest of that, as others without a date, when enough accounts used it together.
 * @param cells the waiting and the new ones, in any order
 * @param openDay the first day that is not over
 * @param least how many accounts are enough
 */
export function release(cells: readonly OwnedCell[], openDay: number, least: number): Released {
  const published: OwnedCell[] = []
  const waiting: OwnedCell[] = []
  /** Publishes cells with enough accounts. @returns the rest */
  const publish = (found: readonly OwnedCell[]): OwnedCell[] => {
    published.push(...found.filter(({ owners }) => owners.length >= least))
    return found.filter(({ owners }) => owners.length < least)
  }
  const left = publish(merged(cells, ({ day, model }) => ({ day, model })))
  waiting.push(...left.filter(({ day }) => day >= openDay))
  const over = left.filter(({ day }) => day < openDay)
  const rest = publish(merged(over, ({ day }) => ({ day, model: OTHERS })))
  waiting.push(...publish(merged(rest, () => ({ day: UNDATED, model: OTHERS }))))
  return { published: published.map(({ owners: _, ...cell }) => cell), waiting }
}

/** Adds up the cells of each place, in the order in which the places first occur. */
function merged(cells: readonly OwnedCell[], placeOf: (cell: OwnedCell) => Pick<Cell, 'day' | 'model'>): OwnedCell[] {
  const found = new Map<string, OwnedCell>()
  for (const cell of cells) {
    const place = placeOf(cell)
    const name = `${place.day} ${place.model}`
    const known = found.get(name)
    found.set(name, known === undefined ? { ...cell, ...place } : owned(place, known, cell))
  }
  return [...found.values()]
}

function owned(place: Pick<Cell, 'day' | 'model'>, a: OwnedCell, b: OwnedCell): OwnedCell {
  return { ...together(place, a, b), owners: [...new Set([...a.owners, ...b.owners])].sort() }
}
