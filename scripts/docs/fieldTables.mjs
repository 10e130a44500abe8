import { anchorOf, table } from './markdown.mjs'

const HEAD = ['field', 'type', 'required', 'meaning']
/** Fewer rows than these are shown again. */
const REPEATED_ROWS_MIN = 3

/** The object that a field is in, such as `paid.refund.`. */
function objectOf([name]) {
  return name.slice(1, name.lastIndexOf('.') + 1)
}

/** A row without the name of an object around it; undefined for one outside of that. */
function keyOf([name, ...cells], object) {
  return name.startsWith(`\`${object}`) ? [name.slice(object.length + 1), ...cells].join('|') : undefined
}

/** The most rows from the first one on that stand in a row elsewhere. */
function longestRun(rows, places) {
  const from = objectOf(rows[0])
  let best = { count: 0, place: undefined }
  for (const place of places.get(keyOf(rows[0], from)) ?? []) {
    const other = objectOf(place.rows[place.at])
    const end = rows.findIndex((row, nth) => {
      const earlier = place.rows[place.at + nth]
      return earlier === undefined || keyOf(row, from) === undefined || keyOf(row, from) !== keyOf(earlier, other)
    })
    const count = end < 0 ? rows.length : end
    if (count > best.count) best = { count, place }
  }
  return best
}

/**
 * A table of fields, in which rows that stand together in an earlier table are one that links to it.
 * @param {string} heading under which the table is
 * @param {readonly (readonly string[])[]} rows a field each
 * @param {Map<string, object[]>} places where each row stands so far; those of this table are added
 */
export function fieldTable(heading, rows, places) {
  const shown = []
  for (let start = 0; start < rows.length; ) {
    const { count, place } = longestRun(rows.slice(start), places)
    const isRepeated = count >= REPEATED_ROWS_MIN
    const names = rows.slice(start, start + count).map(([name]) => name)
    shown.push(
      isRepeated ? [names.join(', '), `as in [${place.heading}](#${anchorOf(place.heading)})`, '', ''] : rows[start],
    )
    start += isRepeated ? count : 1
  }
  rows.forEach((row, at) => {
    const key = keyOf(row, objectOf(row))
    places.set(key, [...(places.get(key) ?? []), { heading, rows, at }])
  })
  return table(HEAD, shown)
}
