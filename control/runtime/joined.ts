import assert from 'node:assert/strict'

/** Joins tables, each of which has some of the members of one. No member may be in two of them. */
export function joined<Table extends object>(tables: ReadonlyArray<Partial<Table> | undefined>): Partial<Table> {
  const all: Partial<Table> = {}
  for (const table of tables) {
    for (const name of Object.keys(table ?? {})) assert.ok(!Object.hasOwn(all, name), `${name} is in two tables`)
    Object.assign(all, table)
  }
  return all
}
