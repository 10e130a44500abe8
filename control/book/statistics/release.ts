import { type Cell, OTHERS, type OwnedCell, together, UNDATED } from './cell.ts'

export interface Released {
  /** What is added to the public statistics. */
  readonly published: Cell[]
  /** What goes on waiting. */
  readonly waiting: OwnedCell[]
}

/**
 * Divides what was counted into what may be told and what has to wait. Whoever reads the statistics before and after learns
 * the difference, so that what is told at once has to have enough accounts behind it, whatever was told before:
 * - a model on a day, when enough accounts used it;
 * - what is left of a day that is over, as its others, when enough accounts are behind all of it together;
 * - what is left of that, as others of no day, when enough accounts are behind all of it together.
 * @param cells what waited and what is new, in any order
 * @param openDay the first day that is not over
 * @param least how many accounts are enough
 */
export function release(cells: readonly OwnedCell[], openDay: number, least: number): Released {
  const published: OwnedCell[] = []
  const waiting: OwnedCell[] = []
  /** Publishes what has enough accounts. @returns the rest */
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

/** Adds up what falls into one place, in the order in which the places come. */
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
