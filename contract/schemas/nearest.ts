const LENGTH_MAX = 64
/** Edits apart from which two names are taken for different ones. */
const DISTANCE_MAX = 3

/** The one of `names` that takes the fewest edits to write `name`; undefined when none is near. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  if (name.length > LENGTH_MAX) return undefined
  const distances = names.map((known) => ({ known, distance: editDistance(name, known) }))
  const [best] = distances.sort((one, other) => one.distance - other.distance)
  return best !== undefined && best.distance <= DISTANCE_MAX ? best.known : undefined
}

/** The characters that have to be put in, taken out or replaced to make one text of the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [line, letter] of [...from].entries()) {
    let diagonal = line
    const next = [line + 1]
    for (const [column, other] of [...to].entries()) {
      const above = row[column + 1] ?? 0
      next.push(Math.min(above + 1, (next[column] ?? 0) + 1, diagonal + (letter === other ? 0 : 1)))
      diagonal = above
    }
    row = next
  }
  return row[to.length] ?? 0
}
